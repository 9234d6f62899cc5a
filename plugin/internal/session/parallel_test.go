package session_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// crowd returns a cluster of nodes with three cards and a tree of queues. Pods run,
// or are pending and request one card, list several, or are untyped.
func crowd() *testbed.Scene {
	s := testbed.NewScene().Queue("root", "").Queue("team", "root", "quota", `{"A":9,"B":9}`)
	for i := range 6 {
		s.Node(fmt.Sprintf("a%d", i), "A", 8).Node(fmt.Sprintf("b%d", i), "B", 8).Node(fmt.Sprintf("c%d", i), "C", 8)
	}
	for i := range 4 {
		q := fmt.Sprintf("q%d", i)
		s.Queue(q, "team", "quota", `{"A":5,"B":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0,"B":0}`).
			Pods("run-"+q, q, "A|B", 2, 1, testbed.On(fmt.Sprintf("a%d", i))).Pods("wait-"+q, q, "A|B", 2, 1).
			Pods("one-"+q, q, "B", 1, 2).Pods("any-"+q, q, "", 1, 1)
	}
	return s
}

// answers returns the results of the hooks that Volcano calls concurrently for a task:
// the predicate and score of each node, and simulations on clones of the cycle state.
func answers(f *testbed.Fixture, t *testing.T, task *api.TaskInfo, others []*api.TaskInfo) (answers []string) {
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
			s.Build = session.NewCapacity
			for i := range s.Queues {
				s.Queues[i].Annotations, s.Queues[i].Capability = nil, workload.Resources{"cpu": 700, testbed.GPU: 5}
			}
		}
		f := s.Open(t)
		tasks := f.SortedTasks()
		for _, task := range tasks {
			if task.Status != api.Pending {
				continue
			}
			require.NoError(t, f.PrePredicateFn(task))
			alone := answers(f, t, task, tasks)
			require.NotEmpty(t, alone)
			var all sync.WaitGroup
			for range 16 {
				all.Add(1)
				go func() {
					defer all.Done()
					for range 3 {
						assert.Equal(t, alone, answers(f, t, task, tasks))
					}
				}()
			}
			all.Wait()
		}
		f.CheckCards(t)
	}
}

// TestParallelSessions opens sessions of two schedulers in one process at the same
// time, from one builder.
func TestParallelSessions(t *testing.T) {
	b := session.BuilderOf(session.Name)
	scenes := [2]*testbed.Scene{crowd(), crowd()}
	scenes[1].Queues[1].Annotations["volcano.sh/card.quota"] = `{"A":3}`
	var fixtures [2]*testbed.Fixture
	for i, s := range scenes {
		s.Build = b.Build
		fixtures[i] = s.Open(t)
	}
	var all sync.WaitGroup
	for i := range fixtures {
		all.Add(1)
		go func() {
			defer all.Done()
			own := fixtures[i].Own
			for range 20 {
				m := b.Lend()
				o := session.Open(fixtures[i].Session, own.Variant, own.Settings, m)
				assert.Equal(t, []float64{9000, 3000}[i], o.Index.RealCapability.Row(o.Index.Lookup("team")).Get(o.Cards.Stock()[0].Dim))
				b.GiveBack(m)
			}
		}()
	}
	all.Wait()
}
