package differential_test

import (
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/helpers"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

var scalarNames = []v1.ResourceName{v1.ResourcePods, testbed.GPU, "example.com/a", "example.com/b"}

// drawResource draws a resource and the vector that stands for it. Quantities
// are in steps of half the tolerance.
func drawResource(r *rand.Rand) (*api.Resource, fastres.Vector) {
	quantity := func() float64 { return float64(r.IntN(6)) * fastres.MinResource / 2 }
	x, v := &api.Resource{MilliCPU: quantity(), Memory: quantity()}, fastres.NewVector(8)
	v.Set(fastres.CPU, x.MilliCPU)
	v.Set(fastres.Memory, x.Memory)
	for i, name := range scalarNames {
		if r.IntN(2) == 0 {
			x.SetScalar(name, quantity())
			v.Set(fastres.Pods+fastres.Dim(i), x.ScalarResources[name])
		}
	}
	return x, v
}

// sameResource compares a resource with a vector, optionally with presence.
func sameResource(x *api.Resource, v fastres.Vector, presence bool) bool {
	same := x.MilliCPU == v.Get(fastres.CPU) && x.Memory == v.Get(fastres.Memory)
	for i, name := range scalarNames {
		d := fastres.Pods + fastres.Dim(i)
		quantity, named := x.ScalarResources[name]
		same = same && quantity == v.Get(d) && (named == v.Has(d) || !presence)
	}
	return same
}

// FuzzVectors compares vectors with api.Resource, operation by operation.
func FuzzVectors(f *testing.F) {
	testbed.AddSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		x, vx := drawResource(r)
		y, vy := drawResource(r)
		z, vz := drawResource(r)
		sum := x.Clone().Add(y)
		fits, _ := sum.LessEqualWithDimensionAndResourcesName(z, y)
		somewhere, _ := sum.LessEqualPartlyWithDimensionZeroFiltered(z, y)
		exceeds, _ := x.GreaterPartlyWithRelevantDimensions(z, y)
		for _, c := range []struct {
			name       string
			want, have bool
		}{
			{"LessEqual", x.LessEqual(y, api.Zero), vx.LessEqual(vy)},
			{"IsEmpty", x.IsEmpty(), vx.IsEmpty()},
			{"Intersects", len(api.Intersection(x, y)) > 0, vx.Intersects(vy)},
			{"IntersectsRequest", len(api.IntersectionWithIgnoredScalarResources(x, y)) > 0, vx.IntersectsRequest(vy)},
			{"Fits", fits, fastres.Fits(vx, vy, vz)},
			{"FitsSomewhere", somewhere, fastres.FitsSomewhere(vx, vy, vz)},
			{"ExceedsSomewhere", exceeds, fastres.ExceedsSomewhere(vx, vy, vz)},
		} {
			if c.want != c.have {
				t.Errorf("%s: api.Resource answers %t; x %v, y %v, z %v", c.name, c.want, x, y, z)
			}
		}
		changed := func(change func(fastres.Vector)) fastres.Vector {
			v := fastres.NewVector(8)
			v.CopyFrom(vx)
			change(v)
			return v
		}
		for _, c := range []struct {
			name     string
			want     *api.Resource
			have     fastres.Vector
			presence bool
		}{
			{"Add", sum, changed(func(v fastres.Vector) { v.Add(vy) }), true},
			{"Sub", sum.Clone().Sub(y), changed(func(v fastres.Vector) { v.Add(vy); v.Sub(vy) }), true},
			{"Scale", x.Clone().Multi(0.3), changed(func(v fastres.Vector) { v.Scale(0.3) }), true},
			{"CapTo", x.Clone().MinDimensionResource(y, api.Infinity), changed(func(v fastres.Vector) { v.CapTo(vy) }), true},
			{"CapToZero", x.Clone().MinDimensionResource(y, api.Zero), changed(func(v fastres.Vector) { v.CapToZero(vy) }), true},
			{"RaiseTo", helpers.Max(x, y), changed(func(v fastres.Vector) { v.RaiseTo(vy) }), true},
			// Upstream leaves out what does not exceed, or sets it to 0; nothing depends on it.
			{"SetExceeded", api.ExceededPart(x, y), changed(func(v fastres.Vector) { v.SetExceeded(vx, vy) }), false},
		} {
			if !sameResource(c.want, c.have, c.presence) {
				t.Errorf("%s: api.Resource has %v; x %v, y %v", c.name, c.want, x, y)
			}
		}
		ratio := 0.0
		for _, name := range y.ResourceNames() {
			ratio = max(ratio, helpers.Share(x.Get(name), y.Get(name)))
		}
		if have := fastres.MaxRatio(vx, vy); ratio != have {
			t.Errorf("MaxRatio: %v, by api.Resource %v; x %v, y %v", have, ratio, x, y)
		}
	})
}
