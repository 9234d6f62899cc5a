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
type dimensions struct {
	known   *index.Names
	scalars bool // scalars count
	length  int
	// short: a name was met that the vectors have no room for. Whoever reads
	// names that may be new looks at it, and starts again with longer vectors.
	short bool
}

// intern returns the dimension of a scalar, and whether it counts and fits.
func (d *dimensions) intern(name v1.ResourceName) (fastres.Dim, bool) {
	if !d.scalars {
		return 0, false
	}
	dim := d.known.Intern(string(name))
	if int(dim) >= d.length {
		d.short = true
		return 0, false
	}
	return dim, true
}

// add adds r to x. Negative quantities count as 0.
func (d *dimensions) add(x fastres.Vector, r *api.Resource) {
	if r == nil {
		return
	}
	x.Increase(fastres.CPU, max(0, r.MilliCPU))
	x.Increase(fastres.Memory, max(0, r.Memory))
	for name, quantity := range r.ScalarResources {
		if dim, ok := d.intern(name); ok {
			x.Increase(dim, max(0, quantity))
		}
	}
}

// set makes x equal to r, from names that are known already, and reports
// whether they cover all that r asks for. It is safe for many goroutines.
func (d *dimensions) set(x fastres.Vector, r *api.Resource) (complete bool) {
	x.Reset()
	x.Set(fastres.CPU, max(0, r.MilliCPU))
	x.Set(fastres.Memory, max(0, r.Memory))
	complete = true
	if !d.scalars {
		return complete
	}
	for name, quantity := range r.ScalarResources {
		if dim, ok := d.known.Lookup(string(name)); ok && int(dim) < d.length {
			x.Set(dim, max(0, quantity))
		} else if quantity > 0 {
			complete = false
		}
	}
	return complete
}

// addList adds a resource list to x, in the units of api.NewResource.
//
// DIVERGES: upstream lets a quantity beyond int64 wrap to 0, and a negative one
// raise the bounds of others. Here they saturate, and count as 0.
func (d *dimensions) addList(x fastres.Vector, list v1.ResourceList) {
	for name, quantity := range list {
		switch {
		case name == v1.ResourceCPU:
			x.Increase(fastres.CPU, milli(quantity))
		case name == v1.ResourceMemory:
			x.Increase(fastres.Memory, units(quantity))
		case name == v1.ResourcePods:
			if dim, ok := d.intern(name); ok {
				x.Increase(dim, units(quantity))
			}
		case d.isScalar(name):
			if dim, ok := d.intern(name); ok {
				x.Increase(dim, milli(quantity))
			}
		}
	}
}

// isScalar reports whether Volcano accounts a resource as a scalar
// (api.NewResource). A name that has a dimension is one, which saves asking
// Kubernetes, whose answer takes a regular expression.
func (d *dimensions) isScalar(name v1.ResourceName) bool {
	if !d.scalars {
		return false
	}
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

// resourceOf is x as Volcano has it.
func (d *dimensions) resourceOf(x fastres.Vector) *api.Resource {
	r := &api.Resource{MilliCPU: x.Get(fastres.CPU), Memory: x.Get(fastres.Memory)}
	for dim := fastres.Pods; int(dim) < x.Len(); dim++ {
		if x.Has(dim) {
			r.SetScalar(v1.ResourceName(d.known.Name(dim)), x.Get(dim))
		}
	}
	return r
}
