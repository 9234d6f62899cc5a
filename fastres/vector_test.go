package fastres_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/helpers"

	"github.com/capacity-card/capacity-card/fastres"
)

// scalars are the names of the scalars in random resources, by dimension.
var scalars = []v1.ResourceName{"", "", v1.ResourcePods, "nvidia.com/gpu", "ephemeral-storage", "hugepages-2Mi", "example.com/ib"}

// dims needs more than one presence word.
const dims = 70

// far is a dimension in the second presence word.
const far = fastres.Dim(66)

const farName v1.ResourceName = "example.com/far"

// quantities are the quantities of random resources. Equal quantities, differences within
// the tolerance, 0, and no bound are frequent.
var quantities = []float64{0, 0, 0.05, 0.1, 0.15, 1, 1.05, 1.1, 2, 2.09, 2.1, 1000, 1000.05, 1 << 40, math.MaxFloat64}

func randomResource(r *rand.Rand) *api.Resource {
	quantity := func() float64 { return quantities[r.IntN(len(quantities))] }
	x := &api.Resource{MilliCPU: quantity(), Memory: quantity()}
	if r.IntN(4) == 0 {
		return x
	}
	for _, name := range append(slices.Clone(scalars[fastres.Pods:]), farName) {
		if r.IntN(2) == 0 {
			x.SetScalar(name, quantity())
		}
	}
	return x
}

func vectorOf(x *api.Resource) fastres.Vector {
	v := fastres.NewVector(dims)
	v.Set(fastres.CPU, x.MilliCPU)
	v.Set(fastres.Memory, x.Memory)
	for name, q := range x.ScalarResources {
		v.Set(dimOf(name), q)
	}
	return v
}

func dimOf(name v1.ResourceName) fastres.Dim {
	if name == farName {
		return far
	}
	return fastres.Dim(slices.Index(scalars, name))
}

func resourceOf(v fastres.Vector) *api.Resource {
	x := &api.Resource{MilliCPU: v.Get(fastres.CPU), Memory: v.Get(fastres.Memory)}
	for d := range v.Scalars() {
		name := farName
		if d != far {
			name = scalars[d]
		}
		x.SetScalar(name, v.Get(d))
	}
	return x
}

// same compares quantities and presence. A nil map of scalars equals an empty one.
func same(t *testing.T, want *api.Resource, got fastres.Vector, args ...any) {
	t.Helper()
	require.True(t, equality.Semantic.DeepEqual(want, resourceOf(got)), "want %v, got %v, of %v", want, resourceOf(got), args)
}

// TestArithmeticMirrorsResource compares every operation with the function of Volcano that
// its comment names, on random resources.
func TestArithmeticMirrorsResource(t *testing.T) {
	type operation struct {
		name   string
		vector func(x, y fastres.Vector)
		mirror func(x, y *api.Resource) *api.Resource
		skip   func(x, y *api.Resource) bool
	}
	never := func(x, y *api.Resource) bool { return false }
	operations := []operation{
		{"Add", fastres.Vector.Add, (*api.Resource).Add, never},
		{"Sub", fastres.Vector.Sub, (*api.Resource).Sub, func(x, y *api.Resource) bool {
			// Where y exceeds x, the result here is 0 (see TestSubSaturates). And
			// upstream subtracts no scalar from a resource without scalars.
			return !exactlyLessEqual(y, x) || x.ScalarResources == nil
		}},
		{"Scale", func(x, y fastres.Vector) { x.Scale(0.375) },
			func(x, y *api.Resource) *api.Resource { return x.Multi(0.375) }, never},
		{"CapTo", fastres.Vector.CapTo, func(x, y *api.Resource) *api.Resource {
			return x.MinDimensionResource(y, api.Infinity)
		}, never},
		{"CapToZero", fastres.Vector.CapToZero, func(x, y *api.Resource) *api.Resource {
			return x.MinDimensionResource(y, api.Zero)
		}, never},
		{"RaiseTo", fastres.Vector.RaiseTo, helpers.Max, never},
		{"CopyFrom", fastres.Vector.CopyFrom, func(x, y *api.Resource) *api.Resource { return y.Clone() }, never},
		{"SetExceeded", func(x, y fastres.Vector) {
			left := fastres.NewVector(dims)
			left.CopyFrom(x)
			x.SetExceeded(left, y)
		}, api.ExceededPart, never},
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			r, compared := rand.New(rand.NewPCG(1, 2)), 0
			for range 20_000 {
				x, y := randomResource(r), randomResource(r)
				if op.skip(x, y) {
					continue
				}
				compared++
				got := vectorOf(x)
				op.vector(got, vectorOf(y))
				same(t, op.mirror(x.Clone(), y.Clone()), got, x, y)
			}
			assert.Greater(t, compared, 50, "too few cases were compared")
		})
	}
}

