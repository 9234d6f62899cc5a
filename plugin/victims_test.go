package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// since makes the pods of a job run on a node since a time, in the order of their names.
func since(node string, started ...int64) func(*workload.Job) {
	return func(j *workload.Job) {
		on(node)(j)
		for i := range j.Tasks {
			j.Tasks[i].Started = started[min(i, len(started)-1)]
		}
	}
}

func priorityOf(n int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = n } }

// lent is a node with eight cards that the queue other has borrowed, and the queue mine,
// which deserves them.
func lent(arguments framework.Arguments) *scene {
	s := newScene().node("a", "A", 8).lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`)
	s.arguments = arguments
	return s
}

func byWork() framework.Arguments { return framework.Arguments{victimOrder: "leastWork"} }

// claiming adds a pod of the queue mine that requests cards.
func (s *scene) claiming(gpus int64) *scene {
	return s.pods("claim", "mine", "A", 1, gpus, inPhase(workload.Inqueue))
}

// TestLeastWork evicts the pods whose eviction loses the least work, and no more than are
// needed.
func TestLeastWork(t *testing.T) {
	for name, test := range map[string]struct {
		scene *scene
		want  []string
	}{
		"the pod that runs for the shortest time": {
			lent(byWork()).pods("x", "other", "A", 4, 1, members(0), since("a", 400, 300, 200, 100)).
				pods("y", "other", "A", 4, 1, members(0), since("a", 350, 450, 150, 50)).claiming(1), []string{"y-1"}},
		"the two pods that run for the shortest time": {
			lent(byWork()).pods("x", "other", "A", 4, 1, members(0), since("a", 400, 300, 200, 100)).
				pods("y", "other", "A", 4, 1, members(0), since("a", 350, 450, 150, 50)).claiming(2), []string{"x-0", "y-1"}},
		"a pod that the kubelet has not started": {
			lent(byWork()).pods("x", "other", "A", 4, 1, members(0), since("a", 400)).
				pods("y", "other", "A", 4, 1, members(0), since("a", 500, 0, 500, 500)).claiming(1), []string{"y-1"}},
		"lower priority, although it runs for longer": {
			lent(byWork()).pods("x", "other", "A", 4, 1, members(0), priorityOf(5), since("a", 400)).
				pods("y", "other", "A", 4, 1, members(0), since("a", 1)).claiming(2), []string{"y-0", "y-1"}},
		"one large pod in place of itself and a small one": {
			lent(byWork()).pods("small", "other", "A", 1, 1, members(0), since("a", 900)).
				pods("large", "other", "A", 1, 4, members(0), since("a", 800)).
				pods("old", "other", "A", 3, 1, members(0), since("a", 700)).claiming(4), []string{"large-0"}},
		"gang spares the minimum of the youngest job": {
			lent(byWork()).pods("gang", "other", "A", 4, 1, members(4), since("a", 900)).
				pods("old", "other", "A", 4, 1, members(0), since("a", 100)).claiming(2), []string{"old-0", "old-1"}},
		"nothing where all that may go does not suffice": {
			lent(byWork()).pods("gang", "other", "A", 6, 1, members(6), since("a", 900)).
				pods("old", "other", "A", 2, 1, members(0), since("a", 100)).claiming(3), nil},
		"no more than is above deserved": {
			newScene().node("a", "A", 8).lending("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`).lending("young", `{"A":8}`, `{"A":3}`, `{"A":0}`).
				lending("old", `{"A":8}`, `{"A":1}`, `{"A":0}`).withArguments(byWork()).
				pods("young", "young", "A", 4, 1, members(0), since("a", 900)).
				pods("old", "old", "A", 4, 1, members(0), since("a", 100)).claiming(3), []string{"old-0", "old-1", "young-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rules := range release.Names() {
				test.scene.arguments[semantics] = rules
				evicted := test.scene.open(t).run(t, reclaim.New()).evicted()
				assert.Equal(t, test.want, evicted, "with the rules of %s", rules)
			}
		})
	}
}

func (s *scene) withArguments(a framework.Arguments) *scene {
	s.arguments = a
	return s
}

// TestBrokenGangsGoFirst has no gang plugin that would spare the minimum of jobs.
func TestBrokenGangsGoFirst(t *testing.T) {
	s := lent(byWork()).pods("whole", "other", "A", 2, 1, members(2), since("a", 900)).
		pods("broken", "other", "A", 2, 1, members(3), since("a", 100)).claiming(5)
	f := openFixture(t, s.Cluster, func(framework.Arguments) framework.Plugin { return New(byWork()) })
	var candidates []*api.TaskInfo
	for _, name := range []string{"whole-0", "whole-1", "broken-0", "broken-1"} {
		candidates = append(candidates, f.task(name))
	}
	for gpus, want := range map[float64][]string{5: {"broken-0"}, 6: {"broken-0", "broken-1"}, 7: {"broken-0", "broken-1", "whole-0"}} {
		claim := f.task("claim-0")
		claim.Resreq.ScalarResources[gpuName], claim.InitResreq.ScalarResources[gpuName] = gpus*1000, gpus*1000
		victims := f.Reclaimable(claim, candidates)
		require.Equal(t, want, names(victims), "%v cards", gpus)
	}
}

func names(tasks []*api.TaskInfo) (names []string) {
	for _, task := range tasks {
		names = append(names, task.Name)
	}
	return names
}

// TestVictimOrderOfGangs expects gang reclaim to be as without the argument: its victims come
// in bundles, which Volcano orders.
func TestVictimOrderOfGangs(t *testing.T) {
	allowed := func(a framework.Arguments) []string {
		s := lent(a).pods("x", "other", "A", 4, 1, members(0), since("a", 100)).
			pods("y", "other", "A", 4, 1, members(0), since("a", 900)).claiming(2)
		f := s.open(t)
		victims, _ := f.own.evictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")},
			[]*api.TaskInfo{f.task("x-0"), f.task("y-0"), f.task("x-1")})
		return names(victims)
	}
	assert.Equal(t, []string{"x-0", "y-0", "x-1"}, allowed(nil))
	assert.Equal(t, allowed(nil), allowed(byWork()))
}
