package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

func to(x float64) *float64 { return &x }

// tree is a tree of queues in the order of queues.List.
func treeOf(lines ...string) (all []queues.Queue) {
	depth := map[string]int{"": -1}
	for _, line := range lines {
		var name, parent string
		_, _ = fmt.Sscan(line, &name, &parent)
		depth[name] = depth[parent] + 1
		all = append(all, queues.Queue{Queue: name, Parent: parent, Depth: depth[name]})
	}
	return all
}

func names(rows []Row) (all []string) {
	for _, r := range rows {
		name := r.Queue.Queue
		if r.Open {
			name += "+"
		}
		all = append(all, name)
	}
	return all
}

func TestRows(t *testing.T) {
	all := treeOf("root", "a root", "a1 a", "a2 a", "b root", "b1 b")
	all[2].Waiting, all[3].Resources = 3, []queues.Holding{{Resource: "X", Card: true, Allocated: 4, Deserved: to(2), Capability: to(4)}}
	for name, c := range map[string]struct {
		selection Selection
		want      []string
	}{
		"all levels have room": {Selection{}, []string{"root+", "a+", "a1", "a2", "b+", "b1"}},
		"a closed queue":       {Selection{Closed: []string{"a"}}, []string{"root+", "a", "b+", "b1"}},
		"all closed":           {Selection{Closed: []string{"root"}}, []string{"root"}},
		"a search":             {Selection{Search: "A"}, []string{"a", "a1", "a2"}},
		"waiting":              {Selection{Waiting: true}, []string{"a1"}},
		"full":                 {Selection{Full: true}, []string{"a2"}},
		"borrowing":            {Selection{Borrowing: true}, []string{"a2"}},
		"both":                 {Selection{Borrowing: true, Waiting: true}, nil},
	} {
		assert.Equal(t, c.want, names(Rows(all, c.selection)), name)
	}
	assert.Equal(t, []string{"root", "a"}, Rows(all, Selection{Search: "a1"})[0].Path)
	assert.Len(t, Subtree(all, "a"), 3)
	assert.Empty(t, Subtree(all, "none"))
	assert.Equal(t, map[string]float64{"X": 4}, Scales(all))
}

// TestManyRows closes levels for which a page has no room, and opens the queues of the selection.
func TestManyRows(t *testing.T) {
	lines := []string{"root"}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("q%02d root", i))
		for j := range 100 {
			lines = append(lines, fmt.Sprintf("q%02d-%02d q%02d", i, j, i))
		}
	}
	all := treeOf(lines...)
	assert.Len(t, Rows(all, Selection{}), 51)
	assert.Len(t, Rows(all, Selection{Opened: []string{"q07"}}), 151)
	assert.Len(t, Rows(all, Selection{All: true}), 5051)
}

// TestLoans has a queue that borrows from its sibling first and then from a cousin. At last it borrows cards that no
// queue deserves.
func TestLoans(t *testing.T) {
	all := treeOf("root", "a root", "a1 a", "a2 a", "b root")
	holds := func(allocated, deserved, guarantee float64) []queues.Holding {
		return []queues.Holding{{Resource: "X", Card: true, Allocated: allocated, Deserved: to(deserved), Guarantee: guarantee}, {Resource: "cpu", Allocated: 9, Deserved: to(1)}}
	}
	all[2].Resources, all[3].Resources, all[4].Resources = holds(7, 1, 0), holds(0, 2, 0), holds(1, 1, 4)
	assert.Equal(t, []Loan{
		{Resource: "X", Card: true, Borrower: "a1", Lender: "b", Below: "root", Amount: 3},
		{Resource: "X", Card: true, Borrower: "a1", Lender: "a2", Below: "a", Amount: 2},
		{Resource: "X", Card: true, Borrower: "a1", Amount: 1},
	}, Loans(all, true))
	assert.Len(t, Loans(all, false), 6)
	all[2].Resources = holds(1, 1, 0)
	assert.Empty(t, Loans(all, true))
}

func TestCauses(t *testing.T) {
	old, young := metav1.Unix(100, 0), metav1.Unix(200, 0)
	short := func(cards string, shortages ...report.Shortage) *report.Reason {
		return &report.Reason{Rule: report.OverQuota, Cards: cards, Shortages: shortages}
	}
	shown := func(namespace string) string { return namespace }
	causes := (&Model{}).Causes([]explain.Finding{
		{Name: "a", Rule: report.ClosedQueue, Level: "r"},
		{Name: "b", Rule: report.OverQuota, Level: "q", Since: &young, Reason: short("X", report.Shortage{Resource: "X", Total: 7, Bound: 6}), Pods: explain.Pods{Waiting: 2}},
		{Name: "c", Rule: report.OverQuota, Level: "q", Since: &old, Reason: short("X", report.Shortage{Resource: "X", Total: 9, Bound: 6}), Pods: explain.Pods{Waiting: 1}},
		{Name: "d", Rule: report.OverQuota, Level: "q", Reason: short("X|Y", report.Shortage{Resource: "X", Total: 9, Bound: 6}, report.Shortage{Resource: "Y", Total: 2, Bound: 1})},
	}, shown)
	require.Len(t, causes, 3)
	c := causes[0]
	assert.Equal(t, []any{"q", "X", 1.0, 3.0, 3, old.Time, 2}, []any{c.Level, c.Resource, c.Least, c.Most, c.Pods, *c.Oldest, len(c.Jobs)})
	assert.Equal(t, "X|Y", causes[1].Resource)
	assert.InDelta(t, 1, causes[1].Least, 0, "one of the list is enough")
	assert.Equal(t, report.ClosedQueue, causes[2].Rule)
}