func exactlyLessEqual(x, y *api.Resource) bool {
	left := vectorOf(x)
	right := vectorOf(y)
	for d := range left.Present() {
		if left.Get(d) > right.Get(d) {
			return false
		}
	}
	return true
}

// TestComparisonsMirrorResource compares every comparison with the function of Volcano that
// its comment names, on random resources.
func TestComparisonsMirrorResource(t *testing.T) {
	first := func(ok bool, _ []string) bool { return ok }
	comparisons := []struct {
		name   string
		vector func(x, y, z fastres.Vector) bool
		mirror func(x, y, z *api.Resource) bool
	}{
		{"LessEqual",
			func(x, y, z fastres.Vector) bool { return x.LessEqual(y) },
			func(x, y, z *api.Resource) bool { return x.LessEqual(y, api.Zero) }},
		{"Equal",
			func(x, y, z fastres.Vector) bool { return x.Equal(y) },
			func(x, y, z *api.Resource) bool { return equality.Semantic.DeepEqual(x, y) }},
		{"IsEmpty",
			func(x, y, z fastres.Vector) bool { return x.IsEmpty() },
			func(x, y, z *api.Resource) bool { return x.IsEmpty() }},
		{"Intersects",
			func(x, y, z fastres.Vector) bool { return x.Intersects(y) },
			func(x, y, z *api.Resource) bool { return len(api.Intersection(x, y)) > 0 }},
		{"IntersectsRequest",
			func(x, y, z fastres.Vector) bool { return x.IntersectsRequest(y) },
			func(x, y, z *api.Resource) bool { return len(api.IntersectionWithIgnoredScalarResources(x, y)) > 0 }},
		{"Fits", fastres.Fits,
			func(x, y, z *api.Resource) bool {
				return first(x.Clone().Add(y).LessEqualWithDimensionAndResourcesName(z, y))
			}},
		{"FitsNet",
			func(x, y, z fastres.Vector) bool { return fastres.FitsNet(y, x, y, x, z) },
			func(x, y, z *api.Resource) bool {
				return first(y.Clone().Add(x).Add(y).Sub(x).LessEqualWithDimensionAndResourcesName(z, y))
			}},
		{"FitsSomewhere", fastres.FitsSomewhere,
			func(x, y, z *api.Resource) bool {
				return first(x.Clone().Add(y).LessEqualPartlyWithDimensionZeroFiltered(z, y))
			}},
		{"ExceedsSomewhere", fastres.ExceedsSomewhere,
			func(x, y, z *api.Resource) bool { return first(x.GreaterPartlyWithRelevantDimensions(z, y)) }},
	}
	for _, c := range comparisons {
		t.Run(c.name, func(t *testing.T) {
			r, yes := rand.New(rand.NewPCG(3, 4)), 0
			const cases = 20_000
			for range cases {
				x, y, z := randomResource(r), randomResource(r), randomResource(r)
				if r.IntN(8) == 0 {
					y = x.Clone()
				}
				want := c.mirror(x.Clone(), y.Clone(), z.Clone())
				got := c.vector(vectorOf(x), vectorOf(y), vectorOf(z))
				require.Equal(t, want, got, "x %v, y %v, z %v", x, y, z)
				if want {
					yes++
				}
			}
			assert.Greater(t, yes, 50, "too few cases were true")
			assert.Less(t, yes, cases-50, "too few cases were false")
		})
	}
}

func TestMaxRatioMirrorsShare(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		x, y := randomResource(r), randomResource(r)
		want := 0.0
		for _, name := range y.ResourceNames() {
			want = max(want, helpers.Share(x.Get(name), y.Get(name)))
		}
		require.Equal(t, want, fastres.MaxRatio(vectorOf(x), vectorOf(y)), "x %v, y %v", x, y)
	}
}

// TestSubSaturates shows the only arithmetic difference from upstream.
func TestSubSaturates(t *testing.T) {
	x := vectorOf(&api.Resource{MilliCPU: 1000, Memory: 5})
	x.Sub(vectorOf(&api.Resource{MilliCPU: 3000, Memory: 2, ScalarResources: map[v1.ResourceName]float64{farName: 7}}))
	same(t, &api.Resource{Memory: 3, ScalarResources: map[v1.ResourceName]float64{farName: 0}}, x)
}

// TestChargesCancel refunds random charges in another order. Every quantity is exactly 0
// afterwards.
func TestChargesCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		account := fastres.NewVector(dims)
		var charges []fastres.Vector
		for range 50 {
			c := fastres.NewVector(dims)
			c.Set(fastres.CPU, float64(r.IntN(256_000)))
			c.Set(fastres.Memory, float64(r.Int64N(4<<40)))
			c.Set(far, float64(r.IntN(8_000)))
			charges = append(charges, c)
			account.Add(c)
		}
		r.Shuffle(len(charges), func(i, j int) { charges[i], charges[j] = charges[j], charges[i] })
		for _, c := range charges {
			account.Sub(c)
		}
		same(t, &api.Resource{ScalarResources: map[v1.ResourceName]float64{farName: 0}}, account)
	}
}

