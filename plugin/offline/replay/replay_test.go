package replay

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler"

	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

const gpu = "nvidia.com/gpu"

// share is a queue of a test, with the cards that it deserves. Each node has 8 cards.
type share struct {
	name, parent string
	deserved     int
}

// setup returns a cluster of nodes with 8 cards H, with reclaim and preempt. arguments are further arguments of
// capacity-card.
func setup(t testing.TB, nodes int, shares []share, arguments string) Setup {
	t.Helper()
	plugin.Register()
	tree := false
	s := Setup{Plugin: plugin.Name, Seed: 1}
	for i := range nodes {
		s.Nodes = append(s.Nodes, cluster.Node(workload.Node{
			Name: fmt.Sprintf("n%03d", i), Labels: map[string]string{"nvidia.com/gpu.product": "H"},
			Allocatable: workload.Resources{"cpu": 128000, "memory": 1 << 40, "pods": 110, gpu: 8},
		}))
	}
	for _, q := range shares {
		tree = tree || q.parent != ""
		object := cluster.Queue(workload.Queue{Name: q.name, Parent: q.parent, Weight: 1, Annotations: map[string]string{
			card.QuotaKey:     fmt.Sprintf(`{"H":%d}`, 8*nodes),
			card.DeservedKey:  fmt.Sprintf(`{"H":%d}`, q.deserved),
			card.GuaranteeKey: `{"H":0}`,
		}}, "")
		s.Queues = append(s.Queues, object)
	}
	text := fmt.Sprintf(`
actions: "enqueue, allocate, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: capacity-card
    enableHierarchy: %t
    arguments: {unsetCapability: unlimited%s}
- plugins:
  - name: predicates
  - name: nodeorder
`, tree, arguments)
	var err error
	s.Actions, s.Tiers, s.Configurations, _, err = scheduler.UnmarshalSchedulerConf(text)
	require.NoError(t, err)
	return s
}

var two = []share{{"a", "", 4}, {"b", "", 4}}

func jobOf(name, queue string, submit, runtime time.Duration, pods, minimum int, cards int64) trace.Job {
	return trace.Job{Name: name, Namespace: "team-" + queue, Queue: queue, Submit: submit, Runtime: runtime, Pods: pods, Minimum: minimum, Cards: cards, Card: "H", CPU: 1000}
}

// TestTinyTrace has an outcome that is written by hand. Queue a has all 8 cards. At 10 s, queue b takes the 4 cards
// that it deserves: 4 pods of queue a lose 10 s each, and b starts a second later. At 61 s b ends, and the 4 pods of
// queue a run their 100 s again.
func TestTinyTrace(t *testing.T) {
	jobs := []trace.Job{
		jobOf("elastic", "a", 0, 100*time.Second, 8, 1, 1),
		jobOf("single", "b", 10*time.Second, 50*time.Second, 1, 1, 4),
	}
	r := Run(context.Background(), setup(t, 1, two, ""), jobs)
	assert.False(t, r.Partial)
	assert.Equal(t, 2, r.Ended)
	assert.Equal(t, 161*time.Second, r.End)
	assert.Equal(t, 4, r.Evicted)
	assert.Zero(t, r.Restarted)
	assert.InDelta(t, 40.0/3600, r.LostCardHours, 1e-12)
	assert.InDelta(t, 1040.0/(8*161), r.Utilisation, 1e-12)
	require.Len(t, r.Queues, 2)
	assert.InDelta(t, 840.0/3600, r.Queues[0].CardHours, 1e-12)
	assert.InDelta(t, 200.0/3600, r.Queues[1].CardHours, 1e-12)
	assert.InDelta(t, 1, r.Queues[0].Satisfied, 1e-12)
	assert.InDelta(t, 200.0/204, r.Queues[1].Satisfied, 1e-12)
	assert.Equal(t, measure.LockOut{Queue: "b", From: 10 * time.Second, Time: time.Second}, r.LockOut)
	assert.Equal(t, measure.Series{{At: 0, Amount: 8}, {At: 10 * time.Second, Amount: 4}, {At: 61 * time.Second, Amount: 8},
		{At: 100 * time.Second, Amount: 4}, {At: 161 * time.Second, Amount: 0}}, r.QueueCards[0].Allocated)
	assert.Equal(t, []measure.Waits{{Group: "a", Jobs: 1, Started: 1}, {Group: "b", Jobs: 1, Started: 1, P50: time.Second, P95: time.Second, Max: time.Second}}, r.ByQueue)
}

