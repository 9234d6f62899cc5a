package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestReclaimCards reclaims cards for the queue "mine", which has one pending pod in a
// full cluster.
func TestReclaimCards(t *testing.T) {
	tests := []struct {
		name string
		make func(*testbed.Scene)
		want int // number of victims
		of   string
	}{
		{"lent cards are reclaimed", func(s *testbed.Scene) {
			s.Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				Pods("run", "other", "A", 4, 1, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 1, "run"},
		{"a queue at its deserved keeps its cards", func(s *testbed.Scene) {
			s.Node("a", "A", 2).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				Pods("run", "other", "A", 2, 1, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 0, ""},
		{"deserved defaults to the quota", func(s *testbed.Scene) {
			s.Node("a", "A", 2).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Queue("other", "", "quota", `{"A":2}`).
				Pods("run", "other", "A", 2, 1, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 0, ""},
		{"guaranteed cards are not reclaimed", func(s *testbed.Scene) {
			s.Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":4}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":1}`, `{"A":3}`).
				Pods("run", "other", "A", 2, 2, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 0, ""},
		{"cards above the guarantee are reclaimed", func(s *testbed.Scene) {
			s.Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":4}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":1}`, `{"A":2}`).
				Pods("run", "other", "A", 2, 2, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 1, "run"},
		{"a victim with another card is not evicted", func(s *testbed.Scene) {
			s.Node("a", "A", 2).Node("b", "B", 4).
				Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"B":4}`, `{"B":1}`, `{"B":0}`).
				Pods("run", "other", "B", 4, 1, testbed.On("b")).Pods("full", "other", "", 2, 1, testbed.On("a")).
				Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 1, "full"},
		{"a victim with a card that the reclaimer has no quota of", func(s *testbed.Scene) {
			s.Node("a", "A", 4).Lending("mine", `{"B":4}`, `{"B":2}`, `{"B":0}`).Lending("other", `{"A":4}`, `{"A":1}`, `{"A":0}`).
				Pods("run", "other", "A", 4, 1, testbed.On("a")).Pods("wait", "mine", "A|B", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 0, ""},
		{"a victim with the second card of the list", func(s *testbed.Scene) {
			s.Node("b", "B", 4).Lending("mine", `{"A":4,"B":4}`, `{"A":2,"B":2}`, `{"A":0,"B":0}`).Lending("other", `{"B":4}`, `{"B":1}`, `{"B":0}`).
				Pods("run", "other", "B", 4, 1, testbed.On("b")).Pods("wait", "mine", "A|B", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 1, "run"},
		{"a queue at its deserved reclaims nothing", func(s *testbed.Scene) {
			s.Node("a", "A", 6).Lending("mine", `{"A":4}`, `{"A":1}`, `{"A":0}`).Lending("other", `{"A":6}`, `{"A":1}`, `{"A":0}`).
				Pods("have", "mine", "A", 1, 1, testbed.On("a")).Pods("run", "other", "A", 5, 1, testbed.On("a")).
				Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 0, ""},
		{"a victim without cards is not evicted", func(s *testbed.Scene) {
			s.Node("a", "A", 1).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":0}`, `{"A":0}`).
				Pods("plain", "other", "", 5, 0, testbed.On("a")).Pods("run", "other", "A", 1, 1, testbed.On("a"), testbed.Members(0)).
				Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		}, 1, "run"},
		{"untyped pods are reclaimers and victims", func(s *testbed.Scene) {
			s.Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				Pods("run", "other", "", 4, 1, testbed.On("a")).Pods("wait", "mine", "", 1, 2, testbed.InPhase(workload.Inqueue))
		}, 2, "run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := testbed.NewScene()
			test.make(s)
			f := s.Open(t).Run(t, session.NewReclaim())
			require.Len(t, f.Evicted(), test.want)
			for _, pod := range f.Evicted() {
				assert.Contains(t, pod, test.of)
			}
		})
	}
}

// TestReclaimOfExemptPods reclaims where cards are the only dimension that victims and
// reclaimer share.
func TestReclaimOfExemptPods(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
		Pods("run", "other", "A", 4, 1, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) {
		j.Tasks[0].Request = workload.Resources{testbed.GPU: 1}
	})
	for _, free := range []bool{true, false} {
		s.Arguments = framework.Arguments{"cardUnlimitedCpuMemory": free}
		assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), 1, "free: %t", free)
	}
}

