package whatif

import (
	"encoding/json"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
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
		all = append(all, deletions(after, object, change)...)
	}
	return all, back, nil
}

// deletions returns the commands that delete an object, which is named as Remove takes it. A job has one for each
// workload.
func deletions(w *engine.World, object string, change Change) (all []string) {
	kind, name, _ := strings.Cut(object, "/")
	if kind != "job" {
		resource := map[string]string{"queue": "queues.scheduling.volcano.sh", "node": "node"}[kind]
		return []string{Quote("kubectl", "delete", resource, name)}
	}

	isRemoved := isNamed(name, change.Namespace, change.Rights)
	for _, g := range w.Groups {
		if !isRemoved(g) {
			continue
		}

		// A Deployment can have several PodGroups.
		command := Quote("kubectl", "delete", resourceOf(g), "-n", g.Namespace, explain.JobName(g))
		if !slices.Contains(all, command) {
			all = append(all, command)
		}

		// No controller deletes the pods of a PodGroup that has no owner.
		if strings.HasPrefix(g.Owner, "PodGroup/") && len(g.Pods) > 0 {
			words := []string{"kubectl", "delete", "pods", "-n", g.Namespace}
			for _, pod := range g.Pods {
				words = append(words, pod.Name)
			}
			all = append(all, Quote(words...))
		}
	}
	return all
}

// apiGroups are the API groups of owners without a reference to them.
var apiGroups = map[string]string{
	"Job": batch.GroupName, "Deployment": appsv1.GroupName, "PodGroup": scheduling.GroupName,
}

// resourceOf returns the resource of the workload of a group, as kubectl takes it.
func resourceOf(g *engine.Group) string {
	kind, _, _ := strings.Cut(g.Owner, "/")
	gvk := schema.GroupVersionKind{Group: apiGroups[kind], Kind: kind}
	if len(g.OwnerReferences) > 0 {
		gvk.Group = schema.FromAPIVersionAndKind(g.OwnerReferences[0].APIVersion, kind).Group
	}
	if kind == "ReplicaSet" { // its Deployment would create it again
		gvk.Kind = "Deployment"
	}

	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource.GroupResource().String()
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
