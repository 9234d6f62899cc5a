package whatif

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// patches returns the commands that make a change in a cluster.
func patches(were []*scheduling.Queue, after *engine.World, change Change) (all []string, err error) {
	for _, was := range were {
		commands, err := patch(was, after.Queue(was.Name))
		if err != nil {
			return nil, err
		}
		all = append(all, commands...)
	}
	if change.Add != nil {
		all = append(all, Quote("kubectl", "apply", "-f", "manifest.yaml"))
	}
	for _, object := range change.Remove {
		parts := strings.Split(object, "/")
		switch {
		case parts[0] == "job" && len(parts) == 3:
			all = append(all, Quote("kubectl", "delete", "jobs.batch.volcano.sh", "-n", parts[1], parts[2]))
		case parts[0] == "job":
			all = append(all, Quote("kubectl", "delete", "jobs.batch.volcano.sh", parts[1]))
		case parts[0] == "queue":
			all = append(all, Quote("kubectl", "delete", "queues.scheduling.volcano.sh", parts[1]))
		case parts[0] == "node":
			all = append(all, Quote("kubectl", "delete", "node", parts[1]))
		}
	}
	return all, nil
}

// DeleteManifest is the command that takes back what a change adds.
const DeleteManifest = "kubectl delete -f manifest.yaml"

// undo returns the commands that take a change back. Objects that it removes or replaces come back with their manifests
// only: no command deletes an object that objects have.
func undo(objects *input.Objects, were []*scheduling.Queue, after *engine.World, change Change) (all []string, err error) {
	if change.Add != nil && !objects.Shares(change.Add) {
		all = append(all, DeleteManifest)
	}
	for _, was := range were {
		commands, err := patch(after.Queue(was.Name), was)
		if err != nil {
			return nil, err
		}
		all = append(all, commands...)
	}
	return all, nil
}

// patch returns the commands that make a queue another one.
func patch(from, to *scheduling.Queue) (all []string, err error) {
	patch, err := mergePatch(from, to)
	if err != nil {
		return nil, err
	}
	if patch != "{}" {
		all = append(all, Quote("kubectl", "patch", "queues.scheduling.volcano.sh", to.Name, "--type=merge", "-p", patch))
	}
	if from.Status.State != to.Status.State {
		action := "open" // also for a queue that has no state yet
		if to.Status.State == scheduling.QueueStateClosed {
			action = "close"
		}
		all = append(all, Quote("vcctl", "queue", "operate", "-a", action, "-n", to.Name))
	}
	return all, nil
}

// mergePatch is the difference between the annotations and specs of two queues.
func mergePatch(from, to *scheduling.Queue) (string, error) {
	if from == to {
		return "{}", nil
	}
	var texts [2][]byte
	for i, queue := range []*scheduling.Queue{from, to} {
		var object v1beta1.Queue
		if err := scheme.Scheme.Convert(queue, &object, nil); err != nil {
			return "", err
		}
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": object.Annotations}, "spec": object.Spec})
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[0])
	return string(patch), err
}

// plain are the characters that no shell interprets.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"

// Quote writes a command for a shell.
func Quote(words ...string) string {
	quoted := slices.Clone(words)
	for i, word := range words {
		if word == "" || strings.Trim(word, plain) != "" {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