// TestVictimsFreeAUsableCard calls Reclaimable without a predicate before it.
func TestVictimsFreeAUsableCard(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 3).Node("b", "B", 3).
		Lending("mine", `{"A":1,"B":4}`, `{"A":1,"B":2}`, `{"A":0,"B":0}`).
		Lending("other", `{"A":9,"B":9}`, `{"A":1,"B":1}`, `{"A":0,"B":0}`).
		Lending("even", `{"A":9,"B":9}`, `{"A":1,"B":1}`, `{"A":0,"B":0}`).
		Pods("have", "mine", "A", 1, 1, testbed.On("a"), testbed.Members(0)).
		Pods("low", "other", "A", 2, 1, testbed.On("a"), testbed.Members(0)).Pods("high", "other", "B", 2, 1, testbed.On("b"), testbed.Members(0)).
		Pods("even", "even", "B", 1, 1, testbed.On("b"), testbed.Members(0)).
		Pods("either", "mine", "A|B", 1, 1).Pods("just", "mine", "B", 1, 1)
	s.Queues[2].Deserved = workload.Resources{"cpu": 1} // it has more cpu than it deserves, and as many cards
	f := s.Open(t)
	victims := func(task string, of ...string) (names []string) {
		var candidates []*api.TaskInfo
		for _, job := range of {
			for _, task := range f.Job(job).Tasks {
				candidates = append(candidates, task)
			}
		}
		for _, victim := range f.Reclaimable(f.Task(task), candidates) {
			names = append(names, victim.Name[:len(victim.Name)-2])
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	assert.Equal(t, []string{"high"}, victims("just-0", "low", "high", "even"))
	assert.Equal(t, []string{"high"}, victims("either-0", "low", "high", "even"), "mine uses its quota of A")
}

// TestReclaimUnderAnInnerQuota evicts where a common ancestor is at its quota, and not
// where an ancestor of the reclaimer alone is.
func TestReclaimUnderAnInnerQuota(t *testing.T) {
	build := func(quota string, onNode int64) *testbed.Fixture {
		s := testbed.NewScene().Node("a", "A", onNode).Queue("root", "").Queue("common", "root", "quota", `{"A":4}`).
			Queue("side", "common", "quota", quota).
			Queue("mine", "side", "quota", `{"A":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			Queue("twin", "side", "quota", `{"A":4}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
			Queue("other", "common", "quota", `{"A":4}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`)
		s.Queues[2].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
		s.Queues[1].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
		s.Pods("twin", "twin", "A", 1, 1, testbed.On("a")).Pods("run", "other", "A", 3, 1, testbed.On("a")).
			Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		return s.Open(t).Run(t, session.NewReclaim())
	}
	assert.Len(t, build(`{"A":4}`, 4).Evicted(), 1, "the common ancestor uses four of four")
	assert.Empty(t, build(`{"A":1}`, 4).Evicted(), "the ancestor of the reclaimer uses one of one")
	assert.Len(t, build(`{"A":4}`, 8).Evicted(), 1, "the node has room: from v1.15 on, the plugin evicts what the quotas lack")
}

// TestPreemptCards preempts cards of another job in the same queue.
func TestPreemptCards(t *testing.T) {
	high := func(j *workload.Job) { j.Phase = workload.Inqueue }
	tests := []struct {
		name string
		make func(*testbed.Scene)
		want map[string]string // the pod that is evicted, by the node that the preemptor gets
	}{
		{"the quota is used up", func(s *testbed.Scene) {
			s.Node("a", "A", 8).Queue("q", "", "quota", `{"A":2}`).
				Pods("low", "q", "A", 2, 1, testbed.On("a"), testbed.Members(0)).Pods("high", "q", "A", 1, 1, high)
		}, map[string]string{"a": "low"}},
		{"pods without cards are not evicted", func(s *testbed.Scene) {
			s.Node("a", "A", 8).Queue("q", "", "quota", `{"A":1}`).
				Pods("plain", "q", "", 5, 0, testbed.On("a"), testbed.Members(0)).Pods("low", "q", "A", 1, 1, testbed.On("a"), testbed.Members(0)).
				Pods("high", "q", "A", 1, 1, high)
		}, map[string]string{"a": "low"}},
		{"quota is left for the second card of the list, and its node is full", func(s *testbed.Scene) {
			s.Node("a", "A", 8).Node("b", "B", 1).Queue("q", "", "quota", `{"A":1,"B":2}`).
				Pods("first", "q", "A", 1, 1, testbed.On("a"), testbed.Members(0)).Pods("low", "q", "B", 1, 1, testbed.On("b"), testbed.Members(0)).
				Pods("high", "q", "A|B", 1, 1, high)
		}, map[string]string{"a": "first", "b": "low"}},
		{"no node has the card", func(s *testbed.Scene) {
			s.Node("a", "A", 8).Node("b", "B", 1).Queue("q", "", "quota", `{"A":1,"B":2}`).
				Pods("first", "q", "A", 1, 1, testbed.On("a"), testbed.Members(0)).Pods("high", "q", "C", 1, 1, high)
		}, nil},
	}
	for _, test := range tests {
		for _, topology := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				s := testbed.NewScene()
				test.make(s)
				f := s.Open(t)
				f.Job("high").Priority = 100
				for _, task := range f.Job("high").Tasks {
					task.Priority = 100
				}
				f.Configurations = append(f.Configurations, preemption(topology))
				f.Run(t, session.NewPreempt())
				if test.want == nil {
					assert.Empty(t, f.Evicted())
					return
				}
				require.Len(t, f.Evicted(), 1)
				require.Equal(t, api.Pipelined, f.Task("high-0").Status)
				pod, ok := test.want[f.Task("high-0").NodeName]
				require.True(t, ok, f.Task("high-0").NodeName)
				assert.Contains(t, f.Evicted()[0], pod)
			})
		}
	}
}

