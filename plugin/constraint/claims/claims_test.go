package claims_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// claimScene returns a scene with a node of the device plugin and one of a DRA driver, with the same model.
func claimScene(quota string) (*testbed.Scene, *testbed.ClaimModel) {
	s := testbed.NewScene().Node("plugin", "A", 4).MixedNode("dra", nil, workload.Resources{}).Queue("q", "", "quota", quota)
	m := testbed.NewClaimModel()
	m.Devices["dra"] = []string{"A", "A", "A", "B", "A/mig-1g.10gb-mixed"}
	return s, m
}

// TestClaimsAndPluginShareAnAccount has a quota of a model for pods of the device plugin and pods with claims together.
func TestClaimsAndPluginShareAnAccount(t *testing.T) {
	for quota, want := range map[string]int{`{"A":2}`: 2, `{"A":3}`: 3, `{"A":9}`: 5, `{"B":9}`: 0} {
		s, m := claimScene(quota)
		s.Pods("plugin", "q", "A", 2, 1).Pods("claims", "q", "", 3, 0)
		for i := range 3 {
			m.With(fmt.Sprint("claims-", i), map[string][]testbed.ModelRequest{fmt.Sprint("own", i): {testbed.ExactlyOf(1, "A")}})
		}
		f := s.OpenWith(t, m).Schedule(t)
		assert.Len(t, f.Cache.Bound, want, quota)
		if want < 5 {
			says := ""
			for _, job := range f.Jobs {
				says += job.JobFitErrors
			}
			assert.Contains(t, says, "Queue <q> has insufficient <A> quota: requested <1>")
		}
	}
}

// TestClaimOfSeveralCards charges each card that a claim may get, until it is allocated.
func TestClaimOfSeveralCards(t *testing.T) {
	s, m := claimScene(`{"A":8,"B":1}`)
	s.Pods("any", "q", "", 3, 0)
	for i := range 3 {
		m.With(fmt.Sprint("any-", i), map[string][]testbed.ModelRequest{fmt.Sprint("own", i): {testbed.ExactlyOf(1, "A", "B")}})
	}
	f := s.OpenWith(t, m).Schedule(t)
	assert.Len(t, f.Cache.Bound, 1, "the second may get B as well")
	var placed string
	for pod := range f.Cache.Bound {
		placed = pod
	}
	f.Close()
	for i := range s.Jobs[0].Tasks {
		if task := &s.Jobs[0].Tasks[i]; task.Name == placed {
			task.Status, task.Node = workload.TaskRunning, "dra"
		}
	}
	m.Claims["own"+strings.TrimPrefix(placed, "any-")].Allocate(m, "dra", []int{0})
	f = s.OpenWith(t, m)
	assert.Equal(t, map[string]float64{"A": 1}, session.InspectionOf(f.Own).Charged(f.Task(placed)))
	assert.Len(t, f.Schedule(t).Cache.Bound, 1)
}

