package session_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// inspected opens a session and returns its Inspection.
func inspected(t *testing.T, c workload.Cluster, build framework.PluginBuilder) (*testbed.Fixture, inspect.Inspection) {
	t.Helper()
	var own framework.Plugin
	f := openFixture(t, c, func(a framework.Arguments) framework.Plugin {
		own = build(testbed.Pinned(build(nil).Name(), a))
		return own
	})
	i, ok := session.Inspect(own)
	require.True(t, ok)
	return f, i
}

// TestInspectionMatchesEvents compares a reason with the event and the condition that
// show it.
func TestInspectionMatchesEvents(t *testing.T) {
	f, i := inspected(t, workload.Cluster{Hierarchy: true, Nodes: oneNode,
		Queues: []workload.Queue{{Name: "top", Capability: workload.Resources{"cpu": 1500, "memory": 8 << 30}}, {Name: "leaf", Parent: "top"}},
		Jobs:   []workload.Job{pendingJob("job", "leaf", 1), runningJob("other", "leaf", 2)}}, session.NewCapacity)
	job, task := f.Job("job"), f.Task("job-a")

	why := i.Enqueue(job)
	require.NotNil(t, why)
	assert.Equal(t, report.OverQuota, why.Rule)
	assert.Equal(t, []report.Shortage{{Queue: "top", Resource: "cpu", Requested: 1, Total: 2, Bound: 1.5, Against: "capability"}}, why.Shortages)
	require.False(t, f.JobEnqueueable(job))
	assert.Equal(t, why.String(), job.JobFitErrors)
	assert.Contains(t, f.Cache.Events()[0], why.String())

	require.False(t, f.Allocatable(f.Queue("leaf"), task))
	why = i.Allocate(task)
	require.NotNil(t, why)
	assert.Equal(t, []report.Shortage{{Queue: "top", Resource: "cpu", Requested: 1, Total: 3, Bound: 1.5, Against: "capability"}}, why.Shortages)
	assert.Equal(t, "Queue <top> has insufficient <cpu> quota: requested <1>, total would be <3>, but capability is <1.5>", why.String())
	assert.Nil(t, i.Node(task, "node"), "cards do not count")
	assert.Empty(t, i.Charged(task))
}

func TestInspectionOfCards(t *testing.T) {
	nodes := []workload.Node{
		{Name: "node", Labels: map[string]string{"nvidia.com/gpu.product": "A"}, Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100, testbed.GPU: 8}},
		{Name: "other", Labels: map[string]string{"nvidia.com/gpu.product": "B"}, Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100, testbed.GPU: 8}},
	}
	request := workload.Resources{"cpu": 1000, "memory": 1 << 30, testbed.GPU: 2}
	runs, waits := runningJob("runs", "q", 1), pendingJob("waits", "q", 1)
	for _, j := range []*workload.Job{&runs, &waits} {
		j.Tasks[0].Request, j.Tasks[0].Annotations = request, map[string]string{"volcano.sh/card.name": "A"}
	}
	f, i := inspected(t, workload.Cluster{Nodes: nodes, Jobs: []workload.Job{runs, waits}, Queues: []workload.Queue{{
		Name: "q", Capability: workload.Resources{"cpu": 8000, "memory": 8 << 30}, Annotations: map[string]string{"volcano.sh/card.quota": `{"A":3}`},
	}}}, session.New)
	task := f.Task("waits-a")
	short := []report.Shortage{{Queue: "q", Resource: "A", Requested: 2, Total: 4, Bound: 3, Against: "capability"}}
	assert.Equal(t, short, i.Allocate(task).Shortages)
	assert.Equal(t, short, i.Node(task, "node").Shortages)
	assert.Equal(t, report.NoSuchCard, i.Node(task, "other").Rule)
	assert.Equal(t, "node(s) have none of the cards <A>", i.Node(task, "other").String())
	f.AddJobStarvingFns("capacity-card", func(any) bool { return true })
	f.Job("waits").PodGroup.Status.Phase = scheduling.PodGroupInqueue
	assert.Equal(t, report.OverQuota, i.Claim(f.Job("waits")).Refused.Rule)
	assert.Equal(t, map[string]float64{"A": 2}, i.Charged(f.Task("runs-a")))

	accounts := i.Accounts()
	require.Len(t, accounts, 1)
	cpu, memory, card := accounts[0].Holdings[0], accounts[0].Holdings[1], accounts[0].Holdings[2]
	assert.Equal(t, "cpu", cpu.Resource)
	assert.Equal(t, 1.0, cpu.Allocated)
	assert.Equal(t, float64(2<<30), memory.Request)
	assert.Equal(t, inspect.Holding{Resource: "A", Card: true, Allocated: 2, Request: 4, Elastic: card.Elastic, Capability: 3, Deserved: 3, Guarantee: 3}, card)
}

