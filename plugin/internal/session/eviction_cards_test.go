package session

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
	"github.com/capacity-card/capacity-card/plugin/release"
)

// evicted returns the names of the evicted pods, sorted.
func (f *fixture) evicted() []string {
	slices.Sort(f.cache.Evicted)
	return f.cache.Evicted
}

// lending adds a queue with a quota, deserved and guarantee of cards.
func (s *scene) lending(name, quota, deserved, guarantee string) *scene {
	return s.queue(name, "", "quota", quota, "deserved", deserved, "guarantee", guarantee)
}

// TestReclaimCards reclaims cards for the queue "mine", which has one pending pod in a
// full cluster.
func TestReclaimCards(t *testing.T) {
	tests := []struct {
		name string
		make func(*scene)
		want int // number of victims
		of   string
	}{
		{"lent cards are reclaimed", func(s *scene) {
			s.node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				pods("run", "other", "A", 4, 1, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 1, "run"},
		{"a queue at its deserved keeps its cards", func(s *scene) {
			s.node("a", "A", 2).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				pods("run", "other", "A", 2, 1, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 0, ""},
		{"deserved defaults to the quota", func(s *scene) {
			s.node("a", "A", 2).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).queue("other", "", "quota", `{"A":2}`).
				pods("run", "other", "A", 2, 1, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 0, ""},
		{"guaranteed cards are not reclaimed", func(s *scene) {
			s.node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":4}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":1}`, `{"A":3}`).
				pods("run", "other", "A", 2, 2, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 0, ""},
		{"cards above the guarantee are reclaimed", func(s *scene) {
			s.node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":4}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":1}`, `{"A":2}`).
				pods("run", "other", "A", 2, 2, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 1, "run"},
		{"a victim with another card is not evicted", func(s *scene) {
			s.node("a", "A", 2).node("b", "B", 4).
				lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"B":4}`, `{"B":1}`, `{"B":0}`).
				pods("run", "other", "B", 4, 1, on("b")).pods("full", "other", "", 2, 1, on("a")).
				pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 1, "full"},
		{"a victim with a card that the reclaimer has no quota of", func(s *scene) {
			s.node("a", "A", 4).lending("mine", `{"B":4}`, `{"B":2}`, `{"B":0}`).lending("other", `{"A":4}`, `{"A":1}`, `{"A":0}`).
				pods("run", "other", "A", 4, 1, on("a")).pods("wait", "mine", "A|B", 1, 1, inPhase(workload.Inqueue))
		}, 0, ""},
		{"a victim with the second card of the list", func(s *scene) {
			s.node("b", "B", 4).lending("mine", `{"A":4,"B":4}`, `{"A":2,"B":2}`, `{"A":0,"B":0}`).lending("other", `{"B":4}`, `{"B":1}`, `{"B":0}`).
				pods("run", "other", "B", 4, 1, on("b")).pods("wait", "mine", "A|B", 1, 1, inPhase(workload.Inqueue))
		}, 1, "run"},
		{"a queue at its deserved reclaims nothing", func(s *scene) {
			s.node("a", "A", 6).lending("mine", `{"A":4}`, `{"A":1}`, `{"A":0}`).lending("other", `{"A":6}`, `{"A":1}`, `{"A":0}`).
				pods("have", "mine", "A", 1, 1, on("a")).pods("run", "other", "A", 5, 1, on("a")).
				pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 0, ""},
		{"a victim without cards is not evicted", func(s *scene) {
			s.node("a", "A", 1).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":0}`, `{"A":0}`).
				pods("plain", "other", "", 5, 0, on("a")).pods("run", "other", "A", 1, 1, on("a"), members(0)).
				pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		}, 1, "run"},
		{"untyped pods are reclaimers and victims", func(s *scene) {
			s.node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
				pods("run", "other", "", 4, 1, on("a")).pods("wait", "mine", "", 1, 2, inPhase(workload.Inqueue))
		}, 2, "run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			test.make(s)
			f := s.open(t).run(t, NewReclaim())
			require.Len(t, f.evicted(), test.want)
			for _, pod := range f.evicted() {
				assert.Contains(t, pod, test.of)
			}
		})
	}
}

// TestReclaimOfExemptPods reclaims where cards are the only dimension that victims and
// reclaimer share.
func TestReclaimOfExemptPods(t *testing.T) {
	s := newScene().node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
		pods("run", "other", "A", 4, 1, on("a")).pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue), func(j *workload.Job) {
		j.Tasks[0].Request = workload.Resources{gpuName: 1}
	})
	for _, free := range []bool{true, false} {
		s.arguments = framework.Arguments{"cardUnlimitedCpuMemory": free}
		assert.Len(t, s.open(t).run(t, NewReclaim()).evicted(), 1, "free: %t", free)
	}
}

