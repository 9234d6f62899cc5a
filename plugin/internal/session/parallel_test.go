package session

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// crowd returns a cluster of nodes with three cards and a tree of queues. Pods run,
// or are pending and request one card, list several, or are untyped.
func crowd() *scene {
	s := newScene().queue("root", "").queue("team", "root", "quota", `{"A":9,"B":9}`)
	for i := range 6 {
		s.node(fmt.Sprintf("a%d", i), "A", 8).node(fmt.Sprintf("b%d", i), "B", 8).node(fmt.Sprintf("c%d", i), "C", 8)
	}
	for i := range 4 {
		q := fmt.Sprintf("q%d", i)
		s.queue(q, "team", "quota", `{"A":5,"B":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0,"B":0}`).
			pods("run-"+q, q, "A|B", 2, 1, on(fmt.Sprintf("a%d", i))).pods("wait-"+q, q, "A|B", 2, 1).
			pods("one-"+q, q, "B", 1, 2).pods("any-"+q, q, "", 1, 1)
	}
	return s
}

// answers returns the results of the hooks that Volcano calls concurrently for a task:
// the predicate and score of each node, and simulations on clones of the cycle state.
func (f *fixture) answers(t *testing.T, task *api.TaskInfo, others []*api.TaskInfo) (answers []string) {
	state := f.GetCycleState(task.UID).Clone()
	queue := f.Queues[f.Jobs[task.Job].Queue]
	for i, info := range f.NodeList {
		node := f.Nodes[info.Name]
		score, err := f.NodeOrderFn(task, node)
		assert.NoError(t, err)
		clone, other := state.Clone(), others[i%len(others)]
		if other.NodeName != "" {
			assert.NoError(t, f.SimulateRemoveTaskFn(t.Context(), clone, task, other, nil))
		} else {
			assert.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, other, node))
		}
		answers = append(answers, fmt.Sprint(node.Name, f.PredicateFn(task, node), score, f.SimulatePredicateFn(t.Context(), clone, task, node),
			f.SimulateAllocatableFn(t.Context(), clone, queue, task)))
	}
	return answers
}

// TestParallelHooksAgree calls the hooks from 16 goroutines. Each gets the answers that
// one goroutine alone gets. make race runs the test with the race detector.
func TestParallelHooksAgree(t *testing.T) {
	for _, cards := range []bool{true, false} {
		s := crowd()
		if !cards {
			s.build = NewCapacity
			for i := range s.Queues {
				s.Queues[i].Annotations, s.Queues[i].Capability = nil, workload.Resources{"cpu": 700, gpuName: 5}
			}
		}
		f := s.open(t)
		tasks := f.sortedTasks()
		for _, task := range tasks {
			if task.Status != api.Pending {
				continue
			}
			require.NoError(t, f.PrePredicateFn(task))
			alone := f.answers(t, task, tasks)
			require.NotEmpty(t, alone)
			var all sync.WaitGroup
			for range 16 {
				all.Add(1)
				go func() {
					defer all.Done()
					for range 3 {
						assert.Equal(t, alone, f.answers(t, task, tasks))
					}
				}()
			}
			all.Wait()
		}
		f.checkCards(t)
	}
}

// TestParallelSessions opens sessions of two schedulers in one process at the same
// time, from one builder.
func TestParallelSessions(t *testing.T) {
	b := &Builder{Variant: cardBuilder.Variant}
	scenes := [2]*scene{crowd(), crowd()}
	scenes[1].Queues[1].Annotations["volcano.sh/card.quota"] = `{"A":3}`
	var fixtures [2]*fixture
	for i, s := range scenes {
		s.build = b.Build
		fixtures[i] = s.open(t)
	}
	var all sync.WaitGroup
	for i := range fixtures {
		all.Add(1)
		go func() {
			defer all.Done()
			own := fixtures[i].own
			for range 20 {
				m := b.lend()
				o := openSession(fixtures[i].Session, own.variant, own.Settings, m)
				assert.Equal(t, []float64{9000, 3000}[i], o.Index.RealCapability.Row(o.Index.Lookup("team")).Get(o.Cards.Stock()[0].Dim))
				b.giveBack(m)
			}
		}()
	}
	all.Wait()
}
