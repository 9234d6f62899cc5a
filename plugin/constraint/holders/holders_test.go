package holders_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// checkNamespaces adds up the tasks of each namespace again, and compares the sums with the
// accounts and with the limits.
func checkNamespaces(f *testbed.Fixture, t *testing.T) {
	t.Helper()
	if f.Own.Intake.Holders == nil {
		return
	}
	ix := &f.Own.Intake.Holders.Quota.Accounts
	want := map[index.Queue]map[fastres.Dim]float64{}
	for _, job := range f.Jobs {
		q := f.Own.Index.Lookup(string(job.Queue))
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			charge := fastres.NewVector(f.Own.Intake.Dims.Length())
			f.Own.Intake.SetCharge(charge, q, task, task.NodeName)
			at := f.Own.Intake.AccountOf(job.UID)
			if at == index.None {
				continue
			}
			for _, p := range ix.Path(at) {
				if want[p] == nil {
					want[p] = map[fastres.Dim]float64{}
				}
				for d := range charge.Present() {
					want[p][d] += charge.Get(d)
				}
			}
		}
	}
	for at := range index.Queue(ix.Len()) {
		for d := range fastres.Dim(ix.Dims()) {
			require.Equal(t, want[at][d], ix.Allocated(at).Get(d), "%s in dimension %d", ix.Name(at), d)
		}
	}
}

// TestNamespaceLevels names the level of each limit that a list does not fit under: train limits A,
// and the queue above it B. serve limits nothing itself.
func TestNamespaceLevels(t *testing.T) {
	f := testbed.Namespaced().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("x.other", "serve", "B", 6, 1, testbed.On("b")).
		Pods("x.either", "train", "A|B", 1, 1, testbed.InPhase(workload.Inqueue)).Pods("x.serve", "serve", "A|B", 1, 2, testbed.InPhase(workload.Inqueue)).Open(t, testbed.ByPrefix)
	const text = "Queue <%s> has insufficient <%s> quota for namespace <x>: requested <%d>, total would be <%d>, but card.quota.by is <%d>"
	for job, want := range map[string]string{
		"x.either": fmt.Sprintf(text, "train", "A", 1, 4, 3) + "; " + fmt.Sprintf(text, "team", "B", 1, 7, 6),
		"x.serve":  fmt.Sprintf(text, "team", "A", 2, 5, 4) + "; " + fmt.Sprintf(text, "team", "B", 2, 8, 6),
	} {
		assert.Equal(t, want, session.InspectionOf(f.Own).Allocate(f.Task(job+"-0")).String())
	}
}

// TestHolderMetrics has series of holders with a limit while they have jobs.
func TestHolderMetrics(t *testing.T) {
	testbed.Reset(report.AddedSeries())
	s := testbed.Namespaced().Pods("x.runs", "train", "A", 2, 1, testbed.On("a"))
	run := testbed.NewSequence(t, s)
	ofHolders := func() map[string]float64 {
		run.Open(t).Close()
		got := testbed.AddedMetrics(t)
		maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "queue_holder_") })
		return got
	}

	assert.Equal(t, map[string]float64{
		"queue_holder_cards default namespace train A": 2000, "queue_holder_cards_limit default namespace train A": 3000,
		"queue_holder_cards default namespace team A": 2000, "queue_holder_cards_limit default namespace team A": 4000,
		"queue_holder_cards default namespace team B": 0, "queue_holder_cards_limit default namespace team B": 6000,
	}, ofHolders())
	s.Jobs = nil
	assert.Empty(t, ofHolders())
}

// TestNamespaceSimulation removes and adds pods in a simulation. The accounts of the session do not change.
func TestNamespaceSimulation(t *testing.T) {
	f := testbed.Namespaced().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("x.next", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)).Open(t, testbed.ByPrefix)
	next, runs := f.Task("x.next-0"), f.Task("x.runs-0")
	require.NoError(t, f.PrePredicateFn(next))
	state, queue, ctx := f.GetCycleState(next.UID).Clone(), f.Queue("train"), context.Background()
	assert.False(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	require.NoError(t, f.SimulateRemoveTaskFn(ctx, state, next, runs, f.Nodes["a"]))
	assert.True(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	assert.NoError(t, f.SimulatePredicateFn(ctx, state, next, f.Nodes["a"]))
	other := state.Clone()
	require.NoError(t, f.SimulateAddTaskFn(ctx, state, next, runs, f.Nodes["a"]))
	assert.False(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	assert.True(t, f.SimulateAllocatableFn(ctx, other, queue, next), "a clone is independent")
	checkNamespaces(f, t)
}

// TestNamespaceEvents evicts a pod, takes the eviction back, and evicts it again.
func TestNamespaceEvents(t *testing.T) {
	f := testbed.Namespaced().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("x.next", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)).Open(t, testbed.ByPrefix)
	next, runs, queue := f.Task("x.next-0"), f.Task("x.runs-0"), f.Queue("train")
	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Evict(statement, runs, "test"))
	assert.True(t, f.Own.AllocatableOf(queue, next))
	statement.Discard()
	assert.False(t, f.Own.AllocatableOf(queue, next))
	checkNamespaces(f, t)
	require.NoError(t, release.Evict(framework.NewStatement(f.Session), runs, "test"))
	assert.True(t, f.Own.AllocatableOf(queue, next))
}

// TestNamespaceVictims reclaims for a job with a quota for its namespace. If this quota is full, the eviction of pods
// of other namespaces makes no room, and nobody is evicted.
func TestNamespaceVictims(t *testing.T) {
	s := func() *testbed.Scene {
		s := testbed.Namespaced().Annotate("team", card.HolderKey, "").Annotate("train", card.DeservedKey, `{"A":8}`).Annotate("serve", card.DeservedKey, `{"A":1}`)
		s.Nodes[0].Allocatable[testbed.GPU] = 8
		return s.Pods("z.borrows", "serve", "A", 5, 1, testbed.On("a"))
	}
	for name, test := range map[string]struct {
		scene   *testbed.Scene
		victims bool
	}{
		"its namespace is full":     {s().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("x.next", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)), false},
		"its namespace has room":    {s().Pods("x.runs", "train", "A", 2, 1, testbed.On("a")).Pods("y.runs", "train", "A", 1, 1, testbed.On("a")).Pods("x.next", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)), true},
		"another namespace is full": {s().Pods("x.runs", "train", "A", 3, 1, testbed.On("a")).Pods("y.next", "train", "A", 1, 1, testbed.InPhase(workload.Inqueue)), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene.Open(t, testbed.ByPrefix)
			var next *api.TaskInfo
			var candidates []*api.TaskInfo
			for _, job := range f.Jobs {
				for _, task := range job.Tasks {
					if task.Status == api.Pending {
						next = task
					} else if string(job.Queue) == "serve" {
						candidates = append(candidates, task)
					}
				}
			}
			require.NotNil(t, next)
			victims, _ := f.Own.Reclaim.Reclaimable(next, candidates)
			assert.Equal(t, test.victims, len(victims) > 0)
		})
	}
}
