package preflight

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
)

// cluster is a node with four cards, a queue that has two of them, and another one without a quota.
const cluster = `
apiVersion: v1
kind: Node
metadata: {name: node, labels: {nvidia.com/gpu.product: H200}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: counted, annotations: {volcano.sh/card.quota: '{"H200": 2}'}}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: free}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: runs}
spec: {queue: free, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: runs-0, annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/card.name: H200}}
spec: {schedulerName: volcano, nodeName: node, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: waits}
spec: {queue: free, minMember: 1}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: waits-0, annotations: {scheduling.k8s.io/group-name: waits, volcano.sh/card.name: H200}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Pending}
`

// owner is a job of the queue counted.
const owner = `
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: owner}
spec: {queue: counted, minMember: 1}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: owner-0, annotations: {scheduling.k8s.io/group-name: owner, volcano.sh/card.name: H200}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
status: {phase: Pending}
`

// borrowed fills the node with another pod of the queue free.
const borrowed = `
---
apiVersion: v1
kind: Pod
metadata: {name: runs-1, annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/card.name: H200}}
spec: {schedulerName: volcano, nodeName: node, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 3}}}]}
status: {phase: Running}
`

// decide runs the checks of the decisions on a cluster, from one of Volcano's own plugins to the next plugin.
func decide(t *testing.T, text, actions, plugin, next string) (queues, jobs, evictions Check) {
	t.Helper()
	objects := input.Parse("cluster", []byte(text))
	require.Empty(t, objects.Problems)
	now, err := engine.Configure(configured(actions, plugin, ""))
	require.NoError(t, err)
	now.Upstream = true
	then, err := engine.Configure(configured(actions, next, ""))
	require.NoError(t, err)

	s := &Subject{Objects: objects}
	checks, err := s.checkDecisions(t.Context(), now, then)
	require.NoError(t, err)
	require.Len(t, checks, 3)
	return checks[0], checks[1], checks[2]
}

// TestDecisionsUnderOneName finds no difference where only the image changes.
func TestDecisionsUnderOneName(t *testing.T) {
	queues, jobs, evictions := decide(t, cluster, "enqueue, allocate, reclaim, backfill", plugin.CapacityName, plugin.CapacityName)
	assert.Equal(t, "ok: queues with jobs that get the same answers: 1 of 1", queues.text())
	assert.Equal(t, "ok: all jobs run as many pods as with the present scheduler", jobs.text())
	assert.Equal(t, "ok: no pod is evicted at first", evictions.text())
}

// TestDecisionsOfProportion does not ask about a queue without jobs, at which Volcano's plugin proportion panics.
func TestDecisionsOfProportion(t *testing.T) {
	const idle = "\n---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: idle}\nspec: {weight: 1}\n"
	queues, _, _ := decide(t, cluster+idle, "enqueue, allocate, backfill", plugin.ProportionName, plugin.Name)
	assert.Contains(t, queues.text(), "note: queues with jobs that get other answers: 1 of 1")
}

