package bench

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// BenchmarkScale opens sessions and asks on clusters that grow in all directions at once. Shape
// 2XL needs 16 GiB of memory, so each cluster has a process of its own (make bench MODE=scale).
// Upstream stops at XL.
func BenchmarkScale(b *testing.B) {
	if !*full {
		b.Skip("needs -full")
	}
	for _, shape := range []workload.Shape{workload.L, workload.XL, workload.XXL} {
		b.Run("shape="+shape.Name, func(b *testing.B) {
			b.Run("plugin=capacity", func(b *testing.B) {
				c := contentOf(b, shape.Make(1))
				impls := []implementation{c.floor(), implementations[1]}
				if shape.Name != workload.XXL.Name {
					impls = append(impls, implementations[0])
				}
				grow(b, c, impls)
			})
			b.Run("plugin=capacity-card", func(b *testing.B) {
				c, err := newCardContent(shape, asks{cards: 1})
				if err != nil {
					b.Fatal(err)
				}
				grow(b, c, c.compared())
			})
		})
	}
}

// grow measures the memory that a plugin keeps between sessions, the opening of a session, and two hooks.
func grow(b *testing.B, c *content, impls []implementation) {
	b.Run("of=Memory", func(b *testing.B) {
		for _, impl := range impls {
			b.Run("impl="+impl.name, func(b *testing.B) {
				s := c.bed(impl)
				before := heap()
				for b.Loop() {
					opening(b, s)()
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(heap())-float64(before), "kept-B")
			})
		}
	})
	b.Run("of=SessionOpen", func(b *testing.B) { measure(b, c, opening, impls...) })
	b.Run("of=Allocatable", func(b *testing.B) {
		measure(b, c, func(b *testing.B, s *bed) func() bool {
			s.open(b)
			queue, task := s.queue(s.plain), s.task(s.plain, 0) // from XL on, more GPUs run than there are
			return func() bool { return s.Allocatable(queue, task) }
		}, impls...)
	})
	b.Run("of=PrePredicate", func(b *testing.B) { measure(b, c, prePredicate, impls...) })
}

// BenchmarkCycleScale enqueues and allocates 2,000 pods on 10,000 nodes with 5,050 queues and 18,000 running pods.
// Upstream would keep 30 MiB for each pod until the session closes.
func BenchmarkCycleScale(b *testing.B) {
	if !*full {
		b.Skip("needs -full")
	}
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	b.Run("shape=XL", func(b *testing.B) {
		cycle{
			cluster: workload.WaitingXL.Make(1),
			actions: func() []framework.Action { return []framework.Action{enqueue.New(), allocate.New()} },
			done:    bound(2000),
		}.compare(b, later, none, implementations[1])
	})
}
