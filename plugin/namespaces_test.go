package plugin

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
	"github.com/capacity-card/capacity-card/index/policy"
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

// TestNamespaceQuota schedules jobs of namespaces x and y. Each has its own limit, in the queue
// and in all queues below it.
func TestNamespaceQuota(t *testing.T) {
	tests := map[string]struct {
		scene  *scene
		placed map[string]int // pods of a job
	}{
		"the limit of the queue":         {namespaced().pods("x.one", "train", "A", 5, 1), map[string]int{"x.one": 3}},
		"the limit of the queue above":   {namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("x.one", "serve", "A", 5, 1), map[string]int{"x.one": 1}},
		"another namespace":              {namespaced().pods("x.runs", "train", "A", 3, 1, on("a")).pods("y.one", "train", "A", 5, 1), map[string]int{"y.one": 3}},
		"a card without a limit":         {namespaced().annotate("team", card.NamespaceKey, `{"A":4}`).pods("x.one", "train", "B", 9, 1), map[string]int{"x.one": 9}},
		"a list goes on with the next":   {namespaced().pods("x.one", "train", "A|B", 12, 1), map[string]int{"x.one": 9}},
		"a limit of nothing":             {namespaced().annotate("train", card.NamespaceKey, `{"A":0}`).pods("x.one", "train", "A", 2, 1), map[string]int{"x.one": 0}},
		"no limit":                       {namespaced().annotate("train", card.NamespaceKey, "").annotate("team", card.NamespaceKey, "").pods("x.one", "train", "A", 9, 1), map[string]int{"x.one": 9}},
		"pods that name no card":         {namespaced().pods("x.one", "train", "", 12, 1), map[string]int{"x.one": 9}},
		"the quota of the queue is less": {namespaced().annotate("serve", card.QuotaKey, `{"A":2}`).pods("x.one", "serve", "A", 5, 1), map[string]int{"x.one": 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := test.scene.open(t, byPrefix)
			f.schedule(t)
			for job, want := range test.placed {
				got := 0
				for _, n := range f.placed(job) {
					got += n
				}
				assert.Equal(t, want, got, job)
			}
			f.checkNamespaces(t)
		})
	}
}

