package command

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// typoText is a cluster with a queue of 8 cards, of which 2 are used. The quota of the queue has a comma too much.
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

// remembered returns the ConfigMap of a scheduler that uses the last good quota of the queue.
func remembered(t *testing.T, change func(*store.Remembered)) string {
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

// TestLastGoodValues reads a cluster with a wrong annotation. With what the scheduler has saved, the answers are those of
// the scheduler. Otherwise each command says first that it does not know the values.
func TestLastGoodValues(t *testing.T) {
	const (
		counts  = `note: queue own: volcano.sh/card.quota is wrong, and its last good value counts: {"A":8}`
		unknown = "warning: queue own: wrong annotations count as not set: volcano.sh/card.quota. The scheduler may use their last good values, which are not known: "
	)
	for name, test := range map[string]struct {
		input, stderr, bound string
	}{
		"saved":              {typoText + remembered(t, nil), counts, "8"},
		"nothing was saved":  {typoText, unknown + "ConfigMap volcano-system/capacity-card-usage: capacity-card-usage does not exist in the input", "0"},
		"by a later release": {typoText + remembered(t, func(r *store.Remembered) { r.Version++ }), unknown + "a later release has saved them", "0"},
		"of another queue":   {strings.Replace(typoText, `uid: "1"`, `uid: "2"`, 1) + remembered(t, nil), unknown + "the scheduler has not saved them", "0"},
		"not readable":       {typoText + strings.Replace(remembered(t, nil), "usage: H4", "usage: XX", 1), unknown + "ConfigMap volcano-system/capacity-card-usage: gzip", "0"},
		"a wrong text was saved": {typoText + remembered(t, func(r *store.Remembered) { r.Queues["own"].Annotations["volcano.sh/card.quota"] = "?" }),
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