// TestCausesOfPolicies has jobs that wait because of policies, each with a number and a level of
// its own.
func TestCausesOfPolicies(t *testing.T) {
	m := &Model{Queues: treeOf("root", "a root", "a1 a", "a2 a", "b root"), Stock: &stock.Stock{}}
	m.indexNames()
	delay := queues.Policy{Policy: "volcano.sh/reclaim-delay", Key: policy.ReclaimDelay, Value: "2m", Queue: "a"}
	timeout := queues.Policy{Policy: policy.InqueueTimeoutKey, Key: policy.InqueueTimeout, Value: "30m0s", Queue: "a2"}
	m.Queues[4].Policies = []queues.Policy{{Policy: "volcano.sh/reclaim-fence", Key: policy.ReclaimFence, Value: "true", Queue: "b", Whole: true}}
	m.Queues[2].Policies, m.Queues[3].Policies = []queues.Policy{delay}, []queues.Policy{timeout, delay}
	over := func(against string, total, bound float64) *report.Reason {
		return &report.Reason{Shortages: []report.Shortage{{Resource: "X", Against: against, Total: total, Bound: bound}}}
	}
	held := func(user string) *report.Reason {
		reason := over("card.quota.by", 9, 8)
		reason.Holder = report.Holder{Key: "user", Value: user}
		return reason
	}
	delayed := &explain.Claim{Refused: &report.Reason{Rule: report.ReclaimDelayed}}
	jobs := []explain.Finding{
		{Namespace: "n1", Rule: report.TooManyJobs, Level: "a", Queue: "a1", Reason: &report.Reason{Shortages: []report.Shortage{{Resource: "jobs", Against: "max-jobs", Total: 21, Bound: 20}}}},
		{Namespace: "n1", Rule: report.OverNamespace, Level: "a", Queue: "a1", Reason: over("card.quota.by", 9, 8)},
		{Namespace: "n2", Rule: report.OverNamespace, Level: "a", Queue: "a1", Reason: over("card.quota.by", 10, 8)},
		{Namespace: "n1", Rule: report.OverHolder, Level: "a", Queue: "a1", Reason: held("ann")},
		{Namespace: "n1", Rule: report.OverHolder, Level: "a", Queue: "a1", Reason: held("bob")},
		{Namespace: "n2", Rule: report.OverHolder, Level: "a", Queue: "a1", Reason: held("cid")},
		{Namespace: "n2", Rule: report.OverHolder, Level: "a", Queue: "a1", Reason: held("dan")},
		{Namespace: "n1", Rule: report.OverQuota, Level: "a", Queue: "a1", Reason: over(report.Overcommit, 7, 6)},
		{Namespace: "n1", Rule: report.OverQuota, Level: "a", Queue: "a1", Reason: over("capability", 17, 16)},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "a1", Claim: delayed},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "a2", Claim: delayed},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "a2", Claim: delayed, TimedOut: true},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "b", Claim: &explain.Claim{Refused: &report.Reason{Rule: report.TrainingJob}}, TimedOut: true},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "b"},
		{Namespace: "n1", Rule: explain.NodesFull, Queue: "a1", Claim: &explain.Claim{Spared: []explain.Spared{
			sparedBy(policy.ReclaimFence, "b", 2), sparedBy(policy.MinRuntime, "a2", 3)}}},
	}
	keys := map[string]int{}
	for _, c := range m.Causes(jobs, func(namespace string) string { return strings.Replace(namespace, "n2", "•••", 1) }) {
		key := c.Key()
		if c.Bound != nil {
			key += fmt.Sprintf(" %v", *c.Bound)
		}
		keys[key] = len(c.Jobs)
	}
	assert.Equal(t, map[string]int{
		"TooManyJobs|a|jobs||max-jobs 20":                           1,
		"OverNamespace|a|X|n1|card.quota.by 8":                      1,
		"OverNamespace|a|X|•••|card.quota.by 8":                     1,
		"OverHolder|a|X|user|card.quota.by|ann 8":                   1,
		"OverHolder|a|X|user|card.quota.by|bob 8":                   1,
		"OverHolder|a|X|user|card.quota.by|••• 8":                   2,
		"OverQuota|a|X||" + report.Overcommit + " 6":                1,
		"OverQuota|a|X||capability 16":                              1,
		"NodesFull|||||ReclaimDelayed|a|2m":                         2,
		"NodesFull|||||ReclaimDelayed|a|2m|InqueueTimeout|a2|30m0s": 1,
		"NodesFull|||||TrainingJob|InqueueTimeout":                  1,
		"NodesFull|||||ReclaimFence|b|true|MinRuntime":              1,
		"NodesFull": 1,
	}, keys)
}