// TestVictimsFreeAUsableCard calls Reclaimable without a predicate before it.
func TestVictimsFreeAUsableCard(t *testing.T) {
	s := newScene().node("a", "A", 3).node("b", "B", 3).
		lending("mine", `{"A":1,"B":4}`, `{"A":1,"B":2}`, `{"A":0,"B":0}`).
		lending("other", `{"A":9,"B":9}`, `{"A":1,"B":1}`, `{"A":0,"B":0}`).
		lending("even", `{"A":9,"B":9}`, `{"A":1,"B":1}`, `{"A":0,"B":0}`).
		pods("have", "mine", "A", 1, 1, on("a"), members(0)).
		pods("low", "other", "A", 2, 1, on("a"), members(0)).pods("high", "other", "B", 2, 1, on("b"), members(0)).
		pods("even", "even", "B", 1, 1, on("b"), members(0)).
		pods("either", "mine", "A|B", 1, 1).pods("just", "mine", "B", 1, 1)
	s.Queues[2].Deserved = workload.Resources{"cpu": 1} // it has more cpu than it deserves, and as many cards
	f := s.open(t)
	victims := func(task string, of ...string) (names []string) {
		var candidates []*api.TaskInfo
		for _, job := range of {
			for _, task := range f.job(job).Tasks {
				candidates = append(candidates, task)
			}
		}
		for _, victim := range f.Reclaimable(f.task(task), candidates) {
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
	build := func(quota string, onNode int64) *fixture {
		s := newScene().node("a", "A", onNode).queue("root", "").queue("common", "root", "quota", `{"A":4}`).
			queue("side", "common", "quota", quota).
			queue("mine", "side", "quota", `{"A":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
			queue("twin", "side", "quota", `{"A":4}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
			queue("other", "common", "quota", `{"A":4}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`)
		s.Queues[2].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
		s.Queues[1].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
		s.pods("twin", "twin", "A", 1, 1, on("a")).pods("run", "other", "A", 3, 1, on("a")).
			pods("wait", "mine", "A", 1, 1, inPhase(workload.Inqueue))
		return s.open(t).run(t, NewReclaim())
	}
	assert.Len(t, build(`{"A":4}`, 4).evicted(), 1, "the common ancestor uses four of four")
	assert.Empty(t, build(`{"A":1}`, 4).evicted(), "the ancestor of the reclaimer uses one of one")
	assert.Len(t, build(`{"A":4}`, 8).evicted(), 1, "the node has room: from v1.15 on, the plugin evicts what the quotas lack")
}

// TestPreemptCards preempts cards of another job in the same queue.
func TestPreemptCards(t *testing.T) {
	high := func(j *workload.Job) { j.Phase = workload.Inqueue }
	tests := []struct {
		name string
		make func(*scene)
		want map[string]string // the pod that is evicted, by the node that the preemptor gets
	}{
		{"the quota is used up", func(s *scene) {
			s.node("a", "A", 8).queue("q", "", "quota", `{"A":2}`).
				pods("low", "q", "A", 2, 1, on("a"), members(0)).pods("high", "q", "A", 1, 1, high)
		}, map[string]string{"a": "low"}},
		{"pods without cards are not evicted", func(s *scene) {
			s.node("a", "A", 8).queue("q", "", "quota", `{"A":1}`).
				pods("plain", "q", "", 5, 0, on("a"), members(0)).pods("low", "q", "A", 1, 1, on("a"), members(0)).
				pods("high", "q", "A", 1, 1, high)
		}, map[string]string{"a": "low"}},
		{"quota is left for the second card of the list, and its node is full", func(s *scene) {
			s.node("a", "A", 8).node("b", "B", 1).queue("q", "", "quota", `{"A":1,"B":2}`).
				pods("first", "q", "A", 1, 1, on("a"), members(0)).pods("low", "q", "B", 1, 1, on("b"), members(0)).
				pods("high", "q", "A|B", 1, 1, high)
		}, map[string]string{"a": "first", "b": "low"}},
		{"no node has the card", func(s *scene) {
			s.node("a", "A", 8).node("b", "B", 1).queue("q", "", "quota", `{"A":1,"B":2}`).
				pods("first", "q", "A", 1, 1, on("a"), members(0)).pods("high", "q", "C", 1, 1, high)
		}, nil},
	}
	for _, test := range tests {
		for _, topology := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				s := newScene()
				test.make(s)
				f := s.open(t)
				f.job("high").Priority = 100
				for _, task := range f.job("high").Tasks {
					task.Priority = 100
				}
				f.Configurations = append(f.Configurations, preemption(topology))
				f.run(t, NewPreempt())
				if test.want == nil {
					assert.Empty(t, f.evicted())
					return
				}
				require.Len(t, f.evicted(), 1)
				require.Equal(t, api.Pipelined, f.task("high-0").Status)
				pod, ok := test.want[f.task("high-0").NodeName]
				require.True(t, ok, f.task("high-0").NodeName)
				assert.Contains(t, f.evicted()[0], pod)
			})
		}
	}
}

