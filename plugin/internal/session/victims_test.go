package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// since makes the pods of a job run on a node since a time, in the order of their names.
func since(node string, started ...int64) func(*workload.Job) {
	return func(j *workload.Job) {
		testbed.On(node)(j)
		for i := range j.Tasks {
			j.Tasks[i].Started = started[min(i, len(started)-1)]
		}
	}
}

// TestVictimOrderOfGangs expects gang reclaim to be as without the argument: its victims come
// in bundles, which Volcano orders.
func TestVictimOrderOfGangs(t *testing.T) {
	allowed := func(a framework.Arguments) []string {
		s := testbed.Lent(a).Pods("x", "other", "A", 4, 1, testbed.Members(0), since("a", 100)).
			Pods("y", "other", "A", 4, 1, testbed.Members(0), since("a", 900)).Claiming(2)
		f := s.Open(t)
		victims, _ := f.Own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.Job("claim")},
			[]*api.TaskInfo{f.Task("x-0"), f.Task("y-0"), f.Task("x-1")})
		return testbed.Names(victims)
	}
	assert.Equal(t, []string{"x-0", "y-0", "x-1"}, allowed(nil))
	assert.Equal(t, allowed(nil), allowed(testbed.ByWork()))
}

// nodesOfWork returns a scene of three nodes with four cards each. The queue mine deserves all cards, and the queue
// other can only borrow them. The time is 1000.
func nodesOfWork(a framework.Arguments) *testbed.Scene {
	return testbed.NewScene().Node("a", "A", 4).Node("b", "A", 4).Node("c", "A", 4).Lending("mine", `{"A":12}`, `{"A":12}`, `{"A":0}`).
		Lending("other", `{"A":12}`, `{"A":0}`, `{"A":0}`).WithArguments(a).At(1000)
}

// claims adds a job of n pods of the queue mine with four cards each.
func claims(s *testbed.Scene, n int) *testbed.Scene {
	return s.Pods("claim", "mine", "A", n, 4, testbed.Members(int32(n)), testbed.InPhase(workload.Inqueue))
}

// TestNodeOfLeastWorkFits takes a node that another plugin lets the pod run on. Volcano asks that
// plugin before this one, or after it.
func TestNodeOfLeastWorkFits(t *testing.T) {
	for i := range 12 {
		name := []string{priority.PluginName, "late"}[i%2]
		f := claims(nodesOfWork(testbed.ByWork()).Pods("x", "other", "A", 1, 4, testbed.Members(0), since("a", 100)).Pods("y", "other", "A", 1, 4, testbed.Members(0), since("b", 900)).
			Pods("z", "other", "A", 1, 4, testbed.Members(0), since("c", 500)), 1).Open(t)
		enabled := true
		f.Tiers[0].Plugins = append(f.Tiers[0].Plugins, conf.PluginOption{Name: "late", EnabledPredicate: &enabled})
		f.AddPredicateFn(name, func(task *api.TaskInfo, node *api.NodeInfo) error {
			if node.Name == "b" {
				return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: "test"})
			}
			return nil
		})
		assert.Equal(t, []string{"z-0"}, f.Run(t, session.NewReclaim()).Evicted())
		f.Close()
	}
}

// TestUndoneEvictionSpendsNoEarmark discards the eviction of a pod. Another pod of its job, with an equal request, has an
// earmark: the pod that gets its node back must not use it.
func TestUndoneEvictionSpendsNoEarmark(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 4).Queue("q", "", "quota", `{"A":4}`).
		Pods("job", "q", "A", 2, 1, firstPods(1, workload.TaskRunning, "a")).Open(t)
	runs, waits := f.Task("job-0"), f.Task("job-1")
	q := f.Own.Index.Lookup("q")
	charge := fastres.NewVector(f.Own.Intake.Dims.Length())
	f.Own.Intake.SetCharge(charge, q, runs, "a")
	f.Own.Books.Add(earmark.Mark{Earmark: earmark.Earmark{Task: waits, Node: "a"}, Queue: q, Account: index.None, Charge: charge})
	require.True(t, f.Own.Books.Waits(waits))

	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Evict(statement, runs, "a test"))
	statement.Discard()
	assert.True(t, f.Own.Books.Waits(waits))
	assert.Equal(t, 1.0, f.CardsOf("q", "A"))
}