// TestClaimNamesTheBound has a gang with pods that fit one by one. A queue above has room for one of them, whatever is
// evicted.
func TestClaimNamesTheBound(t *testing.T) {
	none := []string{"guarantee", `{"A":0}`}
	f := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("top", "root", append(none, "quota", `{"A":6}`)...).
		Queue("own", "top", append(none, "quota", `{"A":6}`, "deserved", `{"A":3}`)...).
		Queue("q", "top", append(none, "quota", `{"A":6}`, "deserved", `{"A":4}`)...).
		Queue("lends", "root", append(none, "quota", `{"A":8}`, "deserved", `{"A":0}`)...).
		Pods("keeps", "own", "A", 3, 1, testbed.On("a")).Pods("lent", "lends", "A", 5, 1, testbed.Members(0), testbed.On("a")).
		Pods("gang", "q", "A", 2, 2, testbed.InPhase(workload.Inqueue), testbed.Members(2)).Open(t)
	f.AddJobStarvingFns("capacity-card", func(any) bool { return true })

	claim := session.InspectionOf(f.Own).Claim(f.Job("gang"))
	require.NotNil(t, claim)
	assert.Equal(t, 1, claim.Fit)
	require.NotNil(t, claim.Refused)
	assert.Equal(t, "Queue <top> has insufficient <A> quota: requested <2>, total would be <7>, but capability is <6>", claim.Refused.String())
}

// TestReasonNamesEachCardOfAList refuses the cards of a list in different queues: the
// preferred one in an ancestor.
func TestReasonNamesEachCardOfAList(t *testing.T) {
	waits, runs := pendingJob("waits", "leaf", 1), runningJob("runs", "sibling", 1)
	waits.Tasks[0].Annotations = map[string]string{"volcano.sh/card.name": "A|B"}
	runs.Tasks[0].Annotations = map[string]string{"volcano.sh/card.name": "A"}
	for _, j := range []workload.Job{waits, runs} {
		j.Tasks[0].Request = workload.Resources{"cpu": 1000, "memory": 1 << 30, testbed.GPU: 2}
	}
	cards := func(quota string) map[string]string {
		return map[string]string{"volcano.sh/card.quota": quota, "volcano.sh/card.guarantee": `{"A":0,"B":0}`}
	}
	capability := workload.Resources{"cpu": 8000, "memory": 8 << 30}
	f, i := inspected(t, workload.Cluster{Hierarchy: true, Jobs: []workload.Job{waits, runs},
		Nodes: []workload.Node{{Name: "node", Labels: map[string]string{"nvidia.com/gpu.product": "A"}, Allocatable: oneNode[0].Allocatable}},
		Queues: []workload.Queue{{Name: "top", Annotations: cards(`{"A":3}`)},
			{Name: "sibling", Parent: "top", Annotations: cards(`{"A":3}`), Capability: capability},
			{Name: "leaf", Parent: "top", Annotations: cards(`{"A":3,"B":1}`), Capability: capability}},
	}, session.New)
	assert.Equal(t, "Queue <top> has insufficient <A> quota: requested <2>, total would be <4>, but capability is <3>; "+
		"Queue <leaf> has insufficient <B> quota: requested <2>, total would be <2>, but capability is <1>", i.Allocate(f.Task("waits-a")).String())
}

// TestReasonNamesWhereTheBoundIsSet refuses a task in a queue that inherits its bound. The reason names the queue that
// sets the bound, with the total of that queue.
func TestReasonNamesWhereTheBoundIsSet(t *testing.T) {
	waits, runs := pendingJob("waits", "leaf", 1), runningJob("runs", "sibling", 1)
	for _, test := range []struct {
		own  workload.Resources
		want string
	}{
		{nil, "Queue <top> has insufficient <cpu> quota: requested <1>, total would be <2>, but capability is <0.9>"},
		{workload.Resources{"cpu": 800}, "Queue <leaf> has insufficient <cpu> quota: requested <1>, total would be <1>, but capability is <0.8>"},
	} {
		f, i := inspected(t, workload.Cluster{Hierarchy: true, Jobs: []workload.Job{waits, runs}, Nodes: oneNode, Queues: []workload.Queue{
			{Name: "root"}, {Name: "top", Capability: workload.Resources{"cpu": 900, "memory": 8 << 30}},
			{Name: "middle", Parent: "top"}, {Name: "leaf", Parent: "middle", Capability: test.own}, {Name: "sibling", Parent: "top"},
		}}, session.NewCapacity)
		assert.Equal(t, test.want, i.Allocate(f.Task("waits-a")).String())
		assert.Equal(t, test.want, i.Enqueue(f.Job("waits")).String())
	}
}