// TestPreemptionInALaterTier has a first tier in which no task is a victim. The quota
// plugin in the second tier adds none.
func TestPreemptionInALaterTier(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":1}`).
		pods("important", "q", "A", 1, 1, on("a"), members(0)).pods("late", "q", "A", 1, 1, inPhase(workload.Inqueue))
	f := s.open(t)
	f.job("important").Priority = 100
	all := f.Tiers[0].Plugins
	f.Tiers = []conf.Tier{{Plugins: all[:2]}, {Plugins: all[2:]}}
	assert.Empty(t, f.Preemptable(f.task("late-0"), []*api.TaskInfo{f.task("important-0")}))
	f.job("late").Priority = 200
	assert.Len(t, f.Preemptable(f.task("late-0"), []*api.TaskInfo{f.task("important-0")}), 1)
}

// TestAllocationBeyondQuotaFails places tasks without a check, as actions that evict
// do. What exceeds a quota fails, is not charged, and can be undone.
func TestAllocationBeyondQuotaFails(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":1}`).pods("job", "q", "A|B", 4, 1, members(4))
	f := s.open(t)
	place := func(task, node string) error {
		return release.Pipeline(framework.NewStatement(f.Session), f.task(task), node, false)
	}
	assert.NoError(t, place("job-0", "a"))
	assert.Error(t, place("job-1", "a"))
	f.checkCards(t)
	assert.NoError(t, place("job-1", "b"))
	statement := framework.NewStatement(f.Session)
	assert.Error(t, release.Allocate(statement, f.task("job-2"), f.Nodes["b"]))
	f.checkCards(t)
	assert.Equal(t, 1.0, f.cardsOf("q", "A"))
	assert.Equal(t, 1.0, f.cardsOf("q", "B"))
}