// TestSharedClaimsOfCards charges each queue once for a claim that several pods name, and each ancestor once.
func TestSharedClaimsOfCards(t *testing.T) {
	s := testbed.NewScene().MixedNode("dra", nil, workload.Resources{}).Queue("root", "").
		Queue("team", "root", "quota", `{"A":2}`).Queue("x", "team", "quota", `{"A":2}`).Queue("y", "team", "quota", `{"A":2}`)
	m := testbed.NewClaimModel()
	m.Devices["dra"] = []string{"A", "A", "A", "A"}
	s.Pods("one", "x", "", 3, 0).Pods("two", "y", "", 3, 0).Pods("own", "y", "", 1, 0)
	for i := range 3 {
		m.With(fmt.Sprint("one-", i), map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
		m.With(fmt.Sprint("two-", i), map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	}
	m.With("own-0", map[string][]testbed.ModelRequest{"own": {testbed.ExactlyOf(1, "A")}})
	f := s.OpenWith(t, m).Schedule(t)
	assert.Len(t, f.Cache.Bound, 6)
	has := func(queue string) float64 {
		return f.Own.Index.Allocated(f.Own.Index.Lookup(queue)).Get(f.Dim(t, "A")) / 1000
	}
	for _, queue := range []string{"x", "y", "team", "root"} {
		assert.Equal(t, 2.0, has(queue), queue)
	}
	assert.Contains(t, f.Job("own").JobFitErrors, "insufficient <A> quota: requested <1>, total would be <3>, but capability is <2>")
	f.Close()

	// In the next session they run, and the claim is allocated. The pods of x end one by one.
	for i := range s.Jobs[:2] {
		testbed.On("dra")(&s.Jobs[i])
	}
	m.Claims["shared"].Allocate(m, "dra", []int{1, 3})
	f = s.OpenWith(t, m)
	statement := framework.NewStatement(f.Session)
	for i := range 3 {
		assert.Equal(t, 2.0, has("x"))
		require.NoError(t, release.Evict(statement, f.Task(fmt.Sprint("one-", i)), "test"))
		f.CheckCards(t)
	}
	assert.Equal(t, []float64{0, 2, 2}, []float64{has("x"), has("y"), has("team")})
	statement.Discard()
	f.CheckCards(t)
	assert.Equal(t, []float64{2, 2, 2}, []float64{has("x"), has("y"), has("team")})
}

// TestTerminatingPodsShareClaims has a claim that only a pod which is being deleted holds: it counts until the pod is
// gone.
func TestTerminatingPodsShareClaims(t *testing.T) {
	s, m := claimScene(`{"A":1}`)
	s.Pods("old", "q", "", 1, 0, testbed.On("dra")).Pods("new", "q", "", 1, 0)
	s.Jobs[0].Tasks[0].Status = workload.TaskReleasing
	m.With("old-0", map[string][]testbed.ModelRequest{"shared-old": {testbed.ExactlyOf(1, "A")}})
	m.With("new-0", map[string][]testbed.ModelRequest{"own": {testbed.ExactlyOf(1, "A")}})
	m.Claims["shared-old"].Allocate(m, "dra", []int{0})
	f := s.OpenWith(t, m)
	q, d := f.Own.Index.Lookup("q"), f.Dim(t, "A")
	assert.Equal(t, 1000.0, f.Own.Books.Now.Queues.Allocated(q).Get(d))
	assert.Equal(t, 0.0, f.Own.Books.Future.Queues.Allocated(q).Get(d))
	assert.Empty(t, f.Schedule(t).Cache.Bound)
	f.Close()
	s.Jobs = s.Jobs[1:]
	assert.Len(t, s.OpenWith(t, m).Schedule(t).Cache.Bound, 1)
}

// TestCardClaimsInSimulations removes pods with claims in a simulation, and adds one.
func TestCardClaimsInSimulations(t *testing.T) {
	s, m := claimScene(`{"A":2}`)
	s.Pods("run", "q", "", 2, 0, testbed.On("dra")).Pods("new", "q", "", 1, 0)
	m.With("run-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(1, "A")}})
	m.With("run-1", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(1, "A")}, "own1": {testbed.ExactlyOf(1, "A")}})
	m.With("new-0", map[string][]testbed.ModelRequest{"own": {testbed.ExactlyOf(2, "A")}})
	f := s.OpenWith(t, m)
	node, task := f.Nodes["dra"], f.Task("new-0")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), state, task, f.Task("run-1"), node))
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node), "run-0 shares the claim")
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), state, task, f.Task("run-0"), node))
	require.NoError(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), state, task, f.Task("run-0"), node))
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	f.CheckCards(t)
}

