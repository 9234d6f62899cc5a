package cards

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// shape holds the requests in the spec of a claim. Claims with equal requests share one, such as the claims of one
// template.
type shape struct {
	requests []shapeRequest
	version  uint64                // of the devices in on
	on       map[string]*nodeShape // by node; nil for a node that cannot serve the claim
	problem  string                // the reason why the claim gets nothing anywhere, "" if it can get devices
}

// shapeRequest is a request of devices: one of its alternatives.
type shapeRequest struct {
	alternatives []alternative
	list         *Selector  // the cards that it admits on any node, nil if it admits none
	least        card.Milli // the smallest quantity that it takes of one of them
}

// alternative requests devices that a query admits: count, or all of them.
type alternative struct {
	query *query
	count int64
	all   bool
}

// nodeShape is the most that a claim can get on a node.
type nodeShape struct {
	most    []charge
	unnamed *device // a device that is a card without a name, nil for none
}

// shapeOf returns the shape of the spec of a claim.
func (d *devices) shapeOf(spec *resourcev1.ResourceClaimSpec) *shape {
	// The names of requests say nothing about the devices.
	requests := slices.Clone(spec.Devices.Requests)
	for i := range requests {
		requests[i].Name = ""
	}
	text, err := json.Marshal(requests)
	if err != nil {
		return &shape{problem: "its requests cannot be read: " + err.Error()}
	}
	if known := d.shapes[string(text)]; known != nil {
		return known
	}

	s := &shape{}
	for _, r := range spec.Devices.Requests {
		var alternatives []alternative
		if e := r.Exactly; e != nil {
			if e.AdminAccess != nil && *e.AdminAccess {
				continue // it looks at devices that others can have
			}
			a := d.alternative(e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count)
			alternatives = append(alternatives, a)
		}
		for _, f := range r.FirstAvailable {
			a := d.alternative(f.DeviceClassName, f.Selectors, f.AllocationMode, f.Count)
			alternatives = append(alternatives, a)
		}
		s.requests = append(s.requests, shapeRequest{alternatives: alternatives})
	}

	d.shapes[string(text)] = s
	return s
}

// alternative returns an alternative, with the query that equal ones share.
func (d *devices) alternative(class string, selectors []resourcev1.DeviceSelector,
	mode resourcev1.DeviceAllocationMode, count int64) alternative {
	text := class
	for _, s := range selectors {
		text += "\x00"
		if s.CEL != nil {
			text += s.CEL.Expression
		}
	}

	q := d.queries[text]
	if q == nil {
		q = &query{text: text, class: class, selectors: selectors}
		d.queries[text] = q
	}

	return alternative{query: q, count: max(1, count), all: mode == resourcev1.DeviceAllocationModeAll}
}

// read finds the devices that the claim can get on each node.
func (s *shape) read(session *Snapshot) {
	d := session.registry.devices
	if s.version == d.version {
		return
	}

	s.version = d.version
	s.on = map[string]*nodeShape{}
	s.problem = ""
	for i := range s.requests {
		s.requests[i].list = nil
		s.requests[i].least = math.MaxInt64
	}

	for i := range s.requests {
		s.problem = s.requests[i].problem()
		if s.problem == unfinished {
			s.version = 0 // the next session reads it again
		}
		if s.problem != "" {
			return
		}
	}

	names := make([]map[string]bool, len(s.requests))
	for i := range names {
		names[i] = map[string]bool{}
	}
	for node, found := range d.found {
		if n := s.find(session, found, names); n != nil {
			s.on[node] = n
		}
	}

	for i, named := range names {
		s.requests[i].list = session.selector(slices.Sorted(maps.Keys(named)))
	}
}

// problem returns the reason why no alternative can be served, "" if one can be. The devices of all alternatives must
// be known.
func (r *shapeRequest) problem() (problem string) {
	served := false
	for _, a := range r.alternatives {
		if a.query.problem == unfinished {
			return unfinished
		}
		served = served || a.query.problem == ""
		problem = cmp.Or(problem, a.query.problem)
	}

	switch {
	case served:
		return ""
	case len(r.alternatives) == 0:
		return "a request names neither exactly nor firstAvailable, which this release of Kubernetes knows"
	}
	return problem
}

