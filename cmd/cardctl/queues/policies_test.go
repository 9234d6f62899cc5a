package queues

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

const annotated = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root, annotations: {volcano.sh/overcommit-factor: "2", volcano.sh/inqueue-timeout: 30m}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team, annotations: {volcano.sh/max-jobs: "20", volcano.sh/reclaim-fence: "true", volcano.sh/min-runtime: reclaim=30m}}
spec: {parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: train, annotations: {volcano.sh/max-jobs: "5", volcano.sh/inqueue-timeout: 10m, volcano.sh/min-runtime: soon}}
spec: {parent: team}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: other, annotations: {volcano.sh/inqueue-timeout: 0s, volcano.sh/overcommit-factor: "1.5"}}
spec: {parent: root}
`

const configured = `
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: PLUGIN
    enableHierarchy: true
    arguments: {victimOrder: leastWork, reclaimByServiceType: maybe}
`

// policiesOf returns the policies that hold in the queues of annotated, and the policies of arguments.
func policiesOf(t *testing.T, plugin string) (of map[string][]Policy, arguments map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queues.yaml")
	require.NoError(t, os.WriteFile(path, []byte(annotated), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	world, err := engine.Build(objects)
	require.NoError(t, err)
	configuration, err := engine.Configure(strings.Replace(configured, "PLUGIN", plugin, 1))
	require.NoError(t, err)
	session, err := engine.Open(t.Context(), world, configuration)
	require.NoError(t, err)
	defer session.Close()
	of = map[string][]Policy{}
	for _, q := range List(world, session) {
		of[q.Queue] = q.Policies
	}
	return of, session.Quota.Policies()
}

// TestPolicies lists the policies that hold in a queue, with the queue or the argument that sets each of them. Wrong
// values do not hold, and neither do values that lift an inherited policy.
func TestPolicies(t *testing.T) {
	const prefix = "volcano.sh/"
	factor := Policy{Policy: prefix + "overcommit-factor", Key: policy.OvercommitFactor, Value: "2", Queue: "root"}
	most := Policy{Policy: prefix + "max-jobs", Key: policy.MaxJobs, Value: "20", Queue: "team", Whole: true}
	fence := Policy{Policy: prefix + "reclaim-fence", Key: policy.ReclaimFence, Value: "true", Queue: "team", Whole: true}
	runtime := Policy{Policy: prefix + "min-runtime", Key: policy.MinRuntime, Value: "reclaim=30m", Queue: "team"}
	timeout := Policy{Policy: prefix + "inqueue-timeout", Key: policy.InqueueTimeout, Value: "30m", Queue: "root"}

	of, arguments := policiesOf(t, "capacity-card")
	assert.Equal(t, map[string][]Policy{
		"root": {factor, timeout},
		"team": {most, factor, timeout, fence, runtime},
		"train": {{Policy: prefix + "max-jobs", Value: "5", Queue: "train", Whole: true}, most, factor,
			{Policy: prefix + "inqueue-timeout", Key: policy.InqueueTimeout, Value: "10m", Queue: "train"}, fence, runtime},
		"other": {{Policy: prefix + "overcommit-factor", Key: policy.OvercommitFactor, Value: "1.5", Queue: "other"}},
	}, of)
	assert.Equal(t, map[string]string{"victimOrder": "leastWork"}, arguments, "maybe is wrong")
	assert.Equal(t, "max-jobs", most.Name())

	of, arguments = policiesOf(t, "proportion")
	assert.NotContains(t, of["team"], fence, "proportion evicts as Volcano's does")
	assert.Contains(t, of["team"], most)
	assert.Empty(t, arguments)
}

// TestPolicyRows has a share, a policy of a parent, a budget in place of its annotation, and a window.
func TestPolicyRows(t *testing.T) {
	until := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	q := Queue{
		Queue:    "train",
		Policies: []Policy{{Policy: "volcano.sh/max-jobs", Value: "20", Queue: "team", Whole: true}, {Policy: card.BudgetKey, Value: "{}", Queue: "train"}},
		Budgets:  []Budget{{Resource: "A", Window: "month", Budget: 100, Used: 40, Left: 60}},
		Windows:  []inspect.Window{{Holds: true, Next: &until}},
	}
	q.Shares = []inspect.StatedShare{{Annotation: card.DeservedKey, Card: "@hopper", Share: "12.5%,min=2", Cards: 64}}
	assert.Equal(t, PolicyRow{"card.deserved", "@hopper 12.5%,min=2 = 64", "train", ""}, q.PolicyRows()[0])
	q.Shares = nil
	rows := q.PolicyRows()
	assert.Equal(t, []PolicyRow{
		{"max-jobs", "20", "team, for all queues below it together", ""},
		{"card.budget", "A: 100 card-hours, month", "train", "40 used, 60 left"},
	}, rows[:2])
	assert.Equal(t, "override", rows[2].Policy)
	assert.Contains(t, rows[2].Now, "2099-01-01")
	q.Budgets = nil
	assert.Equal(t, "{}", q.PolicyRows()[1].Value, "the annotation is wrong")
}