// TestPreemptionInALaterTier has a first tier in which no task is a victim. The quota
// plugin in the second tier adds none.
func TestPreemptionInALaterTier(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":1}`).
		Pods("important", "q", "A", 1, 1, testbed.On("a"), testbed.Members(0)).Pods("late", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue))
	f := s.Open(t)
	f.Job("important").Priority = 100
	all := f.Tiers[0].Plugins
	f.Tiers = []conf.Tier{{Plugins: all[:2]}, {Plugins: all[2:]}}
	assert.Empty(t, f.Preemptable(f.Task("late-0"), []*api.TaskInfo{f.Task("important-0")}))
	f.Job("late").Priority = 200
	assert.Len(t, f.Preemptable(f.Task("late-0"), []*api.TaskInfo{f.Task("important-0")}), 1)
}

// TestAllocationBeyondQuotaFails places tasks without a check, as actions that evict
// do. What exceeds a quota fails, is not charged, and can be undone.
func TestAllocationBeyondQuotaFails(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":1}`).Pods("job", "q", "A|B", 4, 1, testbed.Members(4))
	f := s.Open(t)
	place := func(task, node string) error {
		return release.Pipeline(framework.NewStatement(f.Session), f.Task(task), node, false)
	}
	assert.NoError(t, place("job-0", "a"))
	assert.Error(t, place("job-1", "a"))
	f.CheckCards(t)
	assert.NoError(t, place("job-1", "b"))
	statement := framework.NewStatement(f.Session)
	assert.Error(t, release.Allocate(statement, f.Task("job-2"), f.Nodes["b"]))
	f.CheckCards(t)
	assert.Equal(t, 1.0, f.CardsOf("q", "A"))
	assert.Equal(t, 1.0, f.CardsOf("q", "B"))
}

