// Package fuzz holds the fuzz targets and their corpora. A target decodes bytes
// into a case of its own, so that every input is a valid one.
package fuzz

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// reader takes bytes one at a time; past the end all are 0.
type reader struct{ data []byte }

func (r *reader) next() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

var names = []v1.ResourceName{v1.ResourcePods, "nvidia.com/gpu", "example.com/a", "example.com/b"}

// resource reads a resource and the vector that stands for it. Quantities are
// in steps of half the tolerance.
func (r *reader) resource() (*api.Resource, fastres.Vector) {
	quantity := func() float64 { return float64(r.next()) * fastres.MinResource / 2 }
	x, v := &api.Resource{MilliCPU: quantity(), Memory: quantity()}, fastres.NewVector(8)
	v.Set(fastres.CPU, x.MilliCPU)
	v.Set(fastres.Memory, x.Memory)
	present := r.next()
	for i, name := range names {
		if present&(1<<i) != 0 {
			x.SetScalar(name, quantity())
			v.Set(fastres.Pods+fastres.Dim(i), x.ScalarResources[name])
		}
	}
	return x, v
}

// FuzzComparisons holds the comparisons of vectors against those of
// api.Resource.
func FuzzComparisons(f *testing.F) {
	f.Add([]byte{2, 4, 15, 1, 2, 3, 4, 2, 3, 15, 0, 0, 0, 0, 4, 7, 3, 2, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reader{data}
		x, vx := r.resource()
		y, vy := r.resource()
		z, vz := r.resource()
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
			{"Fits", fits, fastres.Fits(vx, vy, vz)},
			{"FitsSomewhere", somewhere, fastres.FitsSomewhere(vx, vy, vz)},
			{"ExceedsSomewhere", exceeds, fastres.ExceedsSomewhere(vx, vy, vz)},
		} {
			if c.want != c.have {
				t.Errorf("%s: api.Resource says %t; x %v, y %v, z %v", c.name, c.want, x, y, z)
			}
		}
	})
}

// FuzzTree builds trees of any parents, cycles and unknown ones included, and
// checks that numbers and paths hold what package index promises.
func FuzzTree(f *testing.F) {
	f.Add([]byte{5, 0, 1, 2, 3, 9})
	f.Add([]byte{4, 2, 3, 1, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reader{data}
		name := func(i byte) string { return [...]string{"root", ""}[i&1] + fmt.Sprintf("q%d", i/2) }
		nodes := make([]index.Node, 1+r.next()%32)
		for i := range nodes {
			nodes[i] = index.Node{Name: name(byte(i)), Parent: name(r.next() % 40)}
		}
		tree := index.BuildTree(nodes, "rootq0")
		for q := range index.Queue(tree.Len()) {
			path := tree.Path(q)
			top := path[len(path)-1]
			if (top == tree.Root()) != (tree.Broken(q) == nil) {
				t.Errorf("%s ends at %s, broken: %v", tree.Name(q), tree.Name(top), tree.Broken(q))
			}
			for i, p := range path[1:] {
				if p >= path[i] || tree.Parent(path[i]) != p {
					t.Errorf("path of %s is %v", tree.Name(q), path)
				}
			}
		}
		var ix index.Index
		ix.Reset(tree, 8)
		ix.RollUp()
	})
}