// TestDiscardedEvictionsAreCharged discards evictions in a queue that uses more than
// its quota. The tasks are charged again.
func TestDiscardedEvictionsAreCharged(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":1}`).pods("job", "q", "A", 3, 1, on("a"))
	f := s.open(t)
	assert.Equal(t, 3.0, f.cardsOf("q", "A"))
	statement := framework.NewStatement(f.Session)
	for _, name := range []string{"job-0", "job-2"} {
		require.NoError(t, release.Evict(statement, f.task(name), "test"))
	}
	assert.Equal(t, 1.0, f.cardsOf("q", "A"))
	statement.Discard()
	assert.Equal(t, 3.0, f.cardsOf("q", "A"))
}

// preemption configures the action preempt.
func preemption(topologyAware bool) conf.Configuration {
	return conf.Configuration{Name: "preempt", Arguments: map[string]any{preempt.EnableTopologyAwarePreemptionKey: topologyAware}}
}

// TestSimulationAsksTheQueue simulates for a task of a queue that is not open: what allocatable refuses, the
// simulation refuses, where cards count.
func TestSimulationAsksTheQueue(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":2}`).pods("next", "q", "A", 1, 1, inPhase(workload.Inqueue))
	s.Queues[len(s.Queues)-1].Closed = true
	f := s.open(t)
	task := f.task("next-0")
	require.NoError(t, f.PrePredicateFn(task))
	assert.False(t, f.Allocatable(f.queue("q"), task))
	assert.Error(t, f.PredicateFn(task, f.Nodes["a"]))
	assert.False(t, f.SimulateAllocatableFn(t.Context(), f.GetCycleState(task.UID).Clone(), f.queue("q"), task))
	assert.Equal(t, "Queue <q> is not open", InspectionOf(f.own).Allocate(task).String())
	assert.Equal(t, "Queue <q> is not open", InspectionOf(f.own).Node(task, "a").String())
}

// TestCopiesAreChargedOnce allocates a task on another node after a copy of it was pipelined, as allocate does after
// a gang action.
func TestCopiesAreChargedOnce(t *testing.T) {
	f := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":1}`).
		pods("next", "q", "A|B", 1, 1, inPhase(workload.Inqueue), members(2)).open(t)
	task := f.task("next-0")
	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Pipeline(statement, task.Clone(), "a", false))
	assert.Equal(t, []float64{1, 0}, []float64{f.cardsOf("q", "A"), f.cardsOf("q", "B")})
	other := framework.NewStatement(f.Session)
	require.NoError(t, release.Allocate(other, task, f.Nodes["b"]))
	assert.Equal(t, []float64{0, 1}, []float64{f.cardsOf("q", "A"), f.cardsOf("q", "B")})
	other.Discard()
	assert.Equal(t, []float64{0, 0}, []float64{f.cardsOf("q", "A"), f.cardsOf("q", "B")})
}

// TestSimulateWithCards adds and removes tasks with cards in a simulation.
func TestSimulateWithCards(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":2,"B":1}`).
		pods("run", "q", "A|B", 2, 1, on("a")).pods("next", "q", "A|B", 2, 1)
	f := s.open(t)
	task, more := f.task("next-0"), f.task("next-1")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	clone := state.Clone()
	fits := func(node string) bool { return f.SimulatePredicateFn(t.Context(), clone, task, f.Nodes[node]) == nil }
	assert.False(t, fits("a"))
	assert.True(t, fits("b"))
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, more, f.Nodes["b"]))
	assert.False(t, fits("b"))
	assert.False(t, f.SimulateAllocatableFn(t.Context(), clone, f.queue("q"), task))
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), clone, task, f.task("run-0"), f.Nodes["a"]))
	assert.True(t, fits("a"))
	assert.True(t, f.SimulateAllocatableFn(t.Context(), clone, f.queue("q"), task))
	clone = state.Clone()
	assert.False(t, fits("a"), "the change of one clone shows in another")
	assert.True(t, fits("b"))
}
