package quota_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// bounds are the accounts that a test expects of a queue. An account that is nil is not compared.
type bounds struct {
	capability, bound, guarantee, ofChildren, deserved res
}

func requireBounds(t *testing.T, ix *index.Index, want map[string]bounds) {
	t.Helper()
	for name, w := range want {
		row := lookup(t, ix, name)
		for _, account := range []struct {
			name string
			want res
			got  fastres.Vector
		}{
			{"capability", w.capability, ix.Capability.Row(row)},
			{"realCapability", w.bound, ix.RealCapability.Row(row)},
			{"guarantee", w.guarantee, ix.Guarantee.Row(row)},
			{"guarantees of the children", w.ofChildren, ix.ChildGuarantees.Row(row)},
			{"deserved", w.deserved, ix.Deserved.Row(row)},
		} {
			if account.want != nil {
				assert.Equal(t, account.want, resOf(account.got), "%s of %s", account.name, name)
			}
		}
	}
}

func unlimited() fastres.Vector {
	x := fastres.NewVector(dims)
	x.Fill(noBound)
	return x
}

func TestTreeBounds(t *testing.T) {
	total := res{cpu: 100, memory: 1000, gpu: 8}
	tests := []struct {
		name     string
		queues   []queue
		zeroLeaf bool
		want     map[string]bounds
	}{
		{"the root defaults to the total", []queue{{name: "root"}, {name: "a"}, {name: "b<a"}}, false,
			map[string]bounds{
				"root": {capability: total, bound: total, deserved: total, guarantee: res{}, ofChildren: res{}},
				"a":    {capability: total, bound: total, deserved: res{}},
				"b":    {capability: total, bound: total, deserved: res{}},
			}},
		{"a root that is added", []queue{{name: "a"}}, false, map[string]bounds{
			"root": {capability: total, bound: total, deserved: total},
			"a":    {capability: total, bound: total},
		}},
		{"the root keeps what it sets, and its realCapability is the total", []queue{
			{name: "root", capability: res{cpu: 50, memory: 2000}, deserved: res{gpu: 1}}, {name: "a"},
		}, false, map[string]bounds{
			"root": {capability: res{cpu: 50, memory: 2000}, bound: total, deserved: res{gpu: 1}},
			"a":    {capability: res{cpu: 50, memory: 2000}, bound: res{cpu: 50, memory: 1000, gpu: 8}},
		}},
		{"each dimension is inherited on its own, over levels", []queue{
			{name: "root"}, {name: "a", capability: res{cpu: 60, gpu: 0}},
			{name: "b<a", capability: res{memory: 500}}, {name: "c<b", capability: res{cpu: 70, gpu: 4}},
		}, false, map[string]bounds{
			"a": {capability: res{cpu: 60, memory: 1000, gpu: 0}, bound: res{cpu: 60, memory: 1000, gpu: 0}},
			"b": {capability: res{cpu: 60, memory: 500, gpu: 0}, bound: res{cpu: 60, memory: 500}},
			"c": {capability: res{cpu: 70, memory: 500, gpu: 4}, bound: res{cpu: 60, memory: 500}},
		}},
		{"a scalar that the cluster does not have stays absent", []queue{
			{name: "root"}, {name: "a", capability: res{far: 5}},
		}, false, map[string]bounds{
			"a": {capability: res{cpu: 100, memory: 1000, gpu: 8, far: 5}, bound: total},
		}},
		{"a guarantee is not available to siblings", []queue{
			{name: "root"}, {name: "a", guarantee: res{cpu: 30, gpu: 8}}, {name: "b", guarantee: res{cpu: 20}}, {name: "c"},
		}, false, map[string]bounds{
			"root": {guarantee: res{cpu: 50, gpu: 8}, ofChildren: res{cpu: 50, gpu: 8}, bound: total},
			"a":    {bound: res{cpu: 80, memory: 1000, gpu: 8}, guarantee: res{cpu: 30, gpu: 8}},
			"b":    {bound: res{cpu: 70, memory: 1000}},
			"c":    {bound: res{cpu: 50, memory: 1000}},
		}},
		{"guarantees beyond the total", []queue{
			{name: "root"}, {name: "a", guarantee: res{cpu: 90}}, {name: "b", guarantee: res{cpu: 30}}, {name: "c"},
		}, false, map[string]bounds{
			"a": {bound: res{cpu: 90, memory: 1000, gpu: 8}},
			"b": {bound: res{cpu: 30, memory: 1000, gpu: 8}},
			"c": {bound: res{memory: 1000, gpu: 8}},
		}},
		{"a guarantee does not lift a capability", []queue{
			{name: "root"}, {name: "a", guarantee: res{cpu: 30}, capability: res{cpu: 10}},
		}, false, map[string]bounds{"a": {bound: res{cpu: 10, memory: 1000, gpu: 8}}}},
		{"the children's guarantees raise the parent's", []queue{
			{name: "root"}, {name: "eng", guarantee: res{cpu: 10, memory: 900}}, {name: "biz"},
			{name: "prod<eng", guarantee: res{cpu: 15, gpu: 2}}, {name: "dev<eng", guarantee: res{cpu: 20}},
		}, false, map[string]bounds{
			"root": {guarantee: res{cpu: 35, memory: 900, gpu: 2}, ofChildren: res{cpu: 35, memory: 900, gpu: 2}},
			"eng":  {guarantee: res{cpu: 35, memory: 900, gpu: 2}, ofChildren: res{cpu: 35, gpu: 2}, bound: total},
			"biz":  {bound: res{cpu: 65, memory: 100, gpu: 6}, guarantee: res{}},
			"prod": {bound: res{cpu: 80, memory: 1000, gpu: 8}, ofChildren: res{}},
			"dev":  {bound: res{cpu: 85, memory: 1000, gpu: 6}},
		}},
		{"a queue passes upwards what its own capability lets its children have", []queue{
			{name: "root"}, {name: "eng", capability: res{cpu: 40, gpu: 0}}, {name: "biz"},
			{name: "prod<eng", guarantee: res{cpu: 30, memory: 10, gpu: 2}}, {name: "dev<eng", guarantee: res{cpu: 30}},
			{name: "top", capability: res{gpu: 4}}, {name: "mid<top", guarantee: res{gpu: 5}}, {name: "low<mid", guarantee: res{gpu: 6}},
		}, false, map[string]bounds{
			"root": {guarantee: res{cpu: 40, memory: 10, gpu: 4}, ofChildren: res{cpu: 40, memory: 10, gpu: 4}},
			"eng":  {guarantee: res{cpu: 40, memory: 10, gpu: 0}, ofChildren: res{cpu: 60, memory: 10, gpu: 2}},
			"biz":  {bound: res{cpu: 60, memory: 990, gpu: 4}},
			"prod": {bound: res{cpu: 30, memory: 1000, gpu: 0}},
			"top":  {guarantee: res{gpu: 4}, ofChildren: res{gpu: 6}},
			"mid":  {guarantee: res{gpu: 6}, ofChildren: res{gpu: 6}, bound: res{cpu: 60, memory: 990, gpu: 4}},
		}},
		{"what a leaf does not set is 0", []queue{
			{name: "root"}, {name: "a"}, {name: "b<a", capability: res{cpu: 5}}, {name: "c<a", capability: res{memory: 7, gpu: 1}},
			{name: "d<a", guarantee: res{cpu: 3}},
		}, true, map[string]bounds{
			"root": {capability: total, bound: total},
			"a":    {capability: total, bound: total},
			"b":    {capability: res{cpu: 5, gpu: 8}, bound: res{cpu: 5, gpu: 8}},
			"c":    {capability: res{memory: 7, gpu: 1}, bound: res{memory: 7, gpu: 1}},
			"d":    {capability: res{gpu: 8}, bound: res{gpu: 8}},
		}},
		{"a root that is a leaf is not 0", []queue{{name: "root"}}, true,
			map[string]bounds{"root": {capability: total, bound: total}}},
		{"a broken queue has no bound, and its guarantee does not count", []queue{
			{name: "root"}, {name: "a"},
			{name: "lost<nobody", guarantee: res{cpu: 40}, capability: res{cpu: 9}}, {name: "tail<lost"},
			{name: "x<y", guarantee: res{cpu: 40}}, {name: "y<x", guarantee: res{cpu: 40}},
		}, false, map[string]bounds{
			"root": {bound: total, ofChildren: res{}, guarantee: res{}},
			"a":    {bound: total},
			"lost": {bound: res{}},
			"tail": {bound: res{}},
			"x":    {bound: res{}},
			"y":    {bound: res{}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session("root", test.queues...)
			quota.TreeBounds(ix, quota.Limits{Total: total.vector(), Bound: total.vector(), ZeroLeaf: test.zeroLeaf})
			requireBounds(t, ix, test.want)
		})
	}
}

func TestTreeBoundsUnlimitedRoot(t *testing.T) {
	total := res{cpu: 100, memory: 1000}
	ix := session("root", queue{name: "root"},
		queue{name: "a", guarantee: res{cpu: 30}}, queue{name: "b", capability: res{cpu: 500, gpu: 3}}, queue{name: "c"})
	quota.TreeBounds(ix, quota.Limits{Total: total.vector(), Bound: unlimited()})

	requireBounds(t, ix, map[string]bounds{
		"root": {capability: resOf(unlimited()), bound: resOf(unlimited()), deserved: total},
		"a":    {capability: resOf(unlimited()), bound: resOf(unlimited()), deserved: res{}},
		"c":    {bound: resOf(unlimited())},
	})
	b := ix.RealCapability.Row(lookup(t, ix, "b"))
	assert.Equal(t, 500.0, b.Get(cpu), "more than the cluster has: an autoscaler may add nodes")
	assert.Equal(t, noBound, b.Get(memory))
	assert.Equal(t, 3.0, b.Get(gpu))
}

// TestTreeBoundsRandom checks inequalities that hold for every tree.
func TestTreeBoundsRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		ix := randomTree(r, 20)
		for q := range index.Queue(ix.Len()) {
			ix.Guarantee.Row(q).Add(randomRequest(r, 20))
			if r.IntN(2) == 0 {
				ix.Capability.Row(q).Add(randomRequest(r, 300))
			}
		}
		total, sets := randomRequest(r, 1000), map[index.Queue]fastres.Vector{}
		for q := range index.Queue(ix.Len()) {
			sets[q] = fastres.NewVector(dims)
			sets[q].CopyFrom(ix.Capability.Row(q))
		}
		quota.TreeBounds(ix, quota.Limits{Total: total, Bound: total})
		for q := range index.Queue(ix.Len()) {
			p := ix.Parent(q)
			if p == index.None {
				continue
			}
			for d := range fastres.Dim(dims) {
				guarantee, bound := ix.Guarantee.Row(q).Get(d), ix.RealCapability.Row(q).Get(d)
				require.LessOrEqual(t, bound, max(ix.RealCapability.Row(p).Get(d), guarantee))
				if capability := ix.Capability.Row(q); capability.Has(d) {
					require.LessOrEqual(t, bound, capability.Get(d))
				}
				passed := ix.ChildGuarantees.Row(p).Get(d)
				if own := sets[p]; p != ix.Root() && (own.Get(d) > 0 || d > fastres.Memory && own.Has(d)) {
					passed = min(passed, own.Get(d))
				}
				require.LessOrEqual(t, passed, ix.Guarantee.Row(p).Get(d), "a parent guarantees less than its children can have")
			}
		}
	}
}