func TestInheritFrom(t *testing.T) {
	parent := vectorOf(&api.Resource{MilliCPU: 8, Memory: 9, ScalarResources: map[v1.ResourceName]float64{"nvidia.com/gpu": 4, farName: 2}})
	child := vectorOf(&api.Resource{Memory: 3, ScalarResources: map[v1.ResourceName]float64{"nvidia.com/gpu": 0}})
	child.InheritFrom(parent)
	same(t, &api.Resource{MilliCPU: 8, Memory: 3,
		ScalarResources: map[v1.ResourceName]float64{"nvidia.com/gpu": 0, farName: 2}}, child)
}

func TestRows(t *testing.T) {
	var rows fastres.Rows
	assert.Zero(t, rows.Len())
	rows.Reset(3, dims)
	rows.Row(1).Set(far, 5)
	assert.False(t, rows.Row(0).Has(far), "a row overlaps its neighbour")
	assert.False(t, rows.Row(2).Has(far), "a row overlaps its neighbour")

	clone := rows.Clone()
	assert.Equal(t, 5.0, rows.At(1, far))
	assert.Zero(t, rows.At(2, far), "a row overlaps its neighbour")
	clone.Row(1).Set(far, 6)
	assert.Equal(t, 5.0, rows.Row(1).Get(far), "a clone shares memory")

	added := rows.Append(rows.Row(1))
	assert.Equal(t, 3, added)
	assert.True(t, rows.Row(added).Equal(rows.Row(1)))

	rows.Reset(2, dims)
	same(t, api.EmptyResource(), rows.Row(1), "a row is not empty after Reset")
}

// TestNothingAllocates checks the operations of the scheduler's inner loops.
func TestNothingAllocates(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	x, y, z := vectorOf(randomResource(r)), vectorOf(randomResource(r)), vectorOf(randomResource(r))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		x.Reset()
		x.Add(y)
		x.Sub(z)
		x.SetExceeded(y, z)
		x.SetLesser(y, z)
		x.CapTo(y)
		x.CapToZero(z)
		x.RaiseTo(y)
		x.InheritFrom(z)
		_ = x.LessEqual(y) || x.Equal(y) || x.IsEmpty() || x.Intersects(y) || x.IntersectsRequest(y)
		_ = fastres.Fits(x, y, z) || fastres.FitsNet(x, y, z, x, y) || fastres.FitsSomewhere(x, y, z) ||
			fastres.ExceedsSomewhere(x, y, z) || fastres.ExceedsWith(x, y, z)
		_ = fastres.MaxRatio(x, y)
		for d := range x.Requested() {
			_ = d
		}
	}))
}

func TestExceedsWith(t *testing.T) {
	const gpu, other = fastres.FirstFree, fastres.FirstFree + 1
	vector := func(quantities map[fastres.Dim]float64) fastres.Vector {
		x := fastres.NewVector(8)
		for d, quantity := range quantities {
			x.Set(d, quantity)
		}
		return x
	}
	type amounts = map[fastres.Dim]float64
	for _, test := range []struct {
		name                 string
		used, request, bound amounts
		want                 bool
	}{
		{"less", amounts{fastres.CPU: 1}, amounts{fastres.CPU: 1}, amounts{fastres.CPU: 3}, false},
		{"exactly", amounts{fastres.CPU: 1}, amounts{fastres.CPU: 2}, amounts{fastres.CPU: 3}, false},
		{"more, within the tolerance", amounts{fastres.CPU: 1}, amounts{fastres.CPU: 2.05}, amounts{fastres.CPU: 3}, false},
		{"more", amounts{fastres.CPU: 1}, amounts{fastres.CPU: 2.5}, amounts{fastres.CPU: 3}, true},
		{"more in one of two dimensions", amounts{gpu: 4}, amounts{fastres.CPU: 1, gpu: 1}, amounts{fastres.CPU: 3, gpu: 4}, true},
		{"more in a dimension that is not requested", amounts{gpu: 9}, amounts{fastres.CPU: 1, gpu: 0}, amounts{fastres.CPU: 3, gpu: 4}, false},
		{"a dimension without a bound", amounts{other: 9}, amounts{fastres.CPU: 1, other: 1}, amounts{fastres.CPU: 3}, false},
		{"cpu and memory of 0 are no bound", amounts{}, amounts{fastres.CPU: 1, fastres.Memory: 1}, amounts{gpu: 1}, false},
		{"a scalar of 0 is a bound", amounts{}, amounts{gpu: 1}, amounts{gpu: 0}, true},
		{"pods do not count", amounts{fastres.Pods: 9}, amounts{fastres.Pods: 1}, amounts{fastres.Pods: 1}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, fastres.ExceedsWith(vector(test.used), vector(test.request), vector(test.bound)))
		})
	}
}
