package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// budgeted is a cluster with budgets. usedFile is the record that its scheduler has saved.
const (
	budgeted = "../../../examples/budgets"
	usedFile = budgeted + "/used.yaml"
)

// TestUsedFile writes the record of used card-hours in examples/budgets.
func TestUsedFile(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	saved := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	hours := func(x float64) []float64 { return []float64{budget.Limit(x)} }
	sliding := make([]float64, 49)
	sliding[20], sliding[30] = budget.Limit(60), budget.Limit(40)
	record := &budget.Record{
		Columns: []budget.ColumnRecord{
			{Card: "NVIDIA-H200", Window: "month", From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
			{Card: "NVIDIA-H200", Window: "week", From: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)},
			{Card: "NVIDIA-H200", Window: "2d sliding", From: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)},
		},
		Queues: map[string]budget.QueueRecord{
			"vision":   {Above: []string{"research", "root"}, Used: [][]float64{hours(2650), hours(150), nil}},
			"language": {Above: []string{"research", "root"}, Used: [][]float64{hours(1875), hours(90), nil}},
			"batch":    {Above: []string{"root"}, Used: [][]float64{nil, nil, sliding}},
		},
	}
	all, err := store.Write(types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"},
		&store.Stored{Record: store.Record{Budgets: record}, Saved: saved}, "scheduler")
	require.NoError(t, err)
	all[0].APIVersion, all[0].Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(all[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Clean(usedFile), text, 0o600))
}

func TestBudget(t *testing.T) {
	for name, test := range map[string]struct {
		arguments, out, stderr string
		code                   int
	}{
		"one queue, as JSON": {"budget batch -o json -f " + budgeted, `"used": 100`, "", 0},
		"one card":           {"budget --card NVIDIA-H100 -f " + budgeted, "", `no budget of card "NVIDIA-H100" in the input; did you mean "NVIDIA-H200"?`, 2},
		"no such queue":      {"budget visio -f " + budgeted, "", `no queue "visio" in the input; did you mean "vision"?`, 2},
		"nothing is stored":  {"budget -f " + budgeted + "/cluster.yaml", "vision", "the usage of budgets is not known, except for pods that run: ConfigMap", 0},
		"no budgets":         {"budget -f " + fair, "No queue has a budget", "", 0},
		"why a job waits": {"explain job sweep -f " + budgeted, "Queue <vision> has insufficient <NVIDIA-H200> budget: the job needs <96> card-hours, " +
			"<78> of <300> are left until 2026-11-30T00:00Z", "", 0},
		"until when": {"explain job nightly -f " + budgeted, "Verdict:    until: it cannot run before 2026-11-25T09:00Z", "", 0},
		"until when, as JSON": {"explain job nightly -o jsonpath={.items[0].verdict.until}{.items[0].reason.shortages[0].until} -f " + budgeted,
			"2026-11-25T09:00:00Z2026-11-25T09:00:00Z", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := run("", strings.Fields(test.arguments)...)
			assert.Equal(t, test.code, code, stderr)
			assert.Contains(t, out, test.out)
			assert.Contains(t, stderr, test.stderr)
		})
	}
}

// TestStoredEvictions has a queue with as many evicted pods as its budget allows. The annotation or a window sets the
// budget. The stored record is read although no other feature needs it.
func TestStoredEvictions(t *testing.T) {
	lost := evict.CountRecord{Seconds: 3600, Times: [][2]int64{{time.Now().Add(-10 * time.Minute).UnixMilli(), 1}}}
	all, err := store.Write(types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}, &store.Stored{Saved: time.Now(),
		Record: store.Record{Evictions: &evict.Record{Lost: map[string]evict.CountRecord{"borrower": lost}}}}, "scheduler")
	require.NoError(t, err)
	all[0].APIVersion, all[0].Kind = "v1", "ConfigMap"
	stored, err := yaml.Marshal(all[0])
	require.NoError(t, err)
	const spared = "Z: volcano.sh/eviction-budget (lose) of queue borrower"
	for _, annotation := range []string{`volcano.sh/eviction-budget: lose=1/1h`,
		`volcano.sh/override: '[{"from": "2020-01-01T00:00Z", "until": "2099-01-01T00:00Z", "eviction-budget": "lose=1/1h"}]'`} {
		text := strings.Replace(lentText, "ANNOTATION", annotation, 1)
		code, out, stderr := run(text+"\n---\n"+string(stored), "explain", "job", "claims", "-f", "-")
		assert.Zero(t, code, stderr)
		assert.Contains(t, out, spared)
		assert.NotContains(t, stderr, "is not known")
		_, out, stderr = run(text, "explain", "job", "claims", "-f", "-")
		assert.NotContains(t, out, spared)
		assert.Contains(t, stderr, "warning: what was evicted before, and since when queues are above their bounds, is not known: ConfigMap")
	}
}

// lentText is a cluster in which one queue lends a card to another one, and wants it back.
const lentText = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: A}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 2}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: borrower
  annotations:
    volcano.sh/card.quota: '{"A": 2}'
    volcano.sh/card.deserved: '{"A": 1}'
    volcano.sh/card.guarantee: '{"A": 0}'
    ANNOTATION
spec: {weight: 1, reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: owner
  annotations: {volcano.sh/card.quota: '{"A": 2}', volcano.sh/card.deserved: '{"A": 1}', volcano.sh/card.guarantee: '{"A": 0}'}
spec: {weight: 1, reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: borrows, namespace: default}
spec: {queue: borrower, minMember: 0}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: borrows, namespace: default, annotations: {scheduling.k8s.io/group-name: borrows, volcano.sh/card.name: A}}
spec: {nodeName: node-1, schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
status: {phase: Running}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: claims, namespace: default}
spec:
  queue: owner
  minAvailable: 1
  tasks: [{name: w, replicas: 1, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]
`

// TestExamplePages runs the commands of docs/cardctl.md and docs/replay.md on examples/budgets and examples/audit, and
// compares their output.
func TestExamplePages(t *testing.T) {
	for _, path := range []string{page, replayPage} {
		t.Run(filepath.Base(path), func(t *testing.T) { playExample(t, path) })
	}
}

// playExample runs the command of a page on an example.
func playExample(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	path, err := filepath.Abs(page)
	require.NoError(t, err)
	t.Chdir("../../..")
	blocks := regexp.MustCompile("(?s)```sh\n(cardctl [^\n]*-f examples/(?:budgets|audit))\n```\n\n```text\n(.*?)```")
	found := 0
	played := blocks.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		line := "$ " + blocks.FindStringSubmatch(block)[1] + "\n"
		return "```sh\n" + line[2:] + "```\n\n```text\n" + play(line)[len(line):] + "```"
	})
	require.Equal(t, 1, found)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(played), 0o600))
		return
	}
	assert.Equal(t, string(text), played, "run this test with -update")
}
