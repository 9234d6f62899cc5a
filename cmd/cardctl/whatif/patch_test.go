package whatif

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// workloads has PodGroups with owners of several kinds, and two without.
const workloads = `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: research}
spec: {tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: lab}
spec: {tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: lab}
spec: {template: {spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: lab}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: web-1, namespace: lab, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d4b9}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: web-11, namespace: lab, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: web}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: web-2, namespace: lab, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5c6f8}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: once-1, namespace: lab, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: once}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: serve-1, namespace: lab, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: serve}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: own-1, namespace: lab, ownerReferences: [{apiVersion: v1, kind: Pod, name: own}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: bare, namespace: lab}
---
apiVersion: v1
kind: Pod
metadata: {name: bare-a, namespace: lab, annotations: {scheduling.k8s.io/group-name: bare}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bare-b, namespace: lab, annotations: {scheduling.k8s.io/group-name: bare}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
`

// TestDeletions names each workload of a job by its kind and namespace.
func TestDeletions(t *testing.T) {
	w, _ := world(t, workloads)
	for object, want := range map[string][]string{
		"job/train":       {"kubectl delete jobs.batch.volcano.sh -n lab train"},
		"job/lab/train":   {"kubectl delete jobs.batch.volcano.sh -n lab train"},
		"job/new":         {"kubectl delete deployments.apps -n lab new"},
		"job/alone":       {"kubectl delete pods -n lab alone"},
		"job/web":         {"kubectl delete deployments.apps -n lab web", "kubectl delete jobs.batch.volcano.sh -n lab web"},
		"job/web-5c6f8":   {"kubectl delete deployments.apps -n lab web"},
		"job/once":        {"kubectl delete jobs.batch -n lab once"},
		"job/serve":       {"kubectl delete statefulsets.apps -n lab serve"},
		"job/own":         {"kubectl delete pods -n lab own"},
		"job/bare":        {"kubectl delete podgroups.scheduling.volcano.sh -n lab bare", "kubectl delete pods -n lab bare-a bare-b"},
		"job/other/train": nil,
		"queue/lab":       {"kubectl delete queues.scheduling.volcano.sh lab"},
		"node/a":          {"kubectl delete node a"},
	} {
		assert.Equal(t, want, deletions(w, object, Change{Namespace: "lab", Rights: Everything}), object)
	}
}

// TestRemovalWithoutName expects an error for the kind of an object alone.
func TestRemovalWithoutName(t *testing.T) {
	_, c := world(t, lending)
	for _, kind := range []string{"job", "queue", "node", "pod"} {
		change := Change{Remove: []string{kind}, Rights: Everything}
		_, err := Try(t.Context(), input.Parse("f", []byte(lending)), c, change, nil)
		require.ErrorIs(t, err, ErrRemoval, kind)
	}
}
