package cards

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// shape holds the requests in the spec of a claim. Claims with equal requests share one, such as the claims of one
// template.
type shape struct {
	requests     []shapeRequest
	alternatives int    // of all requests
	problem      string // the reason why the claim gets nothing anywhere, "" if it can get devices

	version uint64                // of the devices that all nodes were searched with, 0 before that
	classed uint64                // of the device classes that nodes were searched with
	on      map[string]nodeResult // by node; nil before a search begins
	kinds   []*nodeShape          // some of the results, so that nodes with equal devices share one

	searched uint64   // the version of the devices in left
	left     []string // nodes to search
}

// nodeResult is the result of the search for devices on a node.
type nodeResult struct {
	devices *nodeDevices
	shape   *nodeShape // nil for a node that cannot serve the claim
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
	offers  []offer
	unnamed *device // a device that is a card without a name, nil for none
}

// offer is a card that a request admits on a node.
type offer struct {
	request int
	dim     fastres.Dim
	least   card.Milli // the smallest quantity that the request takes of it
}

const (
	// mostLooks bounds how often a session looks at a device for a claim: about half a second. The next sessions
	// do the rest. Any tenant can create claims with many alternatives.
	mostLooks = 30_000_000
	mostKinds = 16 // of shape.kinds
)

// read finds the devices that the claim can get on each node, as far as the session may look at devices. It searches
// the nodes with other devices than before.
func (s *shape) read(session *Snapshot) {
	d := session.registry.devices
	if s.version == d.version {
		return
	}

	if s.searched != d.version && !s.begin(d) {
		return
	}

	for len(s.left) > 0 {
		if d.looks >= mostLooks {
			s.problem = unfinished
			return
		}

		last := len(s.left) - 1
		node := s.left[last]
		s.left = s.left[:last]
		found := d.found[node]
		s.on[node] = nodeResult{devices: found, shape: s.intern(s.find(session, found.all))}
	}

	s.combine(session)
	s.version = d.version
	s.problem = ""
}

// begin begins a search, and reports whether it can: all queries must be evaluated, and each request must have an
// alternative that can be served.
func (s *shape) begin(d *devices) bool {
	for i := range s.requests {
		s.problem = s.requests[i].problem()
		if s.problem == unfinished {
			return false // the next session begins again
		}
		if s.problem != "" {
			s.drop()
			s.on = map[string]nodeResult{}
			s.version = d.version
			return false
		}
	}

	if s.on == nil || s.classed != d.classed {
		s.on = map[string]nodeResult{}
		s.kinds = nil
		s.classed = d.classed
	}

	s.searched = d.version
	s.left = nil
	for node, found := range d.found {
		if s.on[node].devices != found {
			s.left = append(s.left, node)
		}
	}
	maps.DeleteFunc(s.on, func(node string, _ nodeResult) bool { return d.found[node] == nil })
	return true
}

// intern returns a result that equals n and that other nodes have, or n itself.
func (s *shape) intern(n *nodeShape) *nodeShape {
	if n == nil {
		return nil
	}

	for _, kind := range s.kinds {
		same := kind.unnamed == n.unnamed && slices.Equal(kind.most, n.most) && slices.Equal(kind.offers, n.offers)
		if same {
			return kind
		}
	}

	if len(s.kinds) < mostKinds {
		s.kinds = append(s.kinds, n)
	}
	return n
}

// combine sets the cards that each request admits on any node.
func (s *shape) combine(session *Snapshot) {
	names := make([]map[string]bool, len(s.requests))
	for i := range s.requests {
		names[i] = map[string]bool{}
		s.requests[i].least = math.MaxInt64
	}

	seen := map[*nodeShape]bool{nil: true}
	for _, result := range s.on {
		if seen[result.shape] {
			continue
		}

		seen[result.shape] = true
		for _, o := range result.shape.offers {
			names[o.request][session.names.Name(o.dim)] = true
			s.requests[o.request].least = min(s.requests[o.request].least, o.least)
		}
	}

	for i, named := range names {
		s.requests[i].list = session.selector(slices.Sorted(maps.Keys(named)))
	}
}

// drop forgets all results.
func (s *shape) drop() {
	s.version = 0
	s.searched = 0
	s.on = nil
	s.kinds = nil
	s.left = nil
	for i := range s.requests {
		s.requests[i].list = nil
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

// find returns the most that a claim can get of the devices of a node, nil if the node cannot serve it.
func (s *shape) find(session *Snapshot, found []*device) *nodeShape {
	d := session.registry.devices
	d.looks += len(found) * s.alternatives

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
			n.offers = append(n.offers, offer{request: i, dim: dim, least: card.Cards(r.fewest(most[dim]))})
			if _, begun := left[dim]; !begun {
				left[dim] = capacity(found, dim)
				d.looks += len(found)
			}
			count := min(most[dim], left[dim])
			if count == 0 {
				continue
			}

			left[dim] -= count
			only := d.onlyOf(session, dim)
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
