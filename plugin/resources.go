package plugin

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/kubernetes/pkg/scheduler/util"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// dimensions turns resource names into dimensions, for vectors of one length.
// It is safe for many goroutines.
type dimensions struct {
	known   *index.Names
	scalars bool // scalars count
	length  int
}

// lookup returns the dimension of a scalar, and whether the vectors have it.
func (d *dimensions) lookup(name v1.ResourceName) (fastres.Dim, bool) {
	dim, ok := d.known.Lookup(string(name))
	return dim, ok && int(dim) < d.length
}

// set makes x equal to r, and reports whether the vectors have all that r asks
// for. Negative quantities count as 0.
func (d *dimensions) set(x fastres.Vector, r *api.Resource) (complete bool) {
	x.Reset()
	if r == nil {
		return true
	}
	x.Set(fastres.CPU, max(0, r.MilliCPU))
	x.Set(fastres.Memory, max(0, r.Memory))
	complete = true
	if !d.scalars {
		return complete
	}
	for name, quantity := range r.ScalarResources {
		if dim, ok := d.lookup(name); ok {
			x.Set(dim, max(0, quantity))
		} else if quantity > 0 {
			complete = false
		}
	}
	return complete
}

// reader reads resources whose names may be new. It notes those that the
// vectors have no room for; whoever reads looks at them, and starts again with
// vectors that have.
type reader struct {
	dimensions
	missing []string
}

func (r *reader) increase(x fastres.Vector, name v1.ResourceName, quantity float64) {
	if dim, ok := r.lookup(name); ok {
		x.Increase(dim, quantity)
	} else {
		r.missing = append(r.missing, string(name))
	}
}

// add adds a resource to x. Negative quantities count as 0.
func (r *reader) add(x fastres.Vector, resource *api.Resource) {
	if resource == nil {
		return
	}
	x.Increase(fastres.CPU, max(0, resource.MilliCPU))
	x.Increase(fastres.Memory, max(0, resource.Memory))
	if !r.scalars {
		return
	}
	for name, quantity := range resource.ScalarResources {
		r.increase(x, name, max(0, quantity))
	}
}

// addList adds a resource list to x, in the units of api.NewResource.
//
// DIVERGES: upstream lets a quantity beyond int64 wrap to 0, and a negative one
// raise the bounds of others. Here they saturate, and count as 0.
func (r *reader) addList(x fastres.Vector, list v1.ResourceList) {
	for name, quantity := range list {
		switch {
		case name == v1.ResourceCPU:
			x.Increase(fastres.CPU, milli(quantity))
		case name == v1.ResourceMemory:
			x.Increase(fastres.Memory, units(quantity))
		case !r.scalars:
		case name == v1.ResourcePods:
			x.Increase(fastres.Pods, units(quantity))
		case r.isScalar(name):
			r.increase(x, name, milli(quantity))
		}
	}
}

// isScalar reports whether Volcano accounts a resource as a scalar
// (api.NewResource). A name that has a dimension is one, which saves asking
// Kubernetes, whose answer takes a regular expression.
func (d *dimensions) isScalar(name v1.ResourceName) bool {
	ignored := false
	api.IgnoredDevicesList.Range(func(_ int, device string) bool {
		ignored = device == string(name)
		return !ignored
	})
	if ignored {
		return false
	}
	if _, ok := d.known.Lookup(string(name)); ok {
		return true
	}
	return name == v1.ResourceEphemeralStorage || !api.IsCountQuota(name) && v1helper.IsScalarResourceName(name)
}

// milli is a quantity in thousandths, at least 0, at most the largest int64.
func milli(q resource.Quantity) float64 {
	if q.Sign() <= 0 {
		return 0
	}
	if q.CmpInt64(math.MaxInt64/1000) <= 0 {
		return float64(q.MilliValue())
	}
	return math.MaxInt64
}

// units is a quantity in units, at least 0, at most the largest int64.
func units(q resource.Quantity) float64 {
	if q.Sign() <= 0 {
		return 0
	}
	if q.CmpInt64(math.MaxInt64) <= 0 {
		return float64(q.Value())
	}
	return math.MaxInt64
}

// resourceOf is x as Volcano has it: without cards.
func (d *dimensions) resourceOf(x fastres.Vector) *api.Resource {
	r := &api.Resource{MilliCPU: x.Get(fastres.CPU), Memory: x.Get(fastres.Memory)}
	for dim := fastres.Pods; int(dim) < min(x.Len(), d.known.Len()); dim++ {
		if x.Has(dim) && !d.known.IsCard(dim) {
			r.SetScalar(v1.ResourceName(d.known.Name(dim)), x.Get(dim))
		}
	}
	return r
}