// TestClaimsInNamespaces limits the cards that a namespace gets through claims.
func TestClaimsInNamespaces(t *testing.T) {
	s, m := claimScene(`{"A":9}`)
	s.Queues[0].Annotations[card.HolderKey] = `{"namespace":{"*":{"A":2}}}`
	s.Pods("run", "q", "", 4, 0).Pods("share", "q", "", 2, 0)
	for i := range 4 {
		m.With(fmt.Sprint("run-", i), map[string][]testbed.ModelRequest{fmt.Sprint("own", i): {testbed.ExactlyOf(1, "A")}})
	}
	for i := range 2 {
		m.With(fmt.Sprint("share-", i), map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	}
	f := s.OpenWith(t, m).Schedule(t)
	assert.Len(t, f.Cache.Bound, 2)
	says := f.Job("run").JobFitErrors + f.Job("share").JobFitErrors
	assert.Contains(t, says, "quota for namespace <"+f.Job("run").Namespace+">")
}

// TestReclaimForSeveralClaims asks whether a queue that deserves one card may take back two for a pod.
func TestReclaimForSeveralClaims(t *testing.T) {
	s, m := claimScene(`{"A":4}`)
	s.Queues[0].Annotations["volcano.sh/card.deserved"], s.Queues[0].Annotations["volcano.sh/card.guarantee"] = `{"A":1}`, `{"A":0}`
	s.Pods("take", "q", "", 3, 0, testbed.InPhase(workload.Inqueue))
	m.With("take-0", map[string][]testbed.ModelRequest{"one": {testbed.ExactlyOf(1, "A")}})
	m.With("take-1", map[string][]testbed.ModelRequest{"both": {testbed.ExactlyOf(1, "A"), testbed.ExactlyOf(1, "A")}})
	m.With("take-2", map[string][]testbed.ModelRequest{"first": {testbed.ExactlyOf(1, "A")}, "second": {testbed.ExactlyOf(1, "A")}})
	f := s.OpenWith(t, m)
	for name, may := range map[string]bool{"take-0": true, "take-1": false, "take-2": false} {
		assert.Equal(t, may, f.Own.Preemptive(f.Queues["q"], []*api.TaskInfo{f.Task(name)}), name)
	}
	assert.False(t, f.Own.Preemptive(f.Queues["q"], []*api.TaskInfo{f.Task("take-0"), f.Task("take-1")}), "all together")
}

// TestReclaimOfClaims takes cards of claims back that another queue borrowed, and none of pods that share a claim.
func TestReclaimOfClaims(t *testing.T) {
	s := testbed.NewScene().MixedNode("dra", nil, workload.Resources{}).Queue("root", "").
		Queue("lender", "root", "quota", `{"A":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
		Queue("borrower", "root", "quota", `{"A":4}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`)
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	m := testbed.NewClaimModel()
	m.Devices["dra"] = []string{"A", "A", "A", "A", "A", "A"}
	s.Pods("borrow", "borrower", "", 2, 0, testbed.On("dra"), testbed.Members(0)).Pods("share", "borrower", "", 2, 0, testbed.On("dra"), testbed.Members(0)).
		Pods("take", "lender", "", 1, 0, testbed.InPhase(workload.Inqueue))
	m.With("take-0", map[string][]testbed.ModelRequest{"take": {testbed.ExactlyOf(1, "A")}})
	for i := range 2 {
		m.With(fmt.Sprint("borrow-", i), map[string][]testbed.ModelRequest{fmt.Sprint("own", i): {testbed.ExactlyOf(1, "A")}})
		m.With(fmt.Sprint("share-", i), map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	}
	f := s.OpenWith(t, m).Run(t, allocate.New(), session.NewReclaim())
	require.Len(t, f.Cache.Evicted, 1)
	assert.Contains(t, f.Cache.Evicted[0], "borrow-")
}

// TestPlansSeeDevices reclaims devices of claims where quotas have room: devices are no resource of a node, and a plan
// evicts for those that are taken, but not where some are idle.
func TestPlansSeeDevices(t *testing.T) {
	for _, of := range []struct {
		name    string
		devices []string
		pods    int
		request testbed.ModelRequest
		evicted int
	}{
		{"all devices are taken", []string{"A", "A"}, 1, testbed.ExactlyOf(1, "A"), 1},
		{"a gang needs two", []string{"A", "A"}, 2, testbed.ExactlyOf(1, "A"), 2},
		{"a gang needs two, and one is idle", []string{"A", "A", "A"}, 2, testbed.ExactlyOf(1, "A"), 1},
		{"one is idle", []string{"A", "A", "A"}, 1, testbed.ExactlyOf(1, "A"), 0},
		{"another card of the list is idle", []string{"A", "A", "B"}, 1, testbed.ExactlyOf(1, "A", "B"), 0},
		{"no card of the list is idle", []string{"A", "A"}, 1, testbed.ExactlyOf(1, "A", "B"), 1},
	} {
		t.Run(of.name, func(t *testing.T) {
			s := testbed.NewScene().MixedNode("dra", nil, workload.Resources{}).
				Queue("lender", "", "quota", `{"A":9,"B":9}`, "deserved", `{"A":9,"B":9}`, "guarantee", `{"A":0,"B":0}`).
				Queue("borrower", "", "quota", `{"A":9,"B":9}`, "deserved", `{"A":0,"B":0}`, "guarantee", `{"A":0,"B":0}`)
			m := testbed.NewClaimModel()
			m.Devices["dra"] = of.devices
			s.Pods("borrow", "borrower", "", 2, 0, testbed.On("dra"), testbed.Members(0)).Pods("take", "lender", "", of.pods, 0, testbed.Members(int32(of.pods)), testbed.InPhase(workload.Inqueue))
			for i := range 2 {
				m.With(fmt.Sprint("borrow-", i), map[string][]testbed.ModelRequest{fmt.Sprint("own", i): {testbed.ExactlyOf(1, "A")}})
			}
			for i := range of.pods {
				m.With(fmt.Sprint("take-", i), map[string][]testbed.ModelRequest{fmt.Sprint("take", i): {of.request}})
			}
			f := s.OpenWith(t, m).Run(t, session.NewReclaim())
			assert.Len(t, f.Cache.Evicted, of.evicted)
		})
	}
}