// TestCheckpoints is TestTinyTrace with a checkpoint each 4 s: the 4 pods of a lose 2 s each, of the 10 s that they
// have run, and have 92 s left when b ends at 61 s. The order of victims sees the checkpoints.
func TestCheckpoints(t *testing.T) {
	jobs := []trace.Job{
		jobOf("elastic", "a", 0, 100*time.Second, 8, 1, 1),
		jobOf("single", "b", 10*time.Second, 50*time.Second, 1, 1, 4),
	}
	s := setup(t, 1, two, "")
	s.Checkpoint = 4 * time.Second
	written := map[string]int{}
	r := newRun(s, jobs)
	defer r.open()()
	r.Progress = func(p Progress) {
		for _, pod := range r.live[0].pods {
			if p.Now == 10*time.Second && pod.node != nil {
				written[pod.task.Pod.Annotations[policy.CheckpointKey]]++
			}
			if pod.node == nil {
				assert.NotContains(t, pod.task.Pod.Annotations, policy.CheckpointKey, "the new pod has written none")
			}
		}
	}
	r.loop(context.Background())
	r.finish()
	assert.Equal(t, 2, r.Ended)
	assert.Equal(t, 4, r.Evicted)
	assert.InDelta(t, 4*2.0/3600, r.LostCardHours, 1e-12)
	assert.Equal(t, 153*time.Second, r.End)
	assert.Equal(t, map[string]int{epoch.Add(8 * time.Second).UTC().Format(time.RFC3339): 4}, written)
}

// withoutPlans returns a setup in which Volcano's own actions evict, without the vote of gang.
func withoutPlans(s Setup) Setup {
	s.Plugin = plugin.ProportionName
	no := false
	for i := range s.Tiers[0].Plugins {
		switch p := &s.Tiers[0].Plugins[i]; p.Name {
		case plugin.Name:
			p.Name, p.Arguments = plugin.ProportionName, nil
		case "gang":
			p.EnabledReclaimable = &no
		}
	}
	return s
}

// TestGangBegins takes the minimum of a job away: all its pods begin again.
func TestGangBegins(t *testing.T) {
	jobs := []trace.Job{
		jobOf("gang", "a", 0, 100*time.Second, 2, 2, 4),
		jobOf("single", "b", 10*time.Second, 50*time.Second, 1, 1, 4),
	}
	r := Run(context.Background(), withoutPlans(setup(t, 1, two, "")), jobs)
	assert.Equal(t, 1, r.Evicted)
	assert.Equal(t, 1, r.Restarted)
	assert.InDelta(t, 2*4*10.0/3600, r.LostCardHours, 1e-12, "both pods have run for 10 s")
	assert.Equal(t, int64(4), r.Reclaimed, "one pod was evicted for the other queue")
	assert.Equal(t, 161*time.Second, r.End, "the gang runs again once the other job has ended")
}

// TestGangIsEvictedWhole has the same jobs with plans: both pods are evicted.
func TestGangIsEvictedWhole(t *testing.T) {
	jobs := []trace.Job{
		jobOf("gang", "a", 0, 100*time.Second, 2, 2, 4),
		jobOf("single", "b", 10*time.Second, 50*time.Second, 1, 1, 4),
	}
	r := Run(context.Background(), setup(t, 1, two, ", reclaimGangs: whole"), jobs)
	assert.Equal(t, 2, r.Evicted)
	assert.Equal(t, 1, r.Restarted, "the job begins again")
	assert.Equal(t, int64(8), r.Reclaimed)
	assert.Equal(t, 161*time.Second, r.End, "the gang runs again once the other job has ended")
}

