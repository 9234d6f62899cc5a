package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// borrowers is a tree without a quota of the root: x and z may borrow what y is guaranteed
// and does not use.
func borrowers() *scene {
	return newScene().node("a", "A", 8).queue("root", "").
		queue("x", "root", "quota", `{"A":8}`, "guarantee", `{"A":3}`).
		queue("y", "root", "quota", `{"A":8}`, "guarantee", `{"A":3}`).
		queue("z", "root", "quota", `{"A":8}`, "guarantee", `{"A":0}`)
}

// TestGuaranteesStayFree allocates in a tree whose root has no card quota. What a queue is
// guaranteed stays free for it, whoever else asks.
func TestGuaranteesStayFree(t *testing.T) {
	many := func(s *scene, queue string, n int) { s.pods(queue, queue, "A", n, 1, members(0)) }
	for name, test := range map[string]struct {
		pods func(*scene)
		want map[string]int // bound pods of the queues together, by card
	}{
		"one borrower": {func(s *scene) { many(s, "x", 8) }, map[string]int{"x": 5}},
		"a gang of eight": {func(s *scene) {
			s.pods("x", "x", "A", 8, 1, members(8))
		}, map[string]int{"x": 0}},
		"two borrowers": {func(s *scene) { many(s, "x", 8); many(s, "z", 8) }, nil},
		"a list": {func(s *scene) {
			s.pods("x", "x", "B|A", 8, 1, members(0))
		}, map[string]int{"x": 5}},
		"untyped pods":            {func(s *scene) { s.pods("x", "x", "", 8, 1, members(0)) }, map[string]int{"x": 5}},
		"the owner takes its own": {func(s *scene) { many(s, "y", 8) }, map[string]int{"y": 5}},
		"it is used": {func(s *scene) {
			s.pods("run", "y", "A", 3, 1, on("a"))
			many(s, "x", 8)
		}, map[string]int{"x": 5}},
		"an inner queue without a quota": {func(s *scene) {
			s.queue("team", "root").queue("t1", "team", "quota", `{"A":8}`, "guarantee", `{"A":0}`).queue("t2", "team", "quota", `{"A":8}`, "guarantee", `{"A":2}`)
			many(s, "t1", 8)
		}, nil}, // 8 − 3 − 3 − 2: nothing
	} {
		t.Run(name, func(t *testing.T) {
			s := borrowers()
			test.pods(s)
			f := s.open(t).schedule(t)
			for queue, want := range test.want {
				assert.Equal(t, want, f.placed(queue)["A"], queue)
			}
			used := map[string]float64{}
			kept := 0.0
			for queue, guarantee := range map[string]float64{"x": 3, "y": 3, "z": 0, "t2": 2} {
				if f.own.Index.Lookup(queue) >= 0 {
					used[queue] = f.cardsOf(queue, "A")
					kept += max(0, guarantee-used[queue])
				}
			}
			assert.LessOrEqual(t, f.cardsOf("root", "A")+kept, 8.0, "what is guaranteed and not used is free: %v", used)
			if name == "one borrower" {
				assert.Contains(t, f.job("x").JobFitErrors, "What is left at queue <root> is guaranteed to other queues: requested <1> of <A>")
			}
		})
	}
}

// TestGuaranteesAboveTheStock has more guaranteed than the nodes have. Each queue can use
// what there is, up to its guarantee, and nobody is blocked.
func TestGuaranteesAboveTheStock(t *testing.T) {
	s := newScene().node("a", "A", 4).queue("root", "").
		queue("x", "root", "quota", `{"A":8}`, "guarantee", `{"A":3}`).queue("y", "root", "quota", `{"A":8}`, "guarantee", `{"A":3}`).
		pods("x", "x", "A", 8, 1, members(0))
	assert.Equal(t, map[string]int{"A": 3}, s.open(t).schedule(t).placed("x"))
}

// TestGuaranteesWithoutABoundOfTheRoot has rootCapability: unlimited. cpu is given away as
// upstream does, unless guarantees are kept; jobs are admitted either way.
func TestGuaranteesWithoutABoundOfTheRoot(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := &scene{build: NewCapacity, arguments: framework.Arguments{"rootCapability": "unlimited", "keepGuarantees": keep}}
		s.Nodes = []workload.Node{{Name: "node", Allocatable: workload.Resources{"cpu": 8000, "memory": 64 << 30, "pods": 100}}}
		s.queue("root", "").queue("x", "root").queue("y", "root").batch("x", "x", 8, 0, 1, 1)
		s.Queues[0].Capability = nil
		s.Queues[2].Guarantee = workload.Resources{"cpu": 3000}
		for i := range s.Jobs {
			s.Jobs[i].MinResources = workload.Resources{"cpu": 16000}
		}
		f := s.open(t)
		assert.True(t, f.JobEnqueueable(f.job("x")))
		want := 8
		if keep {
			want = 5
		}
		f.schedule(t)
		assert.Len(t, f.cache.Bound, want, "keepGuarantees: %t", keep)
		if keep {
			assert.Contains(t, f.job("x").JobFitErrors, "What is left at queue <root> is guaranteed to other queues")
		}
	}
}