const lent = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 2}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: borrower, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.deserved: '{"X": 0}', volcano.sh/card.guarantee: '{"X": 0}'}}
spec: {reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: owner, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.guarantee: '{"X": 0}'}}
spec: {reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: borrows, namespace: team, uid: u-borrows, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: borrows, uid: b}]}
spec: {queue: borrower, minMember: 1, minResources: {cpu: 1}}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: borrows-0, namespace: team, annotations: {scheduling.k8s.io/group-name: borrows, volcano.sh/card.name: X, volcano.sh/preemptable: "true"}}
spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: borrows-1, namespace: team, annotations: {scheduling.k8s.io/group-name: borrows, volcano.sh/card.name: X, volcano.sh/preemptable: "true"}}
spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]}
status: {phase: Running}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: claims, namespace: team, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: claims, uid: c}]}
spec: {queue: owner, minMember: 1, minResources: {cpu: 1}}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: claims-0, namespace: team, annotations: {scheduling.k8s.io/group-name: claims, volcano.sh/card.name: X}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]}
status: {phase: Pending}
`

// sparedBy are pods that a policy of a queue protects.
func sparedBy(key policy.Key, queue string, pods int) explain.Spared {
	return explain.Spared{By: inspect.Protector(key.String()), Key: key, Queue: queue, Pods: pods}
}

// TestMake finds the pods that the next cycle evicts, the past evictions, and the jobs that get the cards. The objects
// do not change.
func TestMake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(lent), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	configuration, err := engine.Usual("capacity-card", objects.Queues)
	require.NoError(t, err)
	unchanged := objects.Clone()
	reading := &Reading{Objects: objects, Configuration: configuration, Time: time.Unix(1000, 0), Evicted: []input.Evicted{
		{Node: "node-1", Namespace: "team", PodGroup: "claims", Why: "Pod is evicted, because of enforce-quota"},
		{Node: "node-1", Namespace: "team", PodGroup: "gone", Why: "Pod is evicted, because of reclaim, for job team/borrows in queue borrower"},
		{Node: "node-1", Namespace: "team", PodGroup: "gone", Why: "Pod is evicted, because of reclaim, for job team/over-1deb063b-ee57-427f-97b5-33f0431d647d in queue no-more"},
		{Node: "node-1", Namespace: "other", PodGroup: "gone", Why: "Pod is evicted, because of reclaim, for job u-borrows in queue borrower"},
		{Node: "node-1", Namespace: "other", PodGroup: "gone", Why: "Pod is evicted, because of reclaim, for job u-gone in queue borrower"},
		{Node: "node-1", Namespace: "team", Pod: "claims-0", FromEvent: true}}}
	m, err := Make(t.Context(), reading, nil)
	require.NoError(t, err)
	assert.Equal(t, unchanged.Pods, objects.Pods)

	require.Len(t, m.Evictions, 1)
	assert.Equal(t, engine.Eviction{Namespace: "team", Owner: "Job/borrows", Queue: "borrower", Pod: m.Evictions[0].Pod, Node: "node-1",
		For: []engine.Taker{{Namespace: "team", Owner: "Job/claims", Queue: "owner", Group: "team/claims"}}}, m.Evictions[0])
	assert.Equal(t, []Loan{{Resource: "X", Card: true, Borrower: "borrower", Lender: "owner", Amount: 2}}, Loans(m.Queues, true))
	require.Len(t, m.Past, 6)
	assert.Equal(t, []string{"claims", "owner", "X"}, []string{m.Past[5].PodGroup, m.Past[5].Queue, m.Past[5].Card}, "the pod was created again")
	assert.Equal(t, "owner", m.Past[0].Queue)
	assert.Empty(t, m.Past[0].For, "it was evicted for nobody")
	assert.Equal(t, []engine.Taker{{Namespace: "team", Owner: "Job/borrows", Queue: "borrower"}}, m.Past[1].For)
	assert.Equal(t, "Pod is evicted, because of reclaim", m.Past[1].Why, "the job has a column of its own")
	assert.Equal(t, []engine.Taker{{Namespace: "team", Owner: "Job/over"}}, m.Past[2].For, "the job is gone")
	assert.Equal(t, m.Past[1].For, m.Past[3].For, "another namespace has the UID")
	assert.Equal(t, []engine.Taker{{Queue: "borrower"}}, m.Past[4].For, "nothing names a job that is gone")
	claims := m.Job("team", "borrows").Reclaimers
	require.Len(t, claims, 1)
	assert.Equal(t, "team/Job/claims", claims[0].Owner)

	again, err := Make(t.Context(), reading, m)
	require.NoError(t, err)
	assert.Equal(t, m.Past, again.Past)
	assert.Same(t, m.Checks, again.Checks, "they are recent")
}
