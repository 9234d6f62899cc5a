package session_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// cycles is a sequence of scheduling cycles with decisions that take effect: bound pods run, and evicted pods are
// pending again in the next cycle.
type cycles struct{ *testbed.Sequence }

func newCycles(t *testing.T, s *testbed.Scene) cycles { return cycles{testbed.NewSequence(t, s)} }

// next runs one cycle, and returns the pods that it evicts.
func (d cycles) next(t *testing.T) []string {
	t.Helper()
	f := d.Open(t).Run(t, enqueue.New(), allocate.New(), session.NewReclaim())
	for i := range d.Jobs {
		job := &d.Jobs[i]
		for k := range job.Tasks {
			task := &job.Tasks[k]
			if node, ok := f.Cache.Bound[task.Name]; ok {
				job.Phase, task.Status, task.Node = workload.Running, workload.TaskRunning, node
			}
			if slices.Contains(f.Cache.Evicted, task.Name) {
				task.Status, task.Node = workload.TaskPending, ""
			}
		}
	}
	return f.Evicted()
}

// evictions runs n cycles, and returns the number of evictions in the first half of
// them and in the second.
func (d cycles) evictions(t *testing.T, n int) (early, late int) {
	t.Helper()
	for i := range n {
		if evicted := len(d.next(t)); i < n/2 {
			early += evicted
		} else {
			late += evicted
		}
	}
	return early, late
}

// running returns the number of running pods of a job.
func (d cycles) running(job string) (n int) {
	for _, j := range d.Jobs {
		for _, task := range j.Tasks {
			if j.Name == job && task.Status == workload.TaskRunning {
				n++
			}
		}
	}
	return n
}

func sharing(cores, gib int64) *testbed.Scene {
	s := &testbed.Scene{Build: session.NewCapacity}
	s.Nodes = []workload.Node{{Name: "node", Allocatable: workload.Resources{"cpu": cores * 1000, "memory": gib << 30, "pods": 500}}}
	return s
}

// exchanges are clusters in which queues reclaim from one another without end when
// reclaim considers the victim's queue alone.
var exchanges = map[string]struct {
	scene func() *testbed.Scene
	want  map[string]int // running pods at the end where reclaim is damped
}{
	// mine exceeds its deserved memory, so other comes first once it has lost a pod.
	"one dimension is over, another is not": {func() *testbed.Scene {
		return sharing(20, 20).Deserving("mine", "", 10, 10).Deserving("other", "", 10, 10).
			Pods("mine", "mine", "", 4, 0, batch(4, 1, 3)).Pods("claim", "mine", "", 1, 0, batch(0, 1, 3)).Pods("other", "other", "", 4, 0, batch(4, 4, 2))
	}, map[string]int{"mine": 4, "claim": 0, "other": 4}},
	// other exceeds its deserved, its parent does not, and the parent of mine does.
	"the parents are the other way round": {func() *testbed.Scene {
		return sharing(20, 200).Queue("root", "").Deserving("a", "root", 10, 100).Deserving("b", "root", 10, 100).
			Deserving("mine", "a", 5, 100).Deserving("twin", "a", 9, 100).Deserving("other", "b", 5, 100).
			Pods("mine", "mine", "", 2, 0, batch(2, 1, 1)).Pods("claim", "mine", "", 1, 0, batch(0, 1, 1)).Pods("twin", "twin", "", 9, 0, batch(9, 1, 1)).Pods("other", "other", "", 9, 0, batch(9, 1, 1))
	}, map[string]int{"mine": 2, "claim": 0, "twin": 9, "other": 9}},
	// other borrows, and goes first.
	"the borrower has the higher priority": {func() *testbed.Scene {
		s := sharing(10, 100).Deserving("mine", "", 5, 50).Deserving("other", "", 5, 50).
			Pods("claim", "mine", "", 5, 0, batch(0, 1, 1)).Pods("other", "other", "", 10, 0, batch(10, 1, 1))
		s.Queues[1].Priority = 10
		return s
	}, map[string]int{"claim": 1, "other": 9}}, // the job of claim needs one pod
	// other has one large pod. Once that is evicted, other comes first.
	"the victim is large": {func() *testbed.Scene {
		return sharing(10, 100).Deserving("mine", "", 5, 50).Deserving("other", "", 5, 50).
			Pods("mine", "mine", "", 1, 0, batch(1, 1, 1)).Pods("claim", "mine", "", 4, 0, batch(0, 1, 1)).Pods("other", "other", "", 1, 0, batch(1, 9, 1))
	}, map[string]int{"mine": 1, "claim": 4, "other": 0}},
}

