package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
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

func byWork() framework.Arguments { return framework.Arguments{arguments.VictimOrder: "leastWork"} }

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
				test.scene.arguments[arguments.Semantics] = rules
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
		victims, _ := f.own.reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")},
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

// spread makes the pods of a job run on one node each.
func spread(started int64, nodes ...string) func(*workload.Job) {
	return func(j *workload.Job) {
		since(nodes[0], started)(j)
		for i, node := range nodes {
			j.Tasks[i].Node = node
		}
	}
}

// claims adds a job of n pods of the queue mine with four cards each.
func (s *scene) claims(n int) *scene {
	return s.pods("claim", "mine", "A", n, 4, members(int32(n)), inPhase(workload.Inqueue))
}

// TestNodeOfLeastWork takes the node on which the least work is lost. Volcano looks at them in any
// order. gang spares nothing.
func TestNodeOfLeastWork(t *testing.T) {
	young := func(s *scene) *scene {
		return s.pods("x", "other", "A", 1, 4, since("a", 100)).pods("y", "other", "A", 1, 4, since("b", 900)).pods("z", "other", "A", 1, 4, since("c", 500))
	}
	for name, test := range map[string]struct {
		scene *scene
		want  []string
	}{
		"one pod":        {young(nodesOfWork(byWork())).claims(1), []string{"y-0"}},
		"one by one":     {young(nodesOfWork(byWork())).claims(2), []string{"y-0", "z-0"}},
		"lower priority": {nodesOfWork(byWork()).pods("x", "other", "A", 1, 4, priorityOf(1), since("a", 900)).pods("y", "other", "A", 1, 4, since("b", 100)).claims(1), []string{"y-0"}},
		"a gang on two nodes, and then its rest": {nodesOfWork(byWork()).pods("gang", "other", "A", 2, 4, members(2), spread(800, "b", "c")).
			pods("alone", "other", "A", 1, 4, since("a", 500)).claims(2), []string{"gang-0", "gang-1"}},
		"not the gang, all of which would be lost": {nodesOfWork(byWork()).pods("gang", "other", "A", 2, 4, members(2), spread(700, "a", "b")).
			pods("alone", "other", "A", 1, 4, since("c", 500)).claims(1), []string{"alone-0"}},
		"fewer pods": {nodesOfWork(byWork()).pods("many", "other", "A", 4, 1, members(0), since("a", 900)).
			pods("one", "other", "A", 1, 4, since("b", 600)).claims(1), []string{"one-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 12 { // the order of the nodes differs
				test.scene.arguments[arguments.Semantics] = release.Names()[i%len(release.Names())]
				f := test.scene.open(t)
				spares := false
				f.Tiers[0].Plugins[1].EnabledReclaimable = &spares
				evicted := f.run(t, reclaim.New()).evicted()
				assert.Equal(t, test.want, evicted, "with the rules of %s", test.scene.arguments[arguments.Semantics])
				f.close()
			}
		})
	}
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
		assert.Equal(t, []string{"z-0"}, f.run(t, reclaim.New()).evicted())
		f.close()
	}
}

// TestNodeOfLeastWorkIsReclaimable does not choose a node whose pods are of a queue that nobody
// reclaims from: the action does not look at it.
func TestNodeOfLeastWorkIsReclaimable(t *testing.T) {
	for range 6 {
		s := nodesOfWork(byWork()).lending("kept", `{"A":12}`, `{"A":0}`, `{"A":0}`).pods("x", "other", "A", 1, 4, members(0), since("a", 100)).
			pods("y", "kept", "A", 1, 4, members(0), since("b", 900)).pods("z", "other", "A", 1, 4, members(0), since("c", 500)).claims(1)
		f := s.open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
			reclaimable := false
			info.Queues["kept"].Queue.Spec.Reclaimable = &reclaimable
		})
		assert.Equal(t, []string{"z-0"}, f.run(t, reclaim.New()).evicted())
		f.close()
	}
}

// TestNodeWithoutCards has no cards: then no predicate of the plugin decides on nodes.
func TestNodeWithoutCards(t *testing.T) {
	s := &scene{build: NewCapacity, arguments: byWork()}
	for _, name := range []string{"a", "b", "c"} {
		s.mixedNode(name, nil, workload.Resources{})
	}
	s.Queues = []workload.Queue{{Name: "mine", Weight: 1, Deserved: cores(192)}, {Name: "other", Weight: 1, Deserved: cores(0)}}
	for name, started := range map[string]int64{"a": 100, "b": 900, "c": 500} {
		s.pods("on"+name, "other", "", 1, 0, members(0), since(name, started), requesting("cpu", 64000))
	}
	s.pods("claim", "mine", "", 1, 0, inPhase(workload.Inqueue), requesting("cpu", 64000)).at(1000)
	for range 6 {
		assert.Equal(t, []string{"onb-0"}, s.open(t).run(t, reclaim.New()).evicted())
	}
}

// TestNoVictimWhereNoneIsNeeded has a node with room for the claim once a pod that is being
// deleted is gone.
func TestNoVictimWhereNoneIsNeeded(t *testing.T) {
	s := nodesOfWork(byWork()).pods("goes", "other", "A", 1, 2, members(0), first(1, workload.TaskReleasing, "c")).
		pods("x", "other", "A", 2, 1, members(0), since("c", 900)).pods("y", "other", "A", 4, 1, members(0), since("b", 999)).
		pods("z", "other", "A", 4, 1, members(0), since("a", 999)).pods("claim", "mine", "A", 1, 2, inPhase(workload.Inqueue))
	for range 6 {
		f := s.open(t).run(t, reclaim.New())
		assert.Empty(t, f.evicted())
		assert.Len(t, f.job("claim").TaskStatusIndex[api.Pipelined], 1)
		f.close()
	}
}