// TestNever has a job that its quota never admits. The replay still ends.
func TestNever(t *testing.T) {
	s := setup(t, 2, two, "")
	s.Queues[0].Annotations[card.QuotaKey] = `{"H":2}`
	r := Run(context.Background(), s, []trace.Job{
		jobOf("large", "a", 0, time.Minute, 1, 1, 4), jobOf("small", "a", time.Second, time.Minute, 1, 1, 1),
	})
	assert.Equal(t, 1, r.Ended)
	assert.Equal(t, 61*time.Second, r.End)
	assert.Equal(t, 2, r.All.Jobs)
	assert.Equal(t, 1, r.All.Started)
}

// made is a trace for some queues that keeps them busy.
func made(jobs int, shares []share) []trace.Job {
	var loads []trace.Load
	for _, q := range shares {
		if q.deserved == 0 {
			continue
		}
		rate := 1.1 * float64(q.deserved) / (trace.MeanCards * trace.MeanHours)
		loads = append(loads, trace.Load{Queue: q.name, Users: []string{"x", "y"}, Card: "H", Node: 8, Most: int64(q.deserved), Night: rate, Day: rate, Hours: 1})
	}
	return trace.Make(7, 365*24*time.Hour, jobs, loads)
}

// text is all that a replay found.
func text(r *Result) string {
	out := fmt.Sprintf("%+v %+v %+v %+v %+v %d %d %v %d %d %g %d", r.All, r.ByQueue, r.ByUser, r.ByCards, r.Queues, r.Ended, r.Sessions, r.End,
		r.Evicted, r.Restarted, r.LostCardHours, r.Reclaimed)
	for _, c := range r.QueueCards {
		out += fmt.Sprintf("\n%s %s %v %v %g %g %g", c.Queue, c.Card, c.Allocated, c.Deserved, c.Used, c.Due, c.Had)
	}
	return out
}

// TestSameSeed runs the same replays with one and with two processors: flat queues, and a tree.
func TestSameSeed(t *testing.T) {
	flat := []share{{"a", "", 8}, {"b", "", 8}, {"c", "", 16}}
	tree := []share{{"x", "", 0}, {"y", "", 0}, {"a", "x", 8}, {"b", "x", 8}, {"c", "y", 8}, {"d", "y", 8}}
	for name, shares := range map[string][]share{"flat": flat, "tree": tree} {
		t.Run(name, func(t *testing.T) {
			var first string
			for i, processors := range []int{1, 2, 2} {
				before := runtime.GOMAXPROCS(processors)
				r := Run(context.Background(), setup(t, 4, shares, ""), made(120, shares))
				runtime.GOMAXPROCS(before)
				require.Equal(t, 120, r.Ended)
				if i == 0 {
					first = text(r)
					require.Positive(t, r.Evicted)
				}
				require.Equal(t, first, text(r))
			}
		})
	}
}

// TestSparedSessions replays traces with all sessions and without those that are spared: the outcome is the same.
func TestSparedSessions(t *testing.T) {
	flat := []share{{"a", "", 8}, {"b", "", 8}, {"c", "", 16}}
	tree := []share{{"x", "", 0}, {"y", "", 0}, {"a", "x", 8}, {"b", "x", 8}, {"c", "y", 8}, {"d", "y", 8}}
	for name, shares := range map[string][]share{"flat": flat, "tree": tree} {
		for _, with := range []struct{ name, arguments, fairShare string }{
			{"", "", ""},
			{", fair", ", fairShareHalfLife: 12h, stateStore: none", "on"},
			{", fair namespaces", ", fairShareHalfLife: 12h, stateStore: none", "namespaces"},
		} {
			t.Run(name+with.name, func(t *testing.T) {
				results := map[bool]*Result{}
				for _, spares := range []bool{false, true} {
					s := setup(t, 4, shares, with.arguments)
					for _, q := range s.Queues {
						q.Annotations["volcano.sh/fair-share"] = with.fairShare
					}
					s.Actions = s.Actions[:2]
					require.True(t, s.maySpare())
					r := newRun(s, made(300, shares))
					r.spared.may = spares
					restore := r.open()
					r.loop(context.Background())
					restore()
					r.finish()
					results[spares] = &r.Result
				}
				t.Logf("%d sessions, and %d", results[false].Sessions, results[true].Sessions)
				assert.Less(t, results[true].Sessions, results[false].Sessions*9/10)
				results[true].Sessions = results[false].Sessions
				require.Equal(t, text(results[false]), text(results[true]))
			})
		}
	}
}

