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

// DeleteManifest is the command that deletes the objects of an added manifest.
const DeleteManifest = "kubectl delete -f manifest.yaml"

// commands returns the commands that make a change in a cluster, and the commands that take it back. were are the
// queues before the settings.
func commands(
	objects *input.Objects, were []*scheduling.Queue, after *engine.World, change Change,
) (all, back []string, err error) {
	// Removed and replaced objects come back with their manifests only. No command deletes an object of the input.
	if change.Add != nil && !objects.Shares(change.Add) {
		back = append(back, DeleteManifest)
	}
	for _, was := range were {
		is := after.Queue(was.Name)
		forth, err := patch(was, is)
		if err != nil {
			return nil, nil, err
		}
		undo, err := patch(is, was)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, forth...)
		back = append(back, undo...)
	}

	if change.Add != nil {
		all = append(all, Quote("kubectl", "apply", "-f", "manifest.yaml"))
	}
	for _, object := range change.Remove {
		all = append(all, deletion(object))
	}
	return all, back, nil
}

// deletion returns the command that deletes an object, which is named as Remove takes it.
func deletion(object string) string {
	kind, name, _ := strings.Cut(object, "/")
	words := []string{"kubectl", "delete", map[string]string{
		"job": "jobs.batch.volcano.sh", "queue": "queues.scheduling.volcano.sh", "node": "node",
	}[kind]}

	if namespace, job, both := strings.Cut(name, "/"); both {
		words = append(words, "-n", namespace)
		name = job
	}
	return Quote(append(words, name)...)
}

// patch returns the commands that change a queue.
func patch(from, to *scheduling.Queue) (all []string, err error) {
	patch, err := mergePatch(from, to)
	if err != nil {
		return nil, err
	}
	if patch != "{}" {
		all = append(all,
			Quote("kubectl", "patch", "queues.scheduling.volcano.sh", to.Name, "--type=merge", "-p", patch))
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

// mergePatch returns the difference between the annotations and specs of two queues.
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
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"annotations": object.Annotations},
			"spec":     object.Spec,
		})
		if err != nil {
			return "", err
		}
		texts[i] = text
	}

	// Nobody else changes the queue: the original is the current one.
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
