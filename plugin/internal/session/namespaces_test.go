package session

import (
	"context"
	"fmt"
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
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// byPrefix moves jobs into the namespace that their name begins with, up to a dot.
func byPrefix(info *api.ClusterInfo, _ *offline.Cache) {
	for _, job := range info.Jobs {
		if namespace, _, found := strings.Cut(job.Name, "."); found {
			job.Namespace = namespace
			for _, task := range job.Tasks {
				task.Namespace = namespace
			}
		}
	}
}

// namespaced has team, which limits each namespace to 4 cards of A and to 6 of B, above train,
// which limits it to 3 of A, and serve.
func namespaced() *scene {
	all := `{"A":16,"B":16}`
	s := newScene().node("a", "A", 16).node("b", "B", 16).queue("root", "").queue("team", "root", "quota", all).
		queue("train", "team", "quota", all, "guarantee", `{"A":0,"B":0}`).queue("serve", "team", "quota", all, "guarantee", `{"A":0,"B":0}`)
	return s.annotate("team", card.NamespaceKey, `{"A":4,"B":6}`).annotate("train", card.NamespaceKey, `{"A":3}`)
}

// checkNamespaces adds up the tasks of each namespace again, and compares the sums with the
// accounts and with the limits.
func (f *fixture) checkNamespaces(t *testing.T) {
	t.Helper()
	if f.own.Intake.Holders == nil {
		return
	}
	ix := &f.own.Intake.Holders.Quota.Accounts
	want := map[index.Queue]map[fastres.Dim]float64{}
	for _, job := range f.Jobs {
		q := f.own.Index.Lookup(string(job.Queue))
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			charge := fastres.NewVector(f.own.Intake.Dims.Length())
			f.own.Intake.SetCharge(charge, q, task, task.NodeName)
			at := f.own.Intake.AccountOf(job.UID)
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
	f := namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.other", "serve", "B", 6, 1, on("b")).
		pods("x.either", "train", "A|B", 1, 1, inPhase(workload.Inqueue)).pods("x.serve", "serve", "A|B", 1, 2, inPhase(workload.Inqueue)).open(t, byPrefix)
	const text = "Queue <%s> has insufficient <%s> quota for namespace <x>: requested <%d>, total would be <%d>, but card.quota.namespace is <%d>"
	for job, want := range map[string]string{
		"x.either": fmt.Sprintf(text, "train", "A", 1, 4, 3) + "; " + fmt.Sprintf(text, "team", "B", 1, 7, 6),
		"x.serve":  fmt.Sprintf(text, "team", "A", 2, 5, 4) + "; " + fmt.Sprintf(text, "team", "B", 2, 8, 6),
	} {
		assert.Equal(t, want, InspectionOf(f.own).Allocate(f.task(job+"-0")).String())
	}
}

// TestNamespaceSimulation removes and adds pods in a what-if. The session's accounts stay.
func TestNamespaceSimulation(t *testing.T) {
	f := namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.next", "train", "A", 1, 1, inPhase(workload.Inqueue)).open(t, byPrefix)
	next, runs := f.task("x.next-0"), f.task("x.runs-0")
	require.NoError(t, f.PrePredicateFn(next))
	state, queue, ctx := f.GetCycleState(next.UID).Clone(), f.queue("train"), context.Background()
	assert.False(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	require.NoError(t, f.SimulateRemoveTaskFn(ctx, state, next, runs, f.Nodes["a"]))
	assert.True(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	assert.NoError(t, f.SimulatePredicateFn(ctx, state, next, f.Nodes["a"]))
	other := state.Clone()
	require.NoError(t, f.SimulateAddTaskFn(ctx, state, next, runs, f.Nodes["a"]))
	assert.False(t, f.SimulateAllocatableFn(ctx, state, queue, next))
	assert.True(t, f.SimulateAllocatableFn(ctx, other, queue, next), "a clone is independent")
	f.checkNamespaces(t)
}

// TestNamespaceEvents evicts a pod, takes the eviction back, and evicts it again.
func TestNamespaceEvents(t *testing.T) {
	f := namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.next", "train", "A", 1, 1, inPhase(workload.Inqueue)).open(t, byPrefix)
	next, runs, queue := f.task("x.next-0"), f.task("x.runs-0"), f.queue("train")
	statement := framework.NewStatement(f.Session)
	require.NoError(t, release.Evict(statement, runs, "test"))
	assert.True(t, f.own.AllocatableOf(queue, next))
	statement.Discard()
	assert.False(t, f.own.AllocatableOf(queue, next))
	f.checkNamespaces(t)
	require.NoError(t, release.Evict(framework.NewStatement(f.Session), runs, "test"))
	assert.True(t, f.own.AllocatableOf(queue, next))
}

// TestNamespaceVictims evicts for a job whose namespace has all that it may have, only if that
// makes room for it.
func TestNamespaceVictims(t *testing.T) {
	s := func() *scene {
		s := namespaced().annotate("team", card.NamespaceKey, "").annotate("train", card.DeservedKey, `{"A":8}`).annotate("serve", card.DeservedKey, `{"A":1}`)
		s.Nodes[0].Allocatable[gpuName] = 8
		return s.pods("z.borrows", "serve", "A", 5, 1, on("a"))
	}
	for name, test := range map[string]struct {
		scene   *scene
		victims bool
	}{
		"its namespace is full":     {s().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.next", "train", "A", 1, 1, inPhase(workload.Inqueue)), false},
		"its namespace has room":    {s().pods("x.runs", "train", "A", 2, 1, on("a")).pods("y.runs", "train", "A", 1, 1, on("a")).pods("x.next", "train", "A", 1, 1, inPhase(workload.Inqueue)), true},
		"another namespace is full": {s().pods("x.runs", "train", "A", 3, 1, on("a")).pods("y.next", "train", "A", 1, 1, inPhase(workload.Inqueue)), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene.open(t, byPrefix)
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
			victims, _ := f.own.Reclaim.Reclaimable(next, candidates)
			assert.Equal(t, test.victims, len(victims) > 0)
		})
	}
}
