package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// held is the maximum of each card that a queue may have: its quota, or what was
// allocated to it before the test.
type held map[index.Queue]map[fastres.Dim]float64

func heldBy(f *testbed.Fixture) held {
	h := held{}
	for q := range index.Queue(f.Own.Index.Len()) {
		h[q] = map[fastres.Dim]float64{}
		for d := fastres.FirstFree; int(d) < f.Own.Memory.Names.Len(); d++ {
			if f.Own.Memory.Names.IsCard(d) {
				h[q][d] = max(f.Own.Index.Allocated(q).Get(d), f.Own.Index.RealCapability.Row(q).Get(d))
			}
		}
	}
	return h
}

// check requires that every queue is within its maximum, and that the cards of a
// parent are the sum of its children's and its own.
func (h held) check(t *testing.T, f *testbed.Fixture) {
	t.Helper()
	for q, cards := range h {
		for d, most := range cards {
			if has := f.Own.Books.Future.Queues.Allocated(q).Get(d); f.Own.Cards.Counted(q) && has > most {
				require.LessOrEqual(t, has, most, "queue %s, card %s", f.Own.Index.Name(q), f.Own.Memory.Names.Name(d))
			}
		}
	}
}

// TestRandomCards runs Volcano's actions and random statements on random clusters.
// After each step all quotas hold, and the accounts agree with the tasks.
func TestRandomCards(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*testbed.Clusters) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			runCards(t, rand.New(rand.NewPCG(seed, 0xe7)), workload.RandomCards(seed), seen)
		})
	}
	for _, what := range []string{"bound", "evicted", "waiting", "enqueued"} {
		if *testbed.Clusters >= 500 {
			require.Greater(t, seen[what], *testbed.Clusters/40, "hardly any %s: %v", what, seen)
		}
	}
	t.Log(seen)
}

// FuzzCards is TestRandomCards with clusters and statements drawn from bytes.
func FuzzCards(f *testing.F) {
	testbed.AddSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		runCards(t, r, workload.DrawCards(r), map[string]int{})
	})
}

func runCards(t *testing.T, r *rand.Rand, c workload.Cluster, seen map[string]int) {
	s := testbed.NewScene()
	s.Cluster = c
	// A builder of its own: a failure then depends on the input alone.
	s.Build = (&session.Builder{Variant: []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant}[r.IntN(2)]}).Build
	s.Arguments = framework.Arguments{
		"untypedCards":           []string{"charge", "charge", "reject"}[r.IntN(3)],
		"cardUnlimitedCpuMemory": r.IntN(2) == 0,
		"unsetCapability":        "unlimited",
	}
	f := s.Open(t)
	if f.Own.Cards == nil {
		return
	}
	for _, job := range f.SortedJobs() {
		job.Priority = r.Int32N(3)
		for _, task := range job.Tasks {
			task.Priority = job.Priority
		}
	}
	h := heldBy(f)
	for _, action := range []framework.Action{enqueue.New(), allocate.New(), session.NewReclaim(), session.NewPreempt()} {
		f.Run(t, action)
		h.check(t, f)
	}
	seen["bound"] += len(f.Cache.Bound)
	seen["evicted"] += len(f.Cache.Evicted)
	for _, job := range f.Jobs {
		if reason, _, _ := strings.Cut(job.JobFitErrors, ">"); reason != "" {
			seen["waiting"]++
		}
		if job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			seen["enqueued"]++
		}
	}
	tasks := f.SortedTasks()
	for range 30 {
		randomStatement(f, t, r, tasks, h)
	}
}

// randomStatement places and evicts tasks, some of them without a predicate, and
// discards or commits the statement.
func randomStatement(f *testbed.Fixture, t *testing.T, r *rand.Rand, tasks []*api.TaskInfo, h held) {
	t.Helper()
	statement := framework.NewStatement(f.Session)
	for range 1 + r.IntN(5) {
		task := tasks[r.IntN(len(tasks))]
		node := f.Nodes[f.NodeList[r.IntN(len(f.NodeList))].Name]
		switch task.Status {
		case api.Running:
			require.NoError(t, release.Evict(statement, task, "test"))
		case api.Pending:
			if task.SchGated || f.Own.Index.Lookup(string(f.Jobs[task.Job].Queue)) == index.None {
				continue
			}
			if r.IntN(2) == 0 && f.PredicateFn(task, node) != nil {
				continue
			}
			if r.IntN(2) == 0 {
				_ = release.Pipeline(statement, task, node.Name, false)
			} else {
				_ = release.Allocate(statement, task, node)
			}
		}
		f.CheckCards(t)
		h.check(t, f)
	}
	if r.IntN(2) == 0 {
		statement.Discard()
	}
	f.CheckCards(t)
	h.check(t, f)
}