// find returns the most that a claim can get of the devices of a node, nil if the node cannot serve it. It adds the
// cards to names, by request.
func (s *shape) find(session *Snapshot, found []*device, names []map[string]bool) *nodeShape {
	n := &nodeShape{}
	var got []map[fastres.Dim]int64
	for i := range s.requests {
		most, some := s.requests[i].most(found, n)
		if !some {
			return nil
		}
		got = append(got, most)
	}

	left := map[fastres.Dim]int64{} // devices that earlier requests have not taken
	for i, most := range got {
		r := &s.requests[i]
		for _, dim := range slices.Sorted(maps.Keys(most)) {
			names[i][session.names.Name(dim)] = true
			r.least = min(r.least, card.Cards(r.fewest(most[dim])))

			if _, begun := left[dim]; !begun {
				left[dim] = capacity(found, dim)
			}
			count := min(most[dim], left[dim])
			if count == 0 {
				continue
			}

			left[dim] -= count
			only := session.registry.devices.onlyOf(session, dim)
			n.most = append(n.most, charge{dim: dim, milli: card.Cards(count), request: i, only: only})
		}
	}
	return n
}

// capacity returns how many times the devices of a node can be allocated as one card.
func capacity(found []*device, dim fastres.Dim) (n int64) {
	for _, device := range found {
		switch {
		case device.dim != dim:
		case device.shared():
			return math.MaxInt64
		default:
			n++
		}
	}
	return n
}

// saturated returns x + y, or the largest number.
func saturated(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// fewest returns the smallest number of devices that an alternative takes, if the node gives count of one card.
func (r *shapeRequest) fewest(count int64) int64 {
	for _, a := range r.alternatives {
		if !a.all {
			count = min(count, a.count)
		}
	}
	return count
}

// shared reports whether a device can be a part of several claims.
func (d *device) shared() bool {
	return d.object.AllowMultipleAllocations != nil && *d.object.AllowMultipleAllocations
}

// most returns the largest number of devices of each card that an alternative takes on a node. some reports whether the
// node has enough devices for any alternative.
func (r *shapeRequest) most(found []*device, n *nodeShape) (most map[fastres.Dim]int64, some bool) {
	most = map[fastres.Dim]int64{}
	for _, a := range r.alternatives {
		if a.query.problem != "" {
			continue
		}

		byCard, total, unnamed := a.admitted(found)
		if total == 0 || !a.all && total < a.count {
			continue
		}

		some = true
		if unnamed != nil {
			n.unnamed = unnamed
		}

		for dim, count := range byCard {
			if !a.all {
				count = min(count, a.count)
			}
			most[dim] = max(most[dim], count)
		}
	}
	return most, some
}

// admitted counts the devices of a node that an alternative admits, by card and in total. A device that several claims
// share counts as often as the alternative can have it. unnamed is a device that is a card without a name.
func (a *alternative) admitted(found []*device) (byCard map[fastres.Dim]int64, total int64, unnamed *device) {
	byCard = map[fastres.Dim]int64{}
	for _, device := range found {
		if !a.query.admitted.Test(device.number) {
			continue
		}

		more := int64(1)
		if device.shared() && !a.all {
			more = a.count
		}

		total = saturated(total, more)
		if device.dim != 0 {
			byCard[device.dim] = saturated(byCard[device.dim], more)
		}
		if device.missing != "" {
			unnamed = device
		}
	}
	return byCard, total, unnamed
}

// findShapes finds the shapes of the claims, and evaluates their queries. Those that have cost least go first.
func (d *devices) findShapes() {
	if len(d.shapes) > 2*len(d.claims)+64 { // most shapes are of claims that are gone
		d.forgetShapes()
	}
	renewed := len(d.shapes) == 0
	for _, c := range d.claims {
		if c.object != nil && c.shape == nil {
			c.shape = d.shapeOf(&c.object.Spec)
		}
	}
	if renewed {
		d.dropQueries()
	}

	var stale []*query
	for _, q := range d.queries {
		if q.version != d.version {
			stale = append(stale, q)
		}
	}
	slices.SortFunc(stale, func(x, y *query) int { return cmp.Compare(x.cost, y.cost) })
	for _, q := range stale {
		q.read(d)
	}
}

// dropQueries drops the queries that no shape has.
func (d *devices) dropQueries() {
	used := map[string]*query{}
	for _, s := range d.shapes {
		for _, r := range s.requests {
			for _, a := range r.alternatives {
				used[a.query.text] = a.query
			}
		}
	}
	d.queries = used
}
