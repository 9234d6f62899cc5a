package bench

import (
	"testing"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// opening is OnSessionOpen and OnSessionClose, with the queues as they were in the
// session before.
func opening(b *testing.B, s *bed) func() bool {
	p := s.new(nil)
	p.OnSessionOpen(s.Session)
	if !s.Allocatable(s.queue(s.plain), s.task(s.plain, 0)) || s.Allocatable(s.queue(s.stuck), s.task(s.stuck, 0)) {
		b.Fatal("the session was not opened")
	}
	p.OnSessionClose(s.Session)
	return func() bool {
		p := s.new(nil)
		p.OnSessionOpen(s.Session)
		p.OnSessionClose(s.Session)
		return true
	}
}

// BenchmarkSessionOpen is the opening of a session.
func BenchmarkSessionOpen(b *testing.B) {
	for _, shape := range openShapes() {
		b.Run("shape="+shape.Name, func(b *testing.B) {
			c := theLarge(b)
			if shape.Name != workload.L.Name {
				c = contentOf(b, shape.Make(1))
			}
			measure(b, c, opening, c.compared()...)
		})
	}
}

func openShapes() []workload.Shape {
	shapes := []workload.Shape{workload.S, workload.L, workload.LFlat}
	if *full {
		shapes = append(shapes, workload.XL)
	}
	return shapes
}

// BenchmarkSessionOpenChanged is SessionOpen with the specification of one queue
// changed since the session before.
func BenchmarkSessionOpenChanged(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) {
		measure(b, theLarge(b), func(b *testing.B, s *bed) func() bool {
			again := opening(b, s)
			return func() bool {
				queue := s.Session.Queues["root-0"]
				queue.Queue = queue.Queue.DeepCopy()
				queue.Queue.Generation++
				return again()
			}
		})
	})
}

// BenchmarkSessionOpenCards is SessionOpen under the name capacity-card.
func BenchmarkSessionOpenCards(b *testing.B) {
	for _, shape := range openShapes() {
		b.Run("shape="+shape.Name, func(b *testing.B) {
			c := withCardsOf(b, shape, asks{cards: 1})
			measure(b, c, opening, c.compared()...)
		})
	}
}

// BenchmarkSessionOpenCold opens sessions with content that was cloned just before, as Volcano's cache does for each
// session. It measures capacity, and capacity-card on a cluster with cards.
func BenchmarkSessionOpenCold(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { openCold(b, theLarge(b)) })
	b.Run("shape=L/cards=with", func(b *testing.B) { openCold(b, withCardsOf(b, workload.L, asks{cards: 1})) })
}

func openCold(b *testing.B, c *content) {
	for _, impl := range c.compared() {
		b.Run("impl="+impl.name, func(b *testing.B) {
			s := c.bed(impl)
			opening(b, s) // later sessions know the data that the first session of a process reads
			jobs := s.Session.Jobs
			defer func() { s.Session.Jobs = jobs }()
			var spent time.Duration
			for b.Loop() {
				s.Session.Jobs = map[api.JobID]*api.JobInfo{}
				for id, job := range jobs {
					s.Session.Jobs[id] = job.Clone()
				}
				p := s.new(nil)
				start := time.Now()
				p.OnSessionOpen(s.Session)
				spent += time.Since(start)
				p.OnSessionClose(s.Session)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}

// BenchmarkSessionClose is OnSessionClose alone; capacity, and capacity-card on a cluster with
// cards.
func BenchmarkSessionClose(b *testing.B) {
	b.Run("shape=L", func(b *testing.B) { closing(b, theLarge(b), implementations) })
	b.Run("shape=L/cards=with", func(b *testing.B) {
		closing(b, withCardsOf(b, workload.L, asks{cards: 1}), []implementation{{"ours", newCards}})
	})
}

func closing(b *testing.B, c *content, impls []implementation) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			s := c.bed(impl)
			var spent time.Duration
			for b.Loop() {
				p := s.new(nil)
				p.OnSessionOpen(s.Session)
				start := time.Now()
				p.OnSessionClose(s.Session)
				spent += time.Since(start)
			}
			// Only the closing counts; a stopped timer would have the loop go on
			// until the closings alone have filled the time.
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}