// TestDecisionsWithoutQuota refuses the job of the queue without a quota, and prints the quota that keeps its cards.
func TestDecisionsWithoutQuota(t *testing.T) {
	queues, jobs, _ := decide(t, cluster, "enqueue, allocate, backfill", plugin.CapacityName, plugin.Name)
	assert.Equal(t, Note, queues.Result)
	assert.Contains(t, queues.text(), "- free: jobs that can get a pod: present 1, next 0")
	assert.Contains(t, queues.text(), `do: kubectl annotate queue free --overwrite volcano.sh/card.quota='{"H200":1}'`)
	assert.NotContains(t, queues.text(), "queue counted")

	assert.Contains(t, jobs.text(), "note: jobs with fewer pods or no admission with the next scheduler: 1; with more pods or an admission: 0")
	assert.Contains(t, jobs.text(), "- default/PodGroup/waits of free: present: 1 run; next: 1 wait; Queue <free> has insufficient <H200> quota")
	text, err := json.Marshal(jobs)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"owner":"PodGroup/waits","queue":"free","present":{"admitted":true,"running":1,"waiting":0}`)
}

// TestRaiseQuotas raises quotas to whole cards, and changes nothing else of an annotation.
func TestRaiseQuotas(t *testing.T) {
	for name, test := range map[string]struct {
		annotation string
		has, quota float64
		want       string // "" for no command
	}{
		"no annotation":               {"", 3, 0, `{"A":3}`},
		"a part of a card":            {"", 0.25, 0, `{"A":1}`},
		"a share of another card":     {`{"A": 2, "B": "25%"}`, 3, 2, `{"A":3,"B":"25%"}`},
		"a window sets a lower quota": {`{"A": 8, "B": "25%"}`, 6, 4, ""},
		"within the quota":            {`{"A": 8, "B": "25%"}`, 8, 8, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", Annotations: map[string]string{card.QuotaKey: test.annotation}}}
			s := &Subject{Objects: &input.Objects{Queues: []*scheduling.Queue{q}}}
			over := overQuota(&stock.Stock{Queues: []stock.InQueue{
				{Queue: "q", Leaf: true, Card: "A", Allocated: test.has, Quota: &test.quota},
				{Queue: "q", Leaf: true, Card: "B", Allocated: 1, Quota: ptr.To(2.0)},
				{Queue: "parent", Card: "A", Allocated: test.has, Quota: ptr.To(0.0)},
			}})
			var want []string
			if test.want != "" {
				want = []string{"kubectl annotate queue q --overwrite volcano.sh/card.quota='" + test.want + "'"}
			}
			assert.Equal(t, want, s.raiseQuotas(over))
		})
	}
}

// TestDecisionsOfVolcano has Volcano's own plugin decide now: in a tree, it refuses all jobs if one job is in a queue with
// children.
func TestDecisionsOfVolcano(t *testing.T) {
	const tree = "{name: child}\nspec: {weight: 1, parent: free}\n---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: "
	text := strings.Replace(cluster, "{name: counted,", tree+"{name: counted,", 1) + owner
	objects := input.Parse("cluster", []byte(text))
	require.Empty(t, objects.Problems)
	now, err := engine.Configure(configured("enqueue, allocate, backfill", plugin.CapacityName, ", enableHierarchy: true"))
	require.NoError(t, err)
	ours := *now
	now.Upstream = true

	s := &Subject{Objects: objects}
	checks, err := s.checkDecisions(t.Context(), now, &ours)
	require.NoError(t, err)
	assert.Contains(t, checks[1].text(), "- default/PodGroup/owner of counted: present: 1 wait; next: 1 run")
	assert.NotContains(t, checks[1].text(), "PodGroup/waits", "nobody starts it")
}

// TestDecisionsWithWrongParents has a queue that does not reach the root. Volcano walks up to the root when it closes a
// session: it panics at an unknown parent, and never ends in a cycle.
func TestDecisionsWithWrongParents(t *testing.T) {
	const queue = "\n---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {weight: 1%s}\n"
	const actions = "enqueue, allocate, backfill"
	wantQueues, wantJobs, _ := decide(t, cluster, actions, plugin.CapacityName, plugin.Name)
	for name, parent := range map[string]string{"unknown": "ghost", "a cycle": "other"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(cluster, "{name: free}\nspec: {weight: 1}", "{name: free}\nspec: {weight: 1, parent: "+parent+"}", 1)
			require.NotEqual(t, cluster, text)
			text += fmt.Sprintf(queue, "root", "") + fmt.Sprintf(queue, "other", ", parent: free")
			queues, jobs, _ := decide(t, text, actions, plugin.CapacityName, plugin.Name)
			assert.Equal(t, wantQueues.text(), queues.text())
			assert.Equal(t, wantJobs.text(), jobs.text())
		})
	}
}

// TestDecisionsEvict names the pods that reclaim evicts for a queue that has less than it deserves.
func TestDecisionsEvict(t *testing.T) {
	_, jobs, evictions := decide(t, cluster+borrowed+owner, "enqueue, allocate, reclaim, backfill", plugin.CapacityName, plugin.Name)
	assert.Equal(t, Note, evictions.Result, evictions.text())
	assert.Contains(t, evictions.text(), "1 pods are evicted at first, 1 of them not by the present scheduler")
	assert.Contains(t, evictions.text(), "- cycle 1: runs-1 of node, PodGroup/runs of queue free")
	assert.Contains(t, evictions.text(), "do: no eviction at first: remove reclaim")
	assert.Contains(t, jobs.text(), "default/PodGroup/owner of counted: present: 1 wait; next: 1 run")
}

// TestEvictionsOfBoth counts an eviction that the present scheduler makes as well.
func TestEvictionsOfBoth(t *testing.T) {
	event := engine.Event{Cycle: 2, Kind: engine.Evicted, Group: "default/g", Owner: "Job/g", Queue: "q", Pod: "p", Node: "n"}
	c := compareEvictions([]engine.Event{event}, []engine.Event{{Kind: engine.Placed}, event})
	assert.Equal(t, "ok: 1 pods are evicted at first, 0 of them not by the present scheduler\n- cycle 2: p of n, Job/g of queue q, also by the present scheduler", c.text())
}

// TestUnsettled says that pods keep evicting each other.
func TestUnsettled(t *testing.T) {
	c := Check{Name: "jobs", Result: OK, Message: "all jobs run"}
	c.noteUnsettled("present", outcome{settled: true})
	assert.Equal(t, "ok: all jobs run", c.text())
	c.noteUnsettled("next", outcome{})
	assert.Equal(t, "note: all jobs run; with the next scheduler, pods keep evicting each other", c.text())
}

func TestPlaces(t *testing.T) {
	for want, p := range map[string]Place{
		"not admitted":  {},
		"admitted":      {Admitted: true},
		"2 run":         {Admitted: true, Running: 2},
		"3 wait":        {Admitted: true, Waiting: 3},
		"2 run, 3 wait": {Admitted: true, Running: 2, Waiting: 3},
	} {
		assert.Equal(t, want, p.String())
	}
	assert.True(t, Place{}.less(Place{Admitted: true}))
	assert.True(t, Place{Admitted: true}.less(Place{Running: 1}))
	assert.False(t, Place{Running: 1}.less(Place{Running: 1}))
}