// TestExchangesEnd runs 100 cycles on each of exchanges. With damping the evictions end. They end as well where a
// reclaimer gets the resources of its victims.
func TestExchangesEnd(t *testing.T) {
	for name, exchange := range exchanges {
		for _, v := range []arguments.Variant{session.BuilderOf(session.CapacityName).Variant, session.BuilderOf(session.Name).Variant} {
			t.Run(v.Name+"/"+name, func(t *testing.T) {
				build := (&session.Builder{Variant: v}).Build
				endless := newCycles(t, exchange.scene())
				endless.Build = build
				before := sumOf(t, report.AddedSeries(), "volcano_queue_exchanges_total")
				_, late := newCycles(t, endless.Scene).evictions(t, 100)
				found := sumOf(t, report.AddedSeries(), "volcano_queue_exchanges_total")
				if v.Name == session.Name {
					assert.Zero(t, late, "the reclaimer has what its victims left, and the queues rest")
				} else {
					assert.GreaterOrEqual(t, late, 25, "this cluster no longer shows an endless exchange")
					assert.Greater(t, found, before+10, "it is not reported")
				}

				damped := exchange.scene()
				damped.Build, damped.Arguments = build, framework.Arguments{"reclaimCompares": "damped=1"}
				d := newCycles(t, damped)
				_, late = d.evictions(t, 100)
				assert.Zero(t, late)
				assert.Equal(t, found, sumOf(t, report.AddedSeries(), "volcano_queue_exchanges_total"))
				for job, want := range exchange.want {
					assert.Equal(t, want, d.running(job), job)
				}
			})
		}
	}
}

// sumOf adds up all series of a name.
func sumOf(t *testing.T, all []report.Series, name string) (sum float64) {
	t.Helper()
	families, err := testbed.RegistryOf(all).Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestDampedReclaimOfCards reclaims a card for a queue that exceeds its deserved cpu.
// It may where pods with cards are exempt from cpu quotas.
func TestDampedReclaimOfCards(t *testing.T) {
	for free, want := range map[bool]int{true: 1, false: 0} {
		s := testbed.NewScene().Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
			Pods("plain", "mine", "", 5, 0, testbed.On("a")).Pods("run", "other", "A", 4, 1, testbed.On("a")).Pods("wait", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		s.Queues[0].Deserved = workload.Resources{"cpu": 100}
		s.Arguments = framework.Arguments{"cardUnlimitedCpuMemory": free, "reclaimCompares": "damped=1"}
		assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), want, "exempt: %t", free)
	}
}

// TestDampedOrderOfCards orders two queues with pending pods. Damping puts the one
// first that deserves the cards that it requests.
func TestDampedOrderOfCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Lending("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`).Lending("other", `{"A":8}`, `{"A":4}`, `{"A":0}`).
		Pods("busy", "mine", "A", 2, 1, testbed.On("a")).Pods("wait", "mine", "A|B", 1, 2, testbed.InPhase(workload.Inqueue)).
		Pods("large", "other", "A", 1, 5, testbed.InPhase(workload.Inqueue))
	for compares, want := range map[string]bool{"queue": false, "damped=1": true} {
		s.Arguments = framework.Arguments{"reclaimCompares": compares}
		f := s.Open(t)
		assert.Equal(t, want, f.QueueOrderFn(f.Queue("mine"), f.Queue("other")), compares)
	}
}

