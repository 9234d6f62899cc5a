package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestLiftTotal compares bounds of gpu, the resource of cards, for jobs of a queue.
func TestLiftTotal(t *testing.T) {
	total := res{cpu: 100, memory: 1000, gpu: 8}
	tests := []struct {
		name    string
		root    string
		queues  []queue
		counted string // the queue in which cards count, and those below it
		asks    string
		want    map[string]float64 // bound of gpu by queue
	}{
		{"the total bounds no gpu", "root", []queue{{name: "root"}, {name: "a"}, {name: "b<a"}}, "a", "b",
			map[string]float64{"b": noBound, "a": noBound, "root": noBound}},
		{"where cards do not count, it does", "root", []queue{{name: "root"}, {name: "a"}, {name: "c"}}, "a", "c",
			map[string]float64{"c": 8, "root": 8}},
		{"a capability bounds itself and those below", "root", []queue{{name: "root"}, {name: "a", capability: res{gpu: 4}}, {name: "b<a"}}, "a", "b",
			map[string]float64{"b": 4, "a": 4, "root": noBound}},
		{"that of the root bounds those below", "root", []queue{{name: "root", capability: res{gpu: 6}}, {name: "a"}}, "a", "a",
			map[string]float64{"a": 6, "root": noBound}},
		{"what is guaranteed to others", "root", []queue{{name: "root"}, {name: "a"}, {name: "c", guarantee: res{gpu: 3}}}, "a", "a",
			map[string]float64{"a": 5, "root": noBound}},
		{"what is guaranteed to the queue itself", "root", []queue{{name: "root"}, {name: "a", guarantee: res{gpu: 3}}}, "a", "a",
			map[string]float64{"a": noBound, "root": noBound}},
		{"flat queues", "", []queue{{name: "a"}, {name: "c"}}, "a", "a", map[string]float64{"a": noBound}},
		{"a flat queue with a capability", "", []queue{{name: "a", capability: res{gpu: 7}}}, "a", "a", map[string]float64{"a": 7}},
		{"flat queues with a guarantee", "", []queue{{name: "a"}, {name: "c", guarantee: res{gpu: 1}}}, "a", "a", map[string]float64{"a": 7}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session(test.root, test.queues...)
			own := make([]bool, ix.Len())
			for q := range own {
				own[q] = ix.Capability.Row(index.Queue(q)).Has(gpu)
			}
			limits := quota.Limits{Total: total.vector(), Bound: total.vector()}
			if test.root == "" {
				quota.FlatBounds(ix, limits, func(q index.Queue) bool { return own[q] })
			} else {
				quota.TreeBounds(ix, limits)
			}
			counted := lookup(t, ix, test.counted)
			quota.LiftTotal(ix, []fastres.Dim{gpu}, func(q index.Queue) bool { return q == counted || ix.Parent(q) == counted },
				func(q index.Queue, _ fastres.Dim) bool { return own[q] })

			asks := lookup(t, ix, test.asks)
			for name, want := range test.want {
				q := lookup(t, ix, name)
				assert.Equal(t, want, ix.Bounds(asks).At(q, gpu), name)
				assert.Equal(t, want, ix.AdmissionBounds(asks).At(q, gpu), "admission, %s", name)
				assert.Equal(t, ix.RealCapability.At(q, cpu), ix.Bounds(asks).At(q, cpu), "cpu, %s", name)
			}
		})
	}
}

// TestLiftTotalBesideOvercommit has a factor of overcommit bound a resource that the total does not.
func TestLiftTotalBesideOvercommit(t *testing.T) {
	total := res{cpu: 100, memory: 1000, gpu: 8}
	ix := session("root", queue{name: "root"}, queue{name: "a", deserved: res{gpu: 2}}, queue{name: "b"})
	quota.TreeBounds(ix, quota.Limits{Total: total.vector(), Bound: total.vector()})
	a, b, root := lookup(t, ix, "a"), lookup(t, ix, "b"), ix.Root()
	quota.LiftTotal(ix, []fastres.Dim{gpu}, func(q index.Queue) bool { return q == a }, func(index.Queue, fastres.Dim) bool { return false })
	quota.BoundAdmission(ix, func(q index.Queue) int64 {
		if q == a {
			return 2000
		}
		return 0
	})
	assert.Equal(t, 4.0, ix.AdmissionBounds(a).At(a, gpu))
	assert.Equal(t, noBound, ix.AdmissionBounds(a).At(root, gpu))
	assert.Equal(t, 8.0, ix.AdmissionBounds(b).At(root, gpu))
	assert.True(t, quota.Overcommits(ix, a, gpu))
	assert.False(t, quota.Overcommits(ix, b, gpu))
}
