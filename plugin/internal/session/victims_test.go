package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
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

// lent is a node with eight cards that the queue other has borrowed, and the queue mine,
// which deserves them.
func lent(arguments framework.Arguments) *scene {
	s := newScene().node("a", "A", 8).lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`)
	s.arguments = arguments
	return s
}

func byWork() framework.Arguments { return framework.Arguments{arguments.VictimOrder: "leastWork"} }

// claiming adds a pod of the queue mine that requests cards.
func (s *scene) claiming(gpus int64) *scene {
	return s.pods("claim", "mine", "A", 1, gpus, inPhase(workload.Inqueue))
}

func (s *scene) withArguments(a framework.Arguments) *scene {
	s.arguments = a
	return s
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
		victims, _ := f.own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")},
			[]*api.TaskInfo{f.task("x-0"), f.task("y-0"), f.task("x-1")})
		return names(victims)
	}
	assert.Equal(t, []string{"x-0", "y-0", "x-1"}, allowed(nil))
	assert.Equal(t, allowed(nil), allowed(byWork()))
}

// nodesOfWork is three nodes with four cards each, all of which the queue other has borrowed, and
// the queue mine, which deserves them. The time is 1000.
func nodesOfWork(a framework.Arguments) *scene {
	return newScene().node("a", "A", 4).node("b", "A", 4).node("c", "A", 4).lending("mine", `{"A":12}`, `{"A":12}`, `{"A":0}`).
		lending("other", `{"A":12}`, `{"A":0}`, `{"A":0}`).withArguments(a).at(1000)
}

// claims adds a job of n pods of the queue mine with four cards each.
func (s *scene) claims(n int) *scene {
	return s.pods("claim", "mine", "A", n, 4, members(int32(n)), inPhase(workload.Inqueue))
}

// TestNodeOfLeastWorkFits takes a node that another plugin lets the pod run on. Volcano asks that
// plugin before this one, or after it.
func TestNodeOfLeastWorkFits(t *testing.T) {
	for i := range 12 {
		name := []string{priority.PluginName, "late"}[i%2]
		f := nodesOfWork(byWork()).pods("x", "other", "A", 1, 4, members(0), since("a", 100)).pods("y", "other", "A", 1, 4, members(0), since("b", 900)).
			pods("z", "other", "A", 1, 4, members(0), since("c", 500)).claims(1).open(t)
		enabled := true
		f.Tiers[0].Plugins = append(f.Tiers[0].Plugins, conf.PluginOption{Name: "late", EnabledPredicate: &enabled})
		f.AddPredicateFn(name, func(task *api.TaskInfo, node *api.NodeInfo) error {
			if node.Name == "b" {
				return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: "test"})
			}
			return nil
		})
		assert.Equal(t, []string{"z-0"}, f.run(t, NewReclaim()).evicted())
		f.close()
	}
}