// TestOrderByEachPendingPod orders two queues. One of them borrows and has the higher priority. The other one goes
// first if it deserves one of its pending pods. Pods of other sizes or with other cards do not matter. Gated pods and
// pods of pending jobs do not matter either.
func TestOrderByEachPendingPod(t *testing.T) {
	for name, test := range map[string]struct {
		pods func(*testbed.Scene)
		want bool
	}{
		"none":                       {func(s *testbed.Scene) {}, false},
		"one":                        {func(s *testbed.Scene) { s.Pods("one", "mine", "A", 1, 1) }, true},
		"one beside another card":    {func(s *testbed.Scene) { s.Pods("one", "mine", "A", 1, 1).Pods("other", "mine", "C", 1, 1) }, true},
		"a list":                     {func(s *testbed.Scene) { s.Pods("one", "mine", "C|A", 1, 1) }, true},
		"an untyped pod":             {func(s *testbed.Scene) { s.Pods("one", "mine", "", 1, 1) }, true},
		"too large":                  {func(s *testbed.Scene) { s.Pods("one", "mine", "A", 1, 5) }, false},
		"another card":               {func(s *testbed.Scene) { s.Pods("one", "mine", "C", 1, 1) }, false},
		"one of a list is too large": {func(s *testbed.Scene) { s.Pods("one", "mine", "B|A", 1, 4) }, true},
		"small in one dimension each": {func(s *testbed.Scene) {
			s.Pods("cpu", "mine", "", 1, 0, batch(0, 1, 9)).Pods("memory", "mine", "", 1, 0, batch(0, 9, 1))
		}, false},
		"both small": {func(s *testbed.Scene) {
			s.Pods("large", "mine", "", 1, 0, batch(0, 9, 9)).Pods("small", "mine", "", 1, 0, batch(0, 1, 1))
		}, true},
		"without requests":           {func(s *testbed.Scene) { s.Pods("none", "mine", "", 1, 0, batch(0, 0, 0)) }, false},
		"one of two that are needed": {func(s *testbed.Scene) { s.Pods("one", "mine", "A", 1, 1, func(j *workload.Job) { j.MinMember = 2 }) }, false},
	} {
		for phase, counts := range map[workload.Phase]bool{workload.Inqueue: true, workload.Pending: false} {
			s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Node("c", "C", 8).
				Lending("mine", `{"A":8,"B":8}`, `{"A":4,"B":2}`, `{"A":0,"B":0}`).Lending("other", `{"A":8}`, `{"A":2}`, `{"A":0}`)
			s.Queues[0].Deserved, s.Queues[1].Priority = workload.Resources{"cpu": 8000, "memory": 8 << 30}, 1
			s.Arguments = framework.Arguments{"reclaimCompares": "damped=1"}
			test.pods(s)
			for i := range s.Jobs {
				s.Jobs[i].Phase = phase
			}
			f := s.Open(t)
			assert.Equal(t, test.want && counts, f.QueueOrderFn(f.Queue("mine"), f.Queue("other")), "%s, %s", name, phase)
			for i := range s.Jobs {
				s.Jobs[i].Tasks[0].Gated = true
			}
			f = s.Open(t)
			assert.False(t, f.QueueOrderFn(f.Queue("mine"), f.Queue("other")), "%s, gated", name)
		}
	}
}

// crowded returns a random cluster of four queues, in a tree or flat, with pods that request more than the cluster has.
func crowded(seed uint64) *testbed.Scene {
	r := rand.New(rand.NewPCG(seed, 0xda))
	s, hierarchy := sharing(24, 24), r.IntN(2) == 0
	if hierarchy {
		s.Queue("root", "").Deserving("a", "root", 12, 12).Deserving("b", "root", 12, 12)
	}
	freeCores, freeGiB := int64(24), int64(24)
	for i := range 4 {
		name, parent := fmt.Sprintf("q%d", i), ""
		if hierarchy {
			parent = []string{"a", "b"}[i/2]
		}
		s.Deserving(name, parent, 6, 6)
		for k := range 1 + r.IntN(3) {
			cores, gib, n, running := int64(1+r.IntN(6)), int64(1+r.IntN(6)), 2+r.IntN(8), 0
			for running < n && r.IntN(3) > 0 && freeCores >= cores && freeGiB >= gib {
				freeCores, freeGiB, running = freeCores-cores, freeGiB-gib, running+1
			}
			s.Pods(fmt.Sprintf("%s-%d", name, k), name, "", n, 0, batch(running, cores, gib))
		}
	}
	return s
}

