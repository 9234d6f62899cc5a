package cards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// mostShapes bounds the different claims of a namespace that wait for devices. A shape has an entry for each node.
const mostShapes = 64

// crowded is the problem of further claims of the namespace, until some of the others have their devices.
var crowded = fmt.Sprintf("%d other claims of its namespace, with different requests, wait for devices", mostShapes)

// shapeOf returns the shape of the spec of a claim.
func (d *devices) shapeOf(spec *resourcev1.ResourceClaimSpec) *shape {
	// The names of requests say nothing about the devices.
	requests := slices.Clone(spec.Devices.Requests)
	for i := range requests {
		requests[i].Name = ""
	}
	text, _ := json.Marshal(requests) // of an object of the API server, which has no error
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
		s.alternatives += len(alternatives)
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

// readShapes finds the devices of the claims. Claims with the fewest alternatives go first.
func (d *devices) readShapes(s *Snapshot) {
	wanted := d.wanted()
	for _, shape := range d.shapes {
		if !wanted[shape] {
			shape.drop()
			shape.problem = crowded
		}
	}

	byWork := func(x, y *shape) int { return cmp.Compare(x.alternatives, y.alternatives) }
	for _, shape := range slices.SortedFunc(maps.Keys(wanted), byWork) {
		shape.read(s)
	}
}

// wanted returns the shapes to read: of claims that are allocated, and in each namespace mostShapes of claims that wait
// for devices. Shapes that were read before go first.
func (d *devices) wanted() map[*shape]bool {
	type place struct {
		namespace string
		shape     *shape
	}

	wanted := map[*shape]bool{}
	var before, others []*Claim // that wait
	for _, c := range d.claims {
		switch {
		case c.object == nil:
		case !c.waits():
			wanted[c.shape] = true
		case c.shape.on != nil:
			before = append(before, c)
		default:
			others = append(others, c)
		}
	}

	counted := map[place]bool{}
	count := map[string]int{}
	for _, c := range slices.Concat(before, others) {
		at := place{namespace: c.object.Namespace, shape: c.shape}
		if !counted[at] && count[at.namespace] < mostShapes {
			counted[at] = true
			count[at.namespace]++
			wanted[c.shape] = true
		}
	}
	return wanted
}
