package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// typoText is a cluster with a queue of 8 cards; 2 are used. The quota of the queue has one comma too many.
const typoText = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: A}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 16}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: own
  uid: "1"
  annotations: {volcano.sh/card.quota: '{"A": 8,}', volcano.sh/card.deserved: '{"A": 4}', volcano.sh/card.guarantee: '{"A": 0}'}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: small, annotations: {volcano.sh/card.request: '{"A": 2}'}}
spec:
  queue: own
  minAvailable: 2
  tasks: [{name: w, replicas: 2, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: large, annotations: {volcano.sh/card.request: '{"A": 12}'}}
spec:
  queue: own
  minAvailable: 12
  tasks: [{name: w, replicas: 12, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]
`

// savedBy returns the ConfigMap of a scheduler that uses the last good quota of the queue.
func savedBy(t *testing.T, change func(*store.Remembered)) string {
	t.Helper()
	kept := &store.Remembered{Version: store.RememberedVersion,
		Queues: objects.Kept{"own": {UID: "1", Annotations: map[string]string{"volcano.sh/card.quota": `{"A":8}`}}}}
	if change != nil {
		change(kept)
	}
	all, err := store.Write(types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"},
		&store.Stored{Saved: time.Now(), Record: store.Record{Remembered: kept}}, "scheduler")
	require.NoError(t, err)
	all[0].APIVersion, all[0].Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(all[0])
	require.NoError(t, err)
	return "\n---\n" + string(text)
}

// TestLastGoodValues reads a cluster with a wrong annotation. If the scheduler has saved the last good values, cardctl
// answers as the scheduler does. Otherwise each command says first that it does not know the values.
func TestLastGoodValues(t *testing.T) {
	const (
		counts  = `note: queue own: volcano.sh/card.quota is wrong, and its last good value counts: {"A":8}`
		unknown = "warning: queue own: wrong annotations count as not set: volcano.sh/card.quota. The scheduler may use their last good values, which are not known: "
	)
	for name, test := range map[string]struct {
		input, stderr, bound string
	}{
		"saved":              {typoText + savedBy(t, nil), counts, "8"},
		"nothing was saved":  {typoText, unknown + "ConfigMap volcano-system/capacity-card-usage: capacity-card-usage does not exist in the input", "0"},
		"by a later release": {typoText + savedBy(t, func(r *store.Remembered) { r.Version++ }), unknown + "a later release has saved them", "0"},
		"of another queue":   {strings.Replace(typoText, `uid: "1"`, `uid: "2"`, 1) + savedBy(t, nil), unknown + "the scheduler has not saved them", "0"},
		"not readable":       {typoText + strings.Replace(savedBy(t, nil), "usage: H4", "usage: XX", 1), unknown + "ConfigMap volcano-system/capacity-card-usage: gzip", "0"},
		"nothing was good before": {typoText + savedBy(t, func(r *store.Remembered) { r.Queues["own"].Annotations["volcano.sh/card.quota"] = "" }),
			"warning: queue own: volcano.sh/card.quota is wrong, and counts as not set: it never had a good value", "0"},
		"a wrong text was saved": {typoText + savedBy(t, func(r *store.Remembered) { r.Queues["own"].Annotations["volcano.sh/card.quota"] = "?" }),
			"its last good value counts: ?", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"explain job small", "explain job large", "top --once", "cards", "usage", "budget", "audit", "simulate --set queue.own.weight=2"} {
				_, _, stderr := run(test.input, append(strings.Fields(command), "-f", "-")...)
				assert.Contains(t, stderr, test.stderr, command)
			}

			code, out, stderr := run(test.input, "explain", "job", "large", "-o", "json", "-f", "-")
			require.Zero(t, code, stderr)
			assert.Contains(t, out, "capability is <"+test.bound+">")
			var document struct{ Unknown []string }
			require.NoError(t, json.Unmarshal([]byte(out), &document))
			assert.Equal(t, strings.Contains(stderr, unknown), len(document.Unknown) == 1)
			_, out, _ = run(test.input, "explain", "job", "small", "-f", "-")
			assert.Equal(t, test.bound == "0", strings.Contains(out, "it can never run"), out)
		})
	}
}

// TestManifestsHaveNoLastGoodValue checks a manifest of a queue: no scheduler has seen it.
func TestManifestsHaveNoLastGoodValue(t *testing.T) {
	_, _, stderr := run(strings.Replace(typoText, `uid: "1"`, "", 1), "validate", "-f", "-")
	assert.NotContains(t, stderr, "last good value")
}

// TestLastGoodValuesOfALiveCluster reads the values from the cluster, or says that it may not.
func TestLastGoodValuesOfALiveCluster(t *testing.T) {
	c, url := newFairCluster(t)
	q := c.objects.Queues[0]
	q.UID = "1"
	q.Annotations["volcano.sh/card.quota"] = "["
	c.hidden = http.StatusForbidden
	_, _, stderr := run("", "top", "--once", "--server", url)
	assert.Contains(t, stderr, "warning: queue "+q.Name+": wrong annotations count as not set: volcano.sh/card.quota. The scheduler may use their "+
		"last good values, which are not known: ConfigMap volcano-system/capacity-card-usage: no permission to get it in "+url)
}

// heardOf returns the notes of the pages of a text. Viewers see them who may not list pods and nodes.
func heardOf(t *testing.T, text string) string {
	t.Helper()
	s := newSource(genericiooptions.IOStreams{In: strings.NewReader(text), ErrOut: io.Discard})
	s.files, s.plugin = []string{"-"}, plugin.Name
	reader, err := s.newReader(t.Context())
	require.NoError(t, err)
	reading, err := reader.Read(t.Context())
	require.NoError(t, err)
	return fmt.Sprint(reading.Notes)
}

// movedText is a cluster with a pod that names two cards. Its node had the first one, and states another one now.
const movedText = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: C}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: own, annotations: {volcano.sh/card.quota: '{"A": 2, "B": 4}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: runs, namespace: default}
spec: {queue: own, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: runs-0, namespace: default, uid: "7", annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/card.name: B|A}}
spec: {schedulerName: volcano, nodeName: NODE, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
`

// TestCardsOfMovedPods reads a cluster with a pod on a node that does not state its card any more, or that is gone.
func TestCardsOfMovedPods(t *testing.T) {
	const unknown = "warning: pods on nodes that do not state their cards, or that are gone: 1, such as default/runs-0 on node "
	saved := savedBy(t, func(r *store.Remembered) {
		r.Pods = cards.HeldCards{"7": {{Resource: "nvidia.com/gpu", Card: "A", Milli: 1000}}}
	})
	for _, node := range []string{"node-1", "gone"} {
		text := strings.Replace(movedText, "NODE", node, 1)
		assert.Contains(t, heardOf(t, text), "or that are gone: 1. The scheduler may charge them ")
		assert.NotContains(t, heardOf(t, text), "runs-0")
		for _, command := range []string{"top --once -o json", "cards -o json", "explain job runs -o json"} {
			_, out, stderr := run(text, append(strings.Fields(command), "-f", "-")...)
			assert.Contains(t, stderr, unknown+node)
			assert.Contains(t, out, `"unknown": [`)
			_, out, stderr = run(text+saved, append(strings.Fields(command), "-f", "-")...)
			assert.NotContains(t, stderr, "not known")
			assert.NotContains(t, out, `"unknown": [`)
		}
		_, out, _ := run(text+saved, "top", "own", "--once", "-f", "-")
		assert.Regexp(t, `own .* A +2 +1 `, out)
	}
}

// TestEvictedPods reads a cluster with an evicted pod that has not ended. It is known who gets its room if a pod is
// nominated to its node, or if the scheduler has saved it.
func TestEvictedPods(t *testing.T) {
	const ends = `
---
apiVersion: v1
kind: Pod
metadata: {name: ends, namespace: default, uid: u-ends, deletionTimestamp: "2026-12-01T12:00:00Z", annotations: {scheduling.k8s.io/group-name: ends, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running, conditions: [{type: Ready, status: "False", reason: Evict}]}
`
	const waits = `
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default, uid: u-waits, annotations: {scheduling.k8s.io/group-name: waits, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Pending, nominatedNodeName: node-1}
`
	const unknown = "warning: evicted pods that have not ended: 1, such as default/ends on node node-1. The scheduler may keep their room " +
		"for the pods that they were evicted for, which are not known: "
	good := strings.Replace(typoText, "8,}", "8}", 1)
	earmarked := func(r *store.Remembered) {
		r.Earmarks = earmark.Kept{"default/waits": {Queue: "own", Victims: map[api.TaskID]earmark.KeptVictim{"u-ends": {Node: "node-1", Pod: "default/ends"}}}}
	}
	for name, test := range map[string]struct{ input, want string }{
		"nothing was saved":       {good + ends, unknown + "ConfigMap volcano-system/capacity-card-usage: capacity-card-usage does not exist in the input"},
		"other things were saved": {good + ends + savedBy(t, nil), unknown + "the scheduler has not saved them"},
		"saved":                   {good + ends + savedBy(t, earmarked), ""},
		"nominated":               {good + ends + waits, ""},
		"deleted by a user":       {good + strings.Replace(ends, "Evict}", "Deleted}", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, stderr := run(test.input, "explain", "-o", "json", "-f", "-")
			if test.want == "" {
				assert.NotContains(t, stderr, "evicted pods")
				return
			}
			assert.Contains(t, stderr, test.want)
			assert.Contains(t, out, `"unknown":`)
			assert.Contains(t, heardOf(t, test.input), "evicted pods that have not ended: 1. The scheduler may keep ")
			assert.NotContains(t, heardOf(t, test.input), "default/ends")
		})
	}
}
