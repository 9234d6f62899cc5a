package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// BenchmarkPrePredicate takes the snapshot that every pending task gets.
func BenchmarkPrePredicate(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { measure(b, theLarge(b), prePredicate, theLarge(b).comparedWithNone()...) })
}

func prePredicate(b *testing.B, s *bed) func() bool {
	s.open(b)
	task := s.task(s.waits, 0)
	b.Cleanup(func() { s.drop(task) })
	return func() bool { return s.PrePredicateFn(task) == nil }
}

// drop drops the snapshot of a task.
func (s *bed) drop(task *api.TaskInfo) { s.GetCycleState(task.UID).Delete(fwk.StateKey(s.plugin)) }

// BenchmarkSimulate clones a snapshot, takes 8 tasks out of the clone, and asks
// whether another fits; it does, and did not before.
func BenchmarkSimulate(b *testing.B) {
	b.Run("shape=L/removed=8", func(b *testing.B) { measure(b, theLarge(b), simulate, theLarge(b).compared()...) })
}

func simulate(b *testing.B, s *bed) func() bool {
	s.open(b)
	queue, task := s.queue(s.stuck), s.task(s.stuck, 0)
	leaving := s.tasks(s.neighbours, 8)
	if len(leaving) < 8 {
		b.Fatalf("%d tasks to remove", len(leaving))
	}
	leaving = leaving[:8]
	b.Cleanup(func() { s.drop(task) })
	if err := s.PrePredicateFn(task); err != nil {
		b.Fatal(err)
	}
	ctx, state := context.Background(), s.GetCycleState(task.UID)
	if s.SimulateAllocatableFn(ctx, state, queue, task) {
		b.Fatal("the task fits at once")
	}
	return func() bool {
		clone := state.Clone()
		for _, t := range leaving {
			if err := s.SimulateRemoveTaskFn(ctx, clone, task, t, nil); err != nil {
				return false
			}
		}
		return s.SimulateAllocatableFn(ctx, clone, queue, task)
	}
}

// BenchmarkSimulateParallel is Simulate from 16 goroutines on the clones of one
// snapshot, as in topology-aware preemption.
func BenchmarkSimulateParallel(b *testing.B) {
	b.Run("shape=L/removed=8", func(b *testing.B) {
		for _, impl := range implementations {
			b.Run("impl="+impl.name, func(b *testing.B) {
				call := simulate(b, theLarge(b).bed(impl))
				b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if !call() {
							b.Error("the task does not fit")
						}
					}
				})
			})
		}
	})
}

// BenchmarkKept measures the memory that is kept for each pending task that has a
// snapshot, until the session closes.
func BenchmarkKept(b *testing.B) {
	const tasks = 100
	b.Run(fmt.Sprintf("shape=L/tasks=%d", tasks), func(b *testing.B) {
		for _, impl := range implementations {
			b.Run("impl="+impl.name, func(b *testing.B) {
				s := theLarge(b).bed(impl)
				s.open(b)
				pending := s.pending(tasks)
				var kept uint64
				for b.Loop() {
					before := heap()
					for _, task := range pending {
						if err := s.PrePredicateFn(task); err != nil {
							b.Fatal(err)
						}
					}
					kept += heap() - before
					for _, task := range pending {
						s.drop(task)
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(kept)/float64(b.N*tasks), "kept-B/task")
			})
		}
	})
}

// pending returns so many pending tasks.
func (s *bed) pending(n int) []*api.TaskInfo {
	var tasks []*api.TaskInfo
	for _, j := range s.Cluster.Jobs {
		if j.Phase == workload.Running {
			continue
		}
		for i := range j.Tasks {
			if len(tasks) < n {
				tasks = append(tasks, s.task(j, i))
			}
		}
	}
	return tasks
}

// heap returns the bytes that are reachable.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