// TestAsksLess replays traces with all questions to Volcano, and without those that a replay may leave out: the outcome
// is the same.
func TestAsksLess(t *testing.T) {
	flat := []share{{"a", "", 8}, {"b", "", 8}, {"c", "", 16}}
	tree := []share{{"x", "", 0}, {"y", "", 0}, {"a", "x", 8}, {"b", "x", 8}, {"c", "y", 8}, {"d", "y", 8}}
	for name, shares := range map[string][]share{"flat": flat, "tree": tree} {
		for _, with := range []string{"", ", fairShareHalfLife: 12h, stateStore: none"} {
			t.Run(name+with, func(t *testing.T) {
				results, refused := map[bool]*Result{}, 0
				for _, less := range []bool{false, true} {
					s := setup(t, 4, shares, with)
					s.Actions = s.Actions[:2]
					jobs := made(300, shares)
					for i := range jobs { // some without cards, and some that need several nodes
						switch i % 10 {
						case 3:
							jobs[i].Cards, jobs[i].Card, jobs[i].CPU = 0, "", 4000
						case 6:
							jobs[i].Pods, jobs[i].Minimum, jobs[i].Cards = 3, 3, 5
						}
					}
					r := newRun(s, jobs)
					restore := r.open()
					require.True(t, r.order.placesOnly)
					r.order.placesOnly = less
					r.loop(context.Background())
					restore()
					r.finish()
					results[less] = &r.Result
					refused += r.order.room.refused
				}
				assert.Positive(t, refused)
				require.Equal(t, text(results[false]), text(results[true]))
			})
		}
	}
}

// TestMaySpare does not spare a session where pods are evicted, or a rule depends on the time.
func TestMaySpare(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"reclaim":   func(s *Setup) { s.Actions = append(s.Actions, plugin.NewReclaim()) },
		"sla":       func(s *Setup) { s.Tiers[1].Plugins[0].Name = "sla" },
		"a timeout": func(s *Setup) { s.Queues[0].Annotations["volcano.sh/inqueue-timeout"] = "1h" },
		"a hold":    func(s *Setup) { s.Queues[0].Annotations["volcano.sh/order"] = "nodes=1h" },
		"a budget":  func(s *Setup) { s.Queues[0].Annotations["volcano.sh/card.budget"] = `{"A":"1h/day"}` },
		"a window":  func(s *Setup) { s.Queues[0].Annotations["volcano.sh/override"] = "[]" },
	} {
		s := setup(t, 1, two, "")
		s.Actions = s.Actions[:2]
		assert.True(t, s.maySpare())
		change(&s)
		assert.False(t, s.maySpare(), name)
	}
}

// TestSeedDecides expects another seed to choose other nodes.
func TestSeedDecides(t *testing.T) {
	o := &order{index: map[string]uint64{}, nodes: 12}
	for i := range 12 {
		o.index[fmt.Sprint(i)] = uint64(i)
	}
	r := &run{Setup: &Setup{}, stock: Stock{"H": {Resource: gpu}}}
	task := r.newJob(&trace.Job{Name: "j", Namespace: "n", Pods: 1, Minimum: 1, Cards: 1, Card: "H"}).pods[0].task
	places := map[uint64]bool{}
	for seed := range uint64(8) {
		o.seed = seed
		ranks := map[uint64]bool{}
		for node := range o.index {
			ranks[o.rank(task, node)] = true
		}
		assert.Len(t, ranks, 12, "each node has a rank of its own")
		places[o.rank(task, "0")] = true
	}
	assert.Greater(t, len(places), 2)
}