// TestRandomExchangesEnd runs cycles on random clusters. Queues reclaim the resources that they deserve, and then the
// evictions end.
func TestRandomExchangesEnd(t *testing.T) {
	endless, evicted := 0, 0
	for seed := range uint64(25) {
		if _, late := newCycles(t, crowded(seed)).evictions(t, 30); late > 0 {
			endless++
		}
		damped := crowded(seed)
		for i := range damped.Queues {
			damped.Queues[i].Priority = int32(seed) % 3 * int32(i) % 5
		}
		damped.Arguments = framework.Arguments{"reclaimCompares": "damped=2"}
		early, late := newCycles(t, damped).evictions(t, 100)
		require.Zero(t, late, "seed %d", seed)
		evicted += early
	}
	t.Logf("without damping %d exchanges do not end; with it %d pods are evicted", endless, evicted)
	assert.Positive(t, endless, "the clusters no longer show endless exchanges")
	assert.Greater(t, evicted, 10, "damped reclaim evicts hardly any pod")
}

// TestOrderByPodsThatCanRun orders two queues. One of them borrows and has the higher priority. The other one goes
// first if it deserves one of its pending pods that can get a node. Node b has no cpu left.
func TestOrderByPodsThatCanRun(t *testing.T) {
	const npu = "example.com/npu"
	groups := map[string]any{"g": map[string]any{"A": 1, "N": 1}, "h": map[string]any{"A": 1}} // they share A, so they only bound
	one, both := workload.Resources{testbed.GPU: 1}, workload.Resources{testbed.GPU: 1, npu: 1}
	bound, reject := framework.Arguments{arguments.CardGroups: groups}, framework.Arguments{arguments.UntypedCards: "reject"}
	for name, test := range map[string]struct {
		arguments framework.Arguments
		request   workload.Resources
		cards     string
		want      bool
	}{
		"a card of a full node":                    {nil, one, "B", false},
		"the second card of a list":                {nil, one, "B|A", true},
		"an untyped pod":                           {nil, one, "", true},
		"an untyped pod that is refused":           {reject, one, "", false},
		"cards of two resources":                   {nil, both, "", true},
		"cards of two resources beyond a group's":  {bound, both, "", false},
		"a card of one resource, within the group": {bound, one, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"nvidia.com/gpu.product": "A", npu + ".product": "N"}
			s := testbed.NewScene().MixedNode("a", labels, workload.Resources{testbed.GPU: 8, npu: 8}).
				Node("b", "B", 8).Lending("mine", `{"A":8,"B":8,"N":8,"@g":1}`, `{"A":4,"B":4,"N":4}`, `{"A":0,"B":0,"N":0}`).
				Lending("other", `{"A":8}`, `{"A":2}`, `{"A":0}`).Pods("one", "mine", test.cards, 1, 0, testbed.InPhase(workload.Inqueue)).
				Pods("full", "other", "", 1, 0, testbed.On("b"))
			for resource, n := range test.request {
				s.Jobs[0].Tasks[0].Request[resource] = n
			}
			s.Jobs[1].Tasks[0].Request["cpu"] = 64000
			s.Queues[0].Deserved, s.Queues[1].Priority = workload.Resources{"cpu": 8000, "memory": 8 << 30}, 1
			s.Arguments = framework.Arguments{"reclaimCompares": "damped=1"}
			maps.Copy(s.Arguments, test.arguments)
			f := s.Open(t)
			assert.Equal(t, test.want, f.QueueOrderFn(f.Queue("mine"), f.Queue("other")))
		})
	}
}

// TestOrderByPodsWithInitContainers has pods that request the same, except for their init containers. At most one of
// them can get a node.
func TestOrderByPodsWithInitContainers(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Lending("mine", `{"A":8}`, `{"A":4}`, `{"A":0}`).Lending("other", `{"A":8}`, `{"A":2}`, `{"A":0}`).
		Pods("pods", "mine", "A", 64, 1, testbed.InPhase(workload.Inqueue))
	s.Queues[0].Deserved, s.Queues[1].Priority = workload.Resources{"cpu": 8000, "memory": 8 << 30}, 1
	s.Arguments = framework.Arguments{"reclaimCompares": "damped=1"}
	for fits, want := range map[string]bool{"pods-0": true, "none": false} {
		f := s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
			for _, job := range info.Jobs {
				for _, task := range job.Tasks {
					if task.InitResreq = task.Resreq.Clone(); task.Name != fits {
						task.InitResreq.MilliCPU = 1e9
					}
				}
			}
		})
		assert.Equal(t, want, f.QueueOrderFn(f.Queue("mine"), f.Queue("other")), fits)
	}
}