func TestFlatBounds(t *testing.T) {
	total := res{cpu: 100, memory: 1000, gpu: 8}
	tests := []struct {
		name     string
		queues   []queue
		zeroLeaf bool
		want     map[string]bounds
	}{
		{"without capability the total is the bound", []queue{{name: "a"}}, false,
			map[string]bounds{"a": {capability: res{}, bound: total, deserved: res{}}}},
		{"a dimension that capability does not set is unlimited", []queue{
			{name: "a", capability: res{cpu: 40}}, {name: "b", capability: res{gpu: 2}}, {name: "c", capability: res{gpu: 0, memory: 2000}},
		}, false, map[string]bounds{
			"a": {capability: res{cpu: 40, memory: noBound}, bound: res{cpu: 40, memory: 1000, gpu: 8}},
			"b": {capability: res{cpu: noBound, memory: noBound, gpu: 2}, bound: res{cpu: 100, memory: 1000, gpu: 2}},
			"c": {bound: res{cpu: 100, memory: 1000, gpu: 0}},
		}},
		{"parents do not count", []queue{{name: "a", capability: res{cpu: 5}}, {name: "b<a"}}, false,
			map[string]bounds{"b": {bound: total, capability: res{}}}},
		{"a guarantee is not available to other queues", []queue{
			{name: "a", guarantee: res{cpu: 30, gpu: 8}}, {name: "b", guarantee: res{cpu: 20}}, {name: "c"},
			{name: "d", guarantee: res{cpu: 10}, capability: res{cpu: 45}},
		}, false, map[string]bounds{
			"a": {bound: res{cpu: 70, memory: 1000, gpu: 8}},
			"b": {bound: res{cpu: 60, memory: 1000}},
			"c": {bound: res{cpu: 40, memory: 1000}},
			"d": {bound: res{cpu: 45, memory: 1000}},
		}},
		{"guarantees beyond the total", []queue{
			{name: "a", guarantee: res{cpu: 90}}, {name: "b", guarantee: res{cpu: 30}}, {name: "c"},
		}, false, map[string]bounds{
			"a": {bound: res{cpu: 90, memory: 1000, gpu: 8}},
			"c": {bound: res{memory: 1000, gpu: 8}},
		}},
		{"deserved is clipped to realCapability, then raised to guarantee", []queue{
			{name: "a", capability: res{cpu: 40}, deserved: res{cpu: 60, memory: 5, gpu: 9, far: 1}},
			{name: "b", guarantee: res{cpu: 20, gpu: 1}, deserved: res{cpu: 5, memory: 7}},
			{name: "c", guarantee: res{cpu: 30}, capability: res{cpu: 10}, deserved: res{cpu: 20}},
		}, false, map[string]bounds{
			"a": {deserved: res{cpu: 40, memory: 5, gpu: 7, far: 1}},
			"b": {deserved: res{cpu: 20, memory: 7, gpu: 1}},
			"c": {bound: res{cpu: 10, memory: 1000, gpu: 7}, deserved: res{cpu: 30}},
		}},
		{"what a leaf does not set is 0", []queue{
			{name: "a"}, {name: "b", capability: res{cpu: 5}, deserved: res{cpu: 9, memory: 9}}, {name: "c", capability: res{memory: 7, gpu: 1}},
		}, true, map[string]bounds{
			"a": {capability: res{}, bound: res{gpu: 8}},
			"b": {capability: res{cpu: 5}, bound: res{cpu: 5, gpu: 8}, deserved: res{cpu: 5}},
			"c": {bound: res{memory: 7, gpu: 1}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session("", test.queues...)
			set := map[index.Queue]bool{}
			for _, q := range test.queues {
				name, _, _ := strings.Cut(q.name, "<")
				set[lookup(t, ix, name)] = len(q.capability) > 0
			}
			limits := quota.Limits{Total: total.vector(), Bound: total.vector(), ZeroLeaf: test.zeroLeaf}
			quota.FlatBounds(ix, limits, func(q index.Queue) bool { return set[q] })
			requireBounds(t, ix, test.want)
		})
	}
}

func TestFlatBoundsUnlimited(t *testing.T) {
	ix := session("", queue{name: "a", guarantee: res{cpu: 30}}, queue{name: "b", capability: res{cpu: 500}, deserved: res{cpu: 600, gpu: 3}})
	limits := quota.Limits{Total: res{cpu: 100}.vector(), Bound: unlimited()}
	b := lookup(t, ix, "b")
	quota.FlatBounds(ix, limits, func(q index.Queue) bool { return q == b })
	requireBounds(t, ix, map[string]bounds{
		"a": {bound: resOf(unlimited()), deserved: res{cpu: 30}},
		"b": {deserved: res{cpu: 500, gpu: 3}},
	})
	assert.Equal(t, 500.0, ix.RealCapability.Row(b).Get(cpu), "more than the cluster has: an autoscaler may add nodes")
}