// TestGuaranteesWithoutLostNodes loses a node with four pods of x. They do not take from what
// is left: x and z can use it, except what y is guaranteed.
func TestGuaranteesWithoutLostNodes(t *testing.T) {
	for name, test := range map[string]struct {
		build     framework.PluginBuilder
		arguments framework.Arguments
		cards     bool
		lost      []func(*workload.Job)
	}{
		"cards":                                {New, nil, true, nil},
		"cards of pods that are being deleted": {New, nil, true, []func(*workload.Job){terminate(4)}},
		"cpu":                                  {NewCapacity, framework.Arguments{"keepGuarantees": true}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene().node("a", "A", 4)
			s.build, s.arguments = test.build, test.arguments
			card, gpus := "A", int64(1)
			if test.cards {
				s.lending("x", `{"A":8}`, `{"A":0}`, `{"A":0}`).lending("y", `{"A":8}`, `{"A":2}`, `{"A":2}`).lending("z", `{"A":8}`, `{"A":0}`, `{"A":0}`)
			} else {
				card, gpus = "", 0
				s.Nodes[0].Allocatable["cpu"] = 400
				s.queue("x", "").queue("y", "").queue("z", "")
				s.Queues[1].Guarantee = workload.Resources{"cpu": 200}
			}
			s.pods("run", "x", card, 4, gpus, append([]func(*workload.Job){on("lost")}, test.lost...)...).
				pods("more", "x", card, 1, gpus).pods("z", "z", card, 3, gpus)
			f := s.open(t).schedule(t)
			assert.Len(t, f.cache.Bound, 2, "%v", f.cache.Bound)
		})
	}
}

// TestGoneCardsRaiseTheStock has eight pods of a queue hold A of a node that is lost, or has another
// card now. They take nothing of the node that is left: the queue can use it up to its quota, except
// what others are guaranteed.
func TestGoneCardsRaiseTheStock(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"lost":      func(s *scene) { s.Nodes = s.Nodes[:1] },
		"relabeled": func(s *scene) { s.Nodes[1].Labels = map[string]string{"nvidia.com/gpu.product": "B"} },
		"unlabeled": func(s *scene) { s.Nodes[1].Labels = nil },
	} {
		for _, parent := range []string{"", "root"} {
			for _, build := range []framework.PluginBuilder{New, NewCapacity} {
				t.Run(name+"/"+parent+"/"+build(nil).Name(), func(t *testing.T) {
					s := newScene().node("a", "A", 8).node("n", "A", 8).
						queue("q", parent, "quota", `{"A":16}`, "guarantee", `{"A":0}`).queue("owner", parent, "quota", `{"A":3}`).
						pods("run", "q", "A", 8, 1, on("n")).pods("next", "q", "A", 8, 1, members(0))
					s.build = build
					run := newSequence(t, s)
					run.open(t)
					change(s)
					want := map[string]int{"A": 5}
					if run.builder.variant.Scalars && name == "lost" && parent == "" {
						want = map[string]int{} // the scalar nvidia.com/gpu counts as upstream's
					}
					assert.Equal(t, want, run.open(t).schedule(t).placed("next"))
					if name == "lost" {
						run.builder = &builder{variant: run.builder.variant} // a restart
						assert.Equal(t, want, run.open(t).schedule(t).placed("next"))
					}
				})
			}
		}
	}
}

// TestGuaranteesWithoutUnlabeledNodes lets cards begin to count in a queue with pods on a node
// without a label. They are charged for A, which the node does not give, so they take nothing
// of the node that does.
func TestGuaranteesWithoutUnlabeledNodes(t *testing.T) {
	s := newScene().mixedNode("n", nil, workload.Resources{gpuName: 8}).node("z", "A", 4).queue("late", "").
		lending("q", `{"A":8}`, `{"A":0}`, `{"A":0}`).lending("owner", `{"A":8}`, `{"A":1}`, `{"A":1}`).
		pods("old", "late", "A", 2, 1, on("n")).pods("new", "q", "A", 4, 1)
	s.build = NewCapacity
	run := newSequence(t, s)
	run.open(t)
	s.Queues[0].Annotations["volcano.sh/card.quota"] = `{"A":2}`
	s.Queues[0].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
	f := run.open(t).schedule(t)
	assert.Equal(t, 2.0, f.cardsOf("late", "A"))
	assert.Equal(t, map[string]int{"A": 3}, f.placed("new"), "4, less the guarantee")
}