// TestAccountsOfATree inspects a tree with an added root that has no bound of cards.
func TestAccountsOfATree(t *testing.T) {
	_, i := inspected(t, workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: []workload.Queue{
		{Name: "top"}, {Name: "leaf", Parent: "top", Annotations: map[string]string{"volcano.sh/card.quota": `{"A":3}`}}, {Name: "lost", Parent: "gone"},
	}}, session.New)
	byName := map[string]inspect.Account{}
	for _, a := range i.Accounts() {
		byName[a.Queue] = a
	}
	assert.Equal(t, "", byName["root"].Parent)
	assert.Equal(t, "root", byName["top"].Parent)
	assert.Equal(t, 2, byName["leaf"].Depth)
	assert.True(t, byName["leaf"].Leaf)
	assert.False(t, byName["top"].Leaf)
	assert.Error(t, byName["lost"].Broken)
	assert.True(t, math.IsInf(byName["top"].Holdings[2].Capability, 1))
	assert.Equal(t, 3.0, byName["leaf"].Holdings[2].Capability)
}

// TestAccountsOfRootSpec inspects a root with the spec.deserved that Volcano writes there. The root deserves the cards
// of the cluster all the same.
func TestAccountsOfRootSpec(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("q", "root", "quota", `{"A":3}`)
	s.Queues[0].Deserved = workload.Resources{"cpu": 4000, "memory": 4 << 30}
	_, i := inspected(t, s.Cluster, session.New)
	root := i.Accounts()[0]
	require.Equal(t, "root", root.Queue)
	deserved := map[string]float64{}
	for _, h := range root.Holdings {
		deserved[h.Resource] = h.Deserved
	}
	assert.Equal(t, 4.0, deserved["cpu"])
	assert.Equal(t, 8.0, deserved["A"])
}

// TestShareOfEmptyQueues expects 0 of queues to which nothing is allocated, whether they
// deserve something or not.
func TestShareOfEmptyQueues(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("deserves", "", "quota", `{"A":3}`).Queue("empty", "", "quota", `{}`).
		Queue("best-effort", "").Pods("runs", "best-effort", "", 1, 0, testbed.On("a"))
	_, i := inspected(t, s.Cluster, session.NewCapacity)
	for _, a := range i.Accounts() {
		assert.Equal(t, map[string]float64{"deserves": 0, "empty": 0, "best-effort": 1}[a.Queue], a.Share, a.Queue)
	}
}

// TestInspectPolicies inspects the policies of walls: the fence between two queues, the pods
// that have run for too short, and the arguments that hold everywhere.
func TestInspectPolicies(t *testing.T) {
	s := walls("ads", "web", "eng", "web").Annotate("biz", policy.MinRuntimeKey, "reclaim=1h")
	f, i := inspected(t, s.Cluster, func(a framework.Arguments) framework.Plugin {
		return session.New(framework.Arguments{arguments.VictimOrder: "leastWork", arguments.ReclaimByClass: "true"})
	})
	for queues, fence := range map[[2]string]string{
		{"ads", "sales"}: "", {"ads", "db"}: "eng", {"db", "ads"}: "eng", {"db", "web"}: "web", {"web", "db"}: "web", {"web", "ads"}: "web", {"ads", "none"}: "", {"none", "db"}: "eng",
	} {
		assert.Equal(t, fence, i.Fence(queues[0], queues[1]), queues)
	}
	young := i.Protection(f.Task("held-0"))
	assert.Contains(t, young.Spared, policy.MinRuntimeKey)
	assert.Equal(t, map[string]string{arguments.VictimOrder: "leastWork", arguments.ReclaimByClass: "true"}, i.Policies())

	_, none := inspected(t, walls("ads", "web").Cluster, session.New)
	assert.Empty(t, none.Fence("ads", "web"))
	assert.Empty(t, none.Policies())
}

// TestInspectRefusesOtherPlugins refuses plugins of other packages and those without
// an open session.
func TestInspectRefusesOtherPlugins(t *testing.T) {
	_, ok := session.Inspect(gang.New(nil))
	assert.False(t, ok)
	_, ok = session.Inspect(session.New(nil))
	assert.False(t, ok)
	_, ok = session.Inspect(nil)
	assert.False(t, ok)
}