// checkNamespaces adds up the tasks of each namespace again, and compares the sums with the
// accounts and with the limits.
func (f *fixture) checkNamespaces(t *testing.T) {
	t.Helper()
	if f.own.Intake.Namespaces == nil {
		return
	}
	ix := &f.own.Intake.Namespaces.Quota.Accounts
	want := map[index.Queue]map[fastres.Dim]float64{}
	for _, job := range f.Jobs {
		q := f.own.Index.Lookup(string(job.Queue))
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			charge := fastres.NewVector(f.own.Intake.Dims.Length())
			f.own.Intake.SetCharge(charge, q, task, task.NodeName)
			at := f.own.Intake.Namespaces.Quota.Account(q, job.Namespace)
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

// TestNamespaceAdmission admits jobs of a namespace up to its limit, beside what its other jobs
// have and were promised.
func TestNamespaceAdmission(t *testing.T) {
	s := namespaced().pods("x.runs", "serve", "A", 1, 1, on("a")).pods("x.two", "train", "A", 2, 1, members(2)).pods("x.one", "train", "A", 2, 1, members(2)).
		pods("y.three", "train", "A", 3, 1, members(3)).pods("x.list", "train", "A|B", 8, 1, members(8)).pods("x.rest", "train", "A|B", 7, 1, members(7)).pods("x.last", "train", "B", 1, 1)
	f := s.open(t, byPrefix)
	assert.True(t, f.admit("x.two"))
	assert.False(t, f.admit("x.one"))
	assert.Equal(t, "Queue <train> has insufficient <A> quota for namespace <x>: requested <2>, total would be <4>, but card.quota.namespace is <3>", f.job("x.one").JobFitErrors)
	assert.True(t, f.admit("y.three"))
	assert.False(t, f.admit("x.list"), "one of A and six of B are left")
	assert.Contains(t, f.job("x.list").JobFitErrors, "quota for namespace <x>: requested <8>")
	assert.True(t, f.admit("x.rest"))
	assert.False(t, f.admit("x.last"), "all of B are promised")
}

// TestLimitSetUnderAPromise sets a limit of namespaces under a job of namespace x that is Inqueue,
// and that the limit never lets run. It keeps no other namespace from being admitted, neither in its
// queue nor in the sibling, except for what the limit leaves to x.
func TestLimitSetUnderAPromise(t *testing.T) {
	cores := func(n int64) func(*workload.Job) {
		return func(j *workload.Job) { j.Tasks, j.MinResources = nil, workload.Resources{"cpu": n * 1000} }
	}
	tree := func(list string) *scene {
		all := `{"A":8,"B":0}`
		s := newScene().node("a", "A", 64).queue("root", "", "quota", all).queue("team", "root", "quota", all)
		for _, name := range []string{"train", "serve"} {
			s.queue(name, "team", "quota", all, "guarantee", `{"A":0}`)
		}
		return s.pods("x.big", "train", list, 8, 1, members(8), inPhase(workload.Inqueue))
	}
	for name, test := range map[string]struct {
		scene      func() *scene
		key, limit string
		others     int // jobs of one card or core of other namespaces that are admitted
	}{
		"a card": {func() *scene { return tree("A") }, card.NamespaceKey, `{"A":3}`, 5},
		"others run": {func() *scene {
			return tree("A").pods("x.runs", "train", "A", 2, 1, members(2), on("a"))
		}, card.NamespaceKey, `{"A":3}`, 5},
		"others are elastic": {func() *scene {
			return tree("A").pods("x.runs", "train", "A", 2, 1, members(1), on("a"))
		}, card.NamespaceKey, `{"A":3}`, 5},
		"a list, as one that its queue can never serve": {func() *scene { return tree("A|B") }, card.NamespaceKey, `{"A":3,"B":0}`, 8},
		"cpu": {func() *scene {
			s := tree("A")
			s.build = NewCapacity
			for i := range s.Queues {
				s.Queues[i].Annotations, s.Queues[i].Capability = nil, workload.Resources{"cpu": 8000, "memory": 1 << 50}
			}
			cores(8)(&s.Jobs[0])
			return s
		}, policy.NamespaceCapabilityKey, `{"cpu": 3}`, 5},
	} {
		for _, limited := range []string{"", "root", "team", "train"} {
			for _, queue := range []string{"train", "serve"} {
				t.Run(fmt.Sprintf("%s, limit of %q, jobs of %s", name, limited, queue), func(t *testing.T) {
					s := test.scene().annotate(limited, test.key, test.limit)
					for i := range 9 {
						s.pods(fmt.Sprintf("%c.%d", "yzw"[i/3], i), queue, "A", 1, 1)
						if name == "cpu" {
							cores(1)(&s.Jobs[len(s.Jobs)-1])
						}
					}
					f, admitted := s.open(t, byPrefix), 0
					for i := range 9 {
						if f.admit(fmt.Sprintf("%c.%d", "yzw"[i/3], i)) {
							admitted++
						}
					}
					if limited == "" {
						assert.Zero(t, admitted)
						return
					}
					assert.Equal(t, test.others, admitted)
				})
			}
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
		assert.Equal(t, want, Inspection{f.own}.Allocate(f.task(job+"-0")).String())
	}
}

// TestNamespaceCapability bounds cpu and memory of a namespace. The reason names the namespace,
// the level and the amounts.
func TestNamespaceCapability(t *testing.T) {
	for name, build := range map[string]framework.PluginBuilder{Name: New, CapacityName: NewCapacity, ProportionName: NewProportion} {
		t.Run(name, func(t *testing.T) {
			s := &scene{build: build, Cluster: workload.Cluster{Nodes: wide(64)}}
			s.Queues = []workload.Queue{{Name: "q", Weight: 1, Capability: workload.Resources{"cpu": 64000, "memory": 1 << 40}}}
			s.annotate("q", policy.NamespaceCapabilityKey, `{"cpu": "2500m"}`)
			s.Jobs = []workload.Job{running("x.runs", "q", 1), pending("x.fits", "q", 1), pending("x.next", "q", 1), pending("y.other", "q", 2)}
			f := s.open(t, byPrefix)
			assert.True(t, f.admit("x.fits"))
			assert.False(t, f.admit("x.next"))
			assert.Equal(t, "Queue <q> has insufficient <cpu> quota for namespace <x>: requested <1>, total would be <3>, but capability.namespace is <2.5>", f.job("x.next").JobFitErrors)
			assert.True(t, f.admit("y.other"))
			f.schedule(t)
			assert.Contains(t, f.cache.Bound, "x.fits-a")
			assert.Contains(t, f.cache.Bound, "y.other-b")
			assert.NotContains(t, f.cache.Bound, "x.next-a")
			f.checkNamespaces(t)
		})
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
	assert.True(t, f.own.allocatable(queue, next))
	statement.Discard()
	assert.False(t, f.own.allocatable(queue, next))
	f.checkNamespaces(t)
	require.NoError(t, release.Evict(framework.NewStatement(f.Session), runs, "test"))
	assert.True(t, f.own.allocatable(queue, next))
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
			victims, _ := f.own.reclaim.Reclaimable(next, candidates)
			assert.Equal(t, test.victims, len(victims) > 0)
		})
	}
}
