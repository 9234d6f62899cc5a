package intake

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
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// Dimensions maps resource names to dimensions, for vectors of one length. It is safe for many goroutines.
type Dimensions struct {
	names   *index.Names
	scalars bool // scalar resources count
	length  int
	ignored []string // resources that Volcano ignores (api.IgnoredDevicesList)
	common  common
}

// named is a resource and its dimension. The dimension is unknown where the vectors have none.
type named struct {
	name v1.ResourceName
	dim  fastres.Dim
}

const unknown fastres.Dim = -1

// common holds the resources that most tasks request: cpu, memory, and some scalars. A task requests few resources,
// and a few look-ups in a small map are faster than an iteration over it: without them, BenchmarkSessionOpen takes 15
// % longer.
type common []named

// maxCommon is the maximum number of resources that are looked up by name.
const maxCommon = 8

// reset makes c the resources that are present in requests.
func (c *common) reset(names *index.Names, requests fastres.Vector) {
	*c = append((*c)[:0], named{v1.ResourceCPU, fastres.CPU}, named{v1.ResourceMemory, fastres.Memory})
	for d := range requests.Scalars() {
		if len(*c) < maxCommon && !names.IsCard(d) {
			*c = append(*c, named{v1.ResourceName(names.Name(d)), d})
		}
	}
}

// scalars is c without cpu and memory, which no map of scalars has.
func (c common) scalars() common { return c[min(2, len(c)):] }

func (c common) has(name v1.ResourceName) bool {
	return slices.ContainsFunc(c, func(n named) bool { return n.name == name })
}

// each iterates over a map of resources: first the common ones, then the others.
func each[Q any](d *Dimensions, c common, resources map[v1.ResourceName]Q) iter.Seq2[named, Q] {
	return func(yield func(named, Q) bool) {
		left := len(resources)
		for i := 0; i < len(c) && left > 0; i++ {
			quantity, ok := resources[c[i].name]
			if !ok {
				continue
			}

			left--
			if !yield(c[i], quantity) {
				return
			}
		}

		if left == 0 {
			return
		}

		for name, quantity := range resources {
			if !c.has(name) && !yield(d.named(name), quantity) {
				return
			}
		}
	}
}

// named returns a resource with its dimension.
func (d *Dimensions) named(name v1.ResourceName) named {
	dim, ok := d.names.Lookup(string(name))
	if !ok || int(dim) >= d.length {
		dim = unknown
	}
	return named{name, dim}
}

// atLeastZero is max(0, quantity) without the rules for NaN and −0, which take time.
func atLeastZero(quantity float64) float64 {
	if quantity > 0 {
		return quantity
	}
	return 0
}

// Length returns the number of dimensions of the session's vectors.
func (d *Dimensions) Length() int { return d.length }

// Set makes x equal to r, and reports whether the vectors have a dimension for each resource of r. Negative quantities
// count as 0.
func (d *Dimensions) Set(x fastres.Vector, r *api.Resource) (complete bool) {
	x.Reset()
	if r == nil {
		return true
	}

	x.Set(fastres.CPU, atLeastZero(r.MilliCPU))
	x.Set(fastres.Memory, atLeastZero(r.Memory))
	if !d.scalars {
		return true
	}

	complete = true
	for n, quantity := range each(d, d.common.scalars(), r.ScalarResources) {
		if n.dim != unknown {
			x.Set(n.dim, atLeastZero(quantity))
		} else if quantity > 0 {
			complete = false
		}
	}
	return complete
}

// reader reads resources with names that may be new. It collects the names without a dimension in the vectors.
// State.Read gives them one and reads again.
type reader struct {
	dims    *Dimensions
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

	x.Increase(fastres.CPU, atLeastZero(resource.MilliCPU))
	x.Increase(fastres.Memory, atLeastZero(resource.Memory))
	if !r.dims.scalars {
		return
	}

	for n, quantity := range each(r.dims, r.dims.common.scalars(), resource.ScalarResources) {
		r.increase(x, n, atLeastZero(quantity))
	}
}

// addList adds a resource list to x, in the units of api.NewResource.
//
// DIVERGES: upstream lets a quantity beyond int64 wrap to 0, and a negative quantity raises the bounds of other queues.
// Here the former saturates, and the latter counts as 0.
func (r *reader) addList(x fastres.Vector, list v1.ResourceList) {
	for n, quantity := range each(r.dims, r.dims.common, list) {
		switch {
		case n.dim == fastres.CPU:
			x.Increase(fastres.CPU, milli(quantity))
		case n.dim == fastres.Memory:
			x.Increase(fastres.Memory, units(quantity))
		case !r.dims.scalars:
		case n.dim == fastres.Pods:
			x.Increase(fastres.Pods, units(quantity))
		case r.dims.isScalar(n):
			r.increase(x, n, milli(quantity))
		}
	}
}

// isScalar reports whether Volcano accounts a resource as a scalar (api.NewResource).
func (d *Dimensions) isScalar(n named) bool {
	switch {
	case slices.Contains(d.ignored, string(n.name)):
		return false
	case n.dim != unknown: // saves the regular expression of Kubernetes
		return true
	}
	return n.name == v1.ResourceEphemeralStorage || !api.IsCountQuota(n.name) && v1helper.IsScalarResourceName(n.name)
}

// milli converts a quantity to thousandths, from 0 to math.MaxInt64.
func milli(q resource.Quantity) float64 { return float64(card.MilliOf(q)) }

// units converts a quantity to units, from 0 to math.MaxInt64.
func units(q resource.Quantity) float64 {
	if q.Sign() <= 0 {
		return 0
	}
	if whole, ok := q.AsInt64(); ok {
		return float64(whole)
	}
	if card.Fits(q) {
		return float64(q.Value())
	}
	return math.MaxInt64
}

// Resource converts x to Volcano's form, without cards and devices.
func (d *Dimensions) Resource(x fastres.Vector) *api.Resource {
	r := &api.Resource{MilliCPU: x.Get(fastres.CPU), Memory: x.Get(fastres.Memory)}
	for dim := fastres.Pods; int(dim) < min(x.Len(), d.names.Len()); dim++ {
		if _, device := d.names.Class(dim); x.Has(dim) && !device && !d.names.IsCard(dim) {
			r.SetScalar(v1.ResourceName(d.names.Name(dim)), x.Get(dim))
		}
	}
	return r
}

// setMinimum sets x to the minimum resources of a job, 0 where it has none.
func (r *reader) setMinimum(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
		r.addList(x, *job.PodGroup.Spec.MinResources)
	}
}

// setGated sets x to the sum of the requests of the job's pods with scheduling gates.
func (r *reader) setGated(x fastres.Vector, gates reserve.Gates, job *api.JobInfo, allocated int) {
	x.Reset()
	if allocated == len(job.Tasks) { // a pod with gates has no node
		return
	}

	for _, task := range job.Tasks {
		if gates.Gated(task) {
			r.add(x, task.Resreq)
		}
	}
}