// TestSeedChoosesVictims has Volcano's action reclaim on nodes that could each lose a pod. The seed chooses the node.
// Plans depend on no seed.
func TestSeedChoosesVictims(t *testing.T) {
	shares := []share{{"a", "", 32}, {"b", "", 32}}
	var jobs []trace.Job
	for i := range 4 {
		jobs = append(jobs, jobOf(fmt.Sprintf("elastic-%d", i), "a", time.Duration(10*i)*time.Second, time.Hour, 2, 1, 8))
	}
	jobs = append(jobs, jobOf("single", "b", 100*time.Second, time.Minute, 1, 1, 8))
	places := map[string]bool{}
	for seed := range uint64(8) {
		s := withoutPlans(setup(t, 8, shares, ""))
		s.Seed = seed
		r := newRun(s, jobs)
		restore := r.open()
		r.Progress = func(Progress) {
			for _, task := range r.cache.evicted {
				assert.Equal(t, r.order.node, task.NodeName, "seed %d", seed)
				places[task.NodeName] = true
			}
		}
		r.loop(context.Background())
		restore()
		assert.Equal(t, 1, r.book.Evicted)
	}
	assert.Greater(t, len(places), 1, "another seed chooses another node")
}

// TestStaleOrder has three queues of a tree that begin at once. A pod of a1 raises the share of x, and with it a2 falls
// behind b1, which waits in the same heap: the session ends there, and the next one goes on at the same time.
func TestStaleOrder(t *testing.T) {
	shares := []share{{"x", "", 0}, {"y", "", 0}, {"a1", "x", 4}, {"a2", "x", 4}, {"b1", "y", 8}}
	s := setup(t, 2, shares, "")
	s.Queues[0].Annotations[card.DeservedKey], s.Queues[1].Annotations[card.DeservedKey] = `{"H":8}`, `{"H":8}`
	var jobs []trace.Job
	for _, queue := range []string{"a1", "a2", "b1"} {
		for i := range 6 {
			jobs = append(jobs, jobOf(fmt.Sprintf("%s-%d", queue, i), queue, 0, time.Minute, 1, 1, 1))
		}
	}
	r := newRun(s, jobs)
	defer r.open()()
	stale := 0
	r.Progress = func(p Progress) {
		if r.order.freshness.stale {
			assert.Zero(t, p.Now)
			stale++
		}
	}
	r.loop(context.Background())
	assert.Positive(t, stale)
	assert.Equal(t, len(jobs), r.Ended)
	for _, c := range r.book.Close(r.now).QueueCards {
		if c.Queue == "b1" {
			assert.InDelta(t, 6, c.Allocated[0].Amount, 0, "b1 has all its pods from the beginning")
		}
	}
}

// TestInterrupt cancels a replay after some sessions.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := setup(t, 4, two, "")
	s.Progress = func(p Progress) {
		if p.Sessions == 20 {
			cancel()
		}
	}
	r := Run(ctx, s, made(120, two))
	assert.True(t, r.Partial)
	assert.Equal(t, 20, r.Sessions, "no session follows the one that was under way")
	assert.Less(t, r.Ended, 120)
	assert.Positive(t, r.Utilisation)
	assert.Positive(t, r.All.Jobs)
}

// TestFit lists jobs that a cluster cannot have.
func TestFit(t *testing.T) {
	s := setup(t, 2, two, "")
	stock := Count(s.Nodes, nil)
	assert.Equal(t, Stock{"H": {Resource: v1.ResourceName(gpu), Cards: 16, Largest: 8}}, stock)
	good := jobOf("good", "a", 0, time.Minute, 2, 2, 8)
	pod, gang := jobOf("pod", "a", 0, time.Minute, 1, 1, 9), jobOf("gang", "a", 0, time.Minute, 3, 3, 8)
	fit, notes, err := Fit([]trace.Job{good, pod, gang}, []string{"a", "b"}, stock)
	require.NoError(t, err)
	assert.Equal(t, []trace.Job{good}, fit)
	assert.Equal(t, []string{
		"left out, because they never start: 1 jobs: a pod requests more cards than any node has (8), such as team-a/pod in line 0",
		"left out, because they never start: 1 jobs: the job needs more cards than the cluster has (16), such as team-a/gang in line 0",
	}, notes)
	_, _, err = Fit([]trace.Job{jobOf("j", "aa", 0, time.Minute, 1, 1, 1)}, []string{"a", "b"}, stock)
	require.ErrorContains(t, err, `the trace has a queue that the cluster does not have: "aa"`)
	other := good
	other.Card = "H|V"
	_, _, err = Fit([]trace.Job{other}, []string{"a", "b"}, stock)
	require.ErrorContains(t, err, `the trace has a card that the cluster does not have: "V"`)
}
