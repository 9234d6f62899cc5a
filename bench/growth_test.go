package bench

import (
	"fmt"
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
)

// growth measures the cost of an operation while one thing grows and all else stays.
type growth struct {
	operation, axis string
	sizes           []int // the last in a full run only
	content         func(b *testing.B, n int) *content
	prepare         func(n int) operation
	impls           []implementation // nil for the usual two
}

var growths = []growth{
	{"SessionOpen", "jobs", []int{250, 1000, 4000, 16000}, ofShape(func(n int) workload.Shape {
		return workload.Shape{Nodes: 2500, Fanout: workload.TwoLevels(100), Jobs: n, TasksPerJob: 4}
	}), fixed(opening), nil},
	{"SessionOpen", "tasks", []int{1000, 8000, 32000, 128000}, ofShape(func(n int) workload.Shape {
		return workload.Shape{Nodes: 5000, Fanout: workload.TwoLevels(100), Jobs: 1000, TasksPerJob: n / 1000}
	}), fixed(opening), nil},
	{"SessionOpen", "queues", queueCounts, ofShape(byQueues), fixed(opening), nil},
	{"SessionOpen", "cards", []int{2, 8, 32, 128}, withCards, fixed(opening),
		[]implementation{implementations[0], {"ours", plugin.NewCapacity}}},
	{"PrePredicate", "queues", queueCounts, ofShape(byQueues), fixed(prePredicate), nil},
	{"PrePredicate", "depth", depths, ofShape(byDepth), fixed(prePredicate), nil},
	{"Simulate", "queues", queueCounts, ofShape(byQueues), fixed(simulate), nil},
	{"Allocatable", "queues", queueCounts, ofShape(byQueues), fixed(allocatable), nil},
	{"Allocatable", "depth", depths, ofShape(byDepth), fixed(allocatable), nil},
	{"Event", "depth", depths, ofShape(byDepth), fixed(event), nil},
	{"Reclaimable", "candidates", []int{10, 100, 1000, 2000},
		func(b *testing.B, _ int) *content { return theLarge(b) }, reclaimable, nil},
}

var (
	queueCounts = []int{10, 100, 1000, 5000}
	depths      = []int{1, 2, 4, 8}
)

// byQueues has n queues, and a number of jobs that does not depend on n.
func byQueues(n int) workload.Shape {
	return workload.Shape{Nodes: 500, Fanout: workload.TwoLevels(n), Jobs: 1000, TasksPerJob: 10}
}

// byDepth has 64 leaves, so many levels below the root.
func byDepth(n int) workload.Shape {
	fanout := make([]int, n)
	for i := range fanout {
		fanout[i] = 1
	}
	fanout[n-1] = 64
	return workload.Shape{Nodes: 500, Fanout: fanout, Jobs: 1000, TasksPerJob: 10}
}

func ofShape(shape func(n int) workload.Shape) func(*testing.B, int) *content {
	return func(b *testing.B, n int) *content { return contentOf(b, shape(n).Make(1)) }
}

// withCards has n models of cards. Our plugin counts quotas of them, and upstream does not see these quotas.
func withCards(b *testing.B, n int) *content {
	shape := workload.Shape{Nodes: 500, Fanout: workload.TwoLevels(100), Jobs: 1000, TasksPerJob: 10, Models: n}
	return contentOf(b, shape.MakeCards(1))
}

func fixed(prepare operation) func(int) operation { return func(int) operation { return prepare } }

// BenchmarkGrowth measures operations while one thing grows.
func BenchmarkGrowth(b *testing.B) {
	for _, g := range growths {
		b.Run("of="+g.operation+"/axis="+g.axis, func(b *testing.B) {
			sizes := g.sizes
			if !*full && g.axis != "depth" {
				sizes = sizes[:len(sizes)-1]
			}
			for _, n := range sizes {
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { measure(b, g.content(b, n), g.prepare(n), g.impls...) })
			}
		})
	}
}