// TestDiscardedEvictionsAreCharged discards evictions in a queue that uses more than
// its quota. The tasks are charged again.
func TestDiscardedEvictionsAreCharged(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":1}`).Pods("job", "q", "A", 3, 1, testbed.On("a"))
	f := s.Open(t)
	assert.Equal(t, 3.0, f.CardsOf("q", "A"))
	statement := framework.NewStatement(f.Session)
	for _, name := range []string{"job-0", "job-2"} {
		require.NoError(t, release.Evict(statement, f.Task(name), "test"))
	}
	assert.Equal(t, 1.0, f.CardsOf("q", "A"))
	statement.Discard()
	assert.Equal(t, 3.0, f.CardsOf("q", "A"))
}

// preemption configures the action preempt.
func preemption(topologyAware bool) conf.Configuration {
	return conf.Configuration{Name: "preempt", Arguments: map[string]any{preempt.EnableTopologyAwarePreemptionKey: topologyAware}}
}

// TestSimulationAsksTheQueue simulates for a task of a queue that is not open. Where cards count, the simulation
// refuses a task that allocatable refuses.
func TestSimulationAsksTheQueue(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":2}`).Pods("next", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue))
	s.Queues[len(s.Queues)-1].Closed = true
	f := s.Open(t)
	task := f.Task("next-0")
	require.NoError(t, f.PrePredicateFn(task))
	assert.False(t, f.Allocatable(f.Queue("q"), task))
	assert.Error(t, f.PredicateFn(task, f.Nodes["a"]))
	assert.False(t, f.SimulateAllocatableFn(t.Context(), f.GetCycleState(task.UID).Clone(), f.Queue("q"), task))
	assert.Equal(t, "Queue <q> is not open", session.InspectionOf(f.Own).Allocate(task).String())
	assert.Equal(t, "Queue <q> is not open", session.InspectionOf(f.Own).Node(task, "a").String())
}

// TestCopiesAreChargedOnce allocates a task on another node after a copy of it was pipelined, as allocate does after
// a gang action.
func TestCopiesAreChargedOnce(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":1,"B":1}`).
		Pods("next", "q", "A|B", 1, 1, testbed.InPhase(workload.Inqueue), testbed.Members(2)).Open(t)
	task := f.Task("next-0")
	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Pipeline(statement, task.Clone(), "a", false))
	assert.Equal(t, []float64{1, 0}, []float64{f.CardsOf("q", "A"), f.CardsOf("q", "B")})
	other := framework.NewStatement(f.Session)
	require.NoError(t, release.Allocate(other, task, f.Nodes["b"]))
	assert.Equal(t, []float64{0, 1}, []float64{f.CardsOf("q", "A"), f.CardsOf("q", "B")})
	other.Discard()
	assert.Equal(t, []float64{0, 0}, []float64{f.CardsOf("q", "A"), f.CardsOf("q", "B")})
}

// TestSimulateWithCards adds and removes tasks with cards in a simulation.
func TestSimulateWithCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("q", "", "quota", `{"A":2,"B":1}`).
		Pods("run", "q", "A|B", 2, 1, testbed.On("a")).Pods("next", "q", "A|B", 2, 1)
	f := s.Open(t)
	task, more := f.Task("next-0"), f.Task("next-1")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	clone := state.Clone()
	fits := func(node string) bool { return f.SimulatePredicateFn(t.Context(), clone, task, f.Nodes[node]) == nil }
	assert.False(t, fits("a"))
	assert.True(t, fits("b"))
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, more, f.Nodes["b"]))
	assert.False(t, fits("b"))
	assert.False(t, f.SimulateAllocatableFn(t.Context(), clone, f.Queue("q"), task))
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), clone, task, f.Task("run-0"), f.Nodes["a"]))
	assert.True(t, fits("a"))
	assert.True(t, f.SimulateAllocatableFn(t.Context(), clone, f.Queue("q"), task))
	clone = state.Clone()
	assert.False(t, fits("a"), "the change of one clone shows in another")
	assert.True(t, fits("b"))
}
