package input

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// running are workloads of a cluster, each with its PodGroup and a pod, and a job that no
// manifest replaces.
const running = `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, uid: u1}
spec: {tasks: [{replicas: 1}]}
status: {state: {phase: Running}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train-u1, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train, uid: u1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, uid: p1, annotations: {scheduling.k8s.io/group-name: train-u1}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: podgroup-u2, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f, uid: u2}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-5d8f-x, uid: p2, annotations: {scheduling.k8s.io/group-name: podgroup-u2}}
---
apiVersion: v1
kind: Pod
metadata: {name: plain-7c9d-x, uid: p3, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: plain-7c9d, uid: u3}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: podgroup-p4, ownerReferences: [{apiVersion: v1, kind: Pod, name: bare, uid: p4}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bare, uid: p4, annotations: {scheduling.k8s.io/group-name: podgroup-p4}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: other-u5, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: other, uid: u5}]}
---
apiVersion: v1
kind: Pod
metadata: {name: other-0, uid: p5, annotations: {scheduling.k8s.io/group-name: other-u5}}
`

const manifest = `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec: {tasks: [{replicas: 2}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain}
---
apiVersion: v1
kind: Pod
metadata: {name: bare}
`

// left are the names of the PodGroups and pods.
func left(o *Objects) (all []string) {
	for _, g := range o.PodGroups {
		all = append(all, g.Name)
	}
	for _, pod := range o.Pods {
		all = append(all, pod.Name)
	}
	return all
}

func TestManifestReplacesWorkload(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600))
		return dir + "/" + name
	}
	dump, manifests := write("dump.yaml", running), write("manifest.yaml", manifest)
	read := func(paths ...string) *Objects {
		o, err := ReadFiles(paths, false, nil, nil)
		require.NoError(t, err)
		require.Empty(t, problems(o))
		return o
	}

	o := read(dump, manifests)
	assert.Equal(t, []string{"other-u5", "bare", "other-0"}, left(o))
	require.Len(t, o.Jobs, 1)
	assert.Equal(t, int32(2), o.Jobs[0].Spec.Tasks[0].Replicas)
	assert.Equal(t, types.UID("u1"), o.Jobs[0].UID, "that of the job which it replaces")
	assert.Empty(t, o.Pods[0].Annotations, "the pod of the manifest")
	assert.Equal(t, 6, o.Len())
	var notes []string
	for _, p := range o.Replaced {
		notes = append(notes, strings.TrimPrefix(p.String(), dir+"/"))
	}
	assert.Equal(t, []string{
		"manifest.yaml:11: Deployment/plain: replaces the one of the cluster, with its PodGroup and 1 pods",
		"manifest.yaml:7: Deployment/web: replaces the one of the cluster, with its PodGroup and 1 pods",
		"manifest.yaml:2: Job/train: replaces the one of the cluster, with its PodGroup and 1 pods",
		"manifest.yaml:15: Pod/bare: replaces the one of the cluster, with its PodGroup and 0 pods",
	}, notes)

	o = read(dump)
	o.Merge(read(manifests))
	assert.Equal(t, []string{"other-u5", "bare", "other-0"}, left(o), "as simulate --add")

	whole := []string{"train-u1", "podgroup-u2", "podgroup-p4", "other-u5", "train-0", "web-5d8f-x", "plain-7c9d-x", "bare", "other-0"}
	assert.Equal(t, whole, left(read(dump, dump)))
	o = read(write("early.yaml", strings.Split(manifest, "---")[0]), dump)
	assert.ElementsMatch(t, whole, left(o), "the last one counts")
	assert.Equal(t, int32(1), o.Jobs[0].Spec.Tasks[0].Replicas)
}
