package plugin

import (
	"iter"
	"math"
	"slices"

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
	ignored []string // resources that Volcano leaves out (api.IgnoredDevicesList)
	usual   usual
}

// named is a resource and its dimension, unknown where the vectors have none.
type named struct {
	name v1.ResourceName
	dim  fastres.Dim
}

const unknown fastres.Dim = -1

// usual is what most tasks ask for: cpu, memory, and some scalars. A task asks
// for few resources, and to ask a small map for a name is several times quicker
// than to iterate over it.
type usual []named

// maxUsual is how many names are worth asking for.
const maxUsual = 8

// reset makes u what is present in requests.
func (u *usual) reset(names *index.Names, requests fastres.Vector) {
	*u = append((*u)[:0], named{v1.ResourceCPU, fastres.CPU}, named{v1.ResourceMemory, fastres.Memory})
	for dim := range requests.Scalars() {
		if len(*u) < maxUsual && !names.IsCard(dim) {
			*u = append(*u, named{v1.ResourceName(names.Name(dim)), dim})
		}
	}
}

// scalars is u without cpu and memory, which no map of scalars has.
func (u usual) scalars() usual { return u[min(2, len(u)):] }

func (u usual) has(name v1.ResourceName) bool {
	return slices.ContainsFunc(u, func(n named) bool { return n.name == name })
}

// each iterates over a map of resources, in an order of its own.
func each[Q any](d *dimensions, u usual, resources map[v1.ResourceName]Q) iter.Seq2[named, Q] {
	return func(yield func(named, Q) bool) {
		left := len(resources)
		for i := 0; i < len(u) && left > 0; i++ {
			if quantity, ok := resources[u[i].name]; ok {
				left--
				if !yield(u[i], quantity) {
					return
				}
			}
		}
		if left == 0 {
			return
		}
		for name, quantity := range resources {
			if u.has(name) {
				continue
			}
			dim, ok := d.known.Lookup(string(name))
			if !ok || int(dim) >= d.length {
				dim = unknown
			}
			if !yield(named{name, dim}, quantity) {
				return
			}
		}
	}
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
	if !d.scalars {
		return true
	}
	complete = true
	for n, quantity := range each(d, d.usual.scalars(), r.ScalarResources) {
		if n.dim != unknown {
			x.Set(n.dim, max(0, quantity))
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

func (r *reader) increase(x fastres.Vector, n named, quantity float64) {
	if n.dim != unknown {
		x.Increase(n.dim, quantity)
	} else {
		r.missing = append(r.missing, string(n.name))
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
	for n, quantity := range each(&r.dimensions, r.usual.scalars(), resource.ScalarResources) {
		r.increase(x, n, max(0, quantity))
	}
}

// addList adds a resource list to x, in the units of api.NewResource.
//
// DIVERGES: upstream lets a quantity beyond int64 wrap to 0, and a negative one
// raise the bounds of others. Here they saturate, and count as 0.
func (r *reader) addList(x fastres.Vector, list v1.ResourceList) {
	for n, quantity := range each(&r.dimensions, r.usual, list) {
		switch {
		case n.dim == fastres.CPU:
			x.Increase(fastres.CPU, milli(quantity))
		case n.dim == fastres.Memory:
			x.Increase(fastres.Memory, units(quantity))
		case !r.scalars:
		case n.dim == fastres.Pods:
			x.Increase(fastres.Pods, units(quantity))
		case r.isScalar(n):
			r.increase(x, n, milli(quantity))
		}
	}
}

// isScalar reports whether Volcano accounts a resource as a scalar
// (api.NewResource). A name that has a dimension is one, which saves asking
// Kubernetes, whose answer takes a regular expression.
func (d *dimensions) isScalar(n named) bool {
	switch {
	case slices.Contains(d.ignored, string(n.name)):
		return false
	case n.dim != unknown:
		return true
	}
	return n.name == v1.ResourceEphemeralStorage || !api.IsCountQuota(n.name) && v1helper.IsScalarResourceName(n.name)
}

// milli is a quantity in thousandths, at least 0, at most the largest int64.
func milli(q resource.Quantity) float64 {
	if whole, ok := q.AsInt64(); ok && whole <= math.MaxInt64/1000 {
		return float64(max(0, whole) * 1000)
	}
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
	if whole, ok := q.AsInt64(); ok {
		return float64(max(0, whole))
	}
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
