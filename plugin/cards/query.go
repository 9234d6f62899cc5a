package cards

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// maxExpressions is the number of CEL expressions that stay compiled.
const maxExpressions = 1000

// expressions are compiled CEL expressions, as the allocator of Kubernetes compiles them.
var expressions = cel.NewCache(maxExpressions, cel.Features{EnableConsumableCapacity: true})

// query is the devices that a class and the selectors of a request admit. Requests that are alike share one.
type query struct {
	class     string
	selectors []resourcev1.DeviceSelector
	version   uint64 // of the devices for which matches is
	matches   map[*device]bool
	problem   string // why it admits none
}

// read finds the devices that the query admits.
func (q *query) read(d *devices) {
	if q.version == d.version {
		return
	}
	q.version = d.version
	q.matches = map[*device]bool{}
	q.problem = ""
	class := d.classes[q.class]
	if class == nil {
		q.problem = fmt.Sprintf("the device class %s does not exist", Shown(q.class))
		return
	}
	programs, problem := compile(class.Spec.Selectors, "the device class "+Shown(q.class))
	if problem == "" {
		var own []cel.CompilationResult
		own, problem = compile(q.selectors, "its request")
		programs = append(programs, own...)
	}
	q.problem = problem
	if problem != "" {
		return
	}
	for _, device := range d.byID {
		if admits(programs, device) {
			q.matches[device] = true
		}
	}
}

// compile compiles the expressions of selectors. A selector without one admits nothing, as in Kubernetes.
func compile(selectors []resourcev1.DeviceSelector, of string) (programs []cel.CompilationResult, problem string) {
	for _, s := range selectors {
		if s.CEL == nil {
			return nil, "a selector of " + of + " has no CEL expression"
		}
		program := expressions.GetOrCompile(s.CEL.Expression)
		if program.Error != nil {
			return nil, fmt.Sprintf("a CEL expression of %s does not compile: %s", of, Shown(oneLine(program.Error.Error())))
		}
		programs = append(programs, program)
	}
	return programs, ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// admits reports whether all programs admit a device. One that fails admits nothing: the allocator gives no device
// then either.
func admits(programs []cel.CompilationResult, d *device) bool {
	input := cel.Device{Driver: d.id.driver, AllowMultipleAllocations: d.object.AllowMultipleAllocations,
		Attributes: d.object.Attributes, Capacity: d.object.Capacity}
	for _, p := range programs {
		if matches, _, err := p.DeviceMatches(context.Background(), input); err != nil || !matches {
			return false
		}
	}
	return true
}

// shape is the requests in the spec of a claim. Claims with equal requests, such as those of one template, share one.
type shape struct {
	requests []shapeRequest
	version  uint64 // of the devices for which the rest is
	on       map[string]*nodeShape
	problem  string // why the claim gets nothing anywhere
	used     uint64 // the last session with a claim that is not allocated
}

// shapeRequest is a request of devices: one of its alternatives.
type shapeRequest struct {
	alternatives []alternative
	// list are the cards that it admits on any node, nil where it admits none. least is the smallest quantity that it
	// takes of one of them.
	list  *Selector
	least card.Milli
}

// alternative is a number of devices that a query admits: count, or all of them.
type alternative struct {
	query *query
	count int64
	all   bool
}

// nodeShape is the most that a claim can get on a node.
type nodeShape struct {
	most    []charge
	unnamed *device // a device of a driver of cards that has no name, nil for none
}

// shapeOf returns the shape of the spec of a claim.
func (d *devices) shapeOf(spec *resourcev1.ResourceClaimSpec) *shape {
	text, err := json.Marshal(spec.Devices.Requests)
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
				continue // looks at devices, and keeps nobody from them
			}
			alternatives = append(alternatives, d.alternative(e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count))
		}
		for _, f := range r.FirstAvailable {
			alternatives = append(alternatives, d.alternative(f.DeviceClassName, f.Selectors, f.AllocationMode, f.Count))
		}
		s.requests = append(s.requests, shapeRequest{alternatives: alternatives})
	}
	d.shapes[string(text)] = s
	return s
}

func (d *devices) alternative(class string, selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode,
	count int64,
) alternative {
	text := class
	for _, s := range selectors {
		text += "\x00"
		if s.CEL != nil {
			text += s.CEL.Expression
		}
	}
	q := d.queries[text]
	if q == nil {
		q = &query{class: class, selectors: selectors}
		d.queries[text] = q
	}
	return alternative{query: q, count: max(1, count), all: mode == resourcev1.DeviceAllocationModeAll}
}

// read finds what the claim can get on each node.
func (s *shape) read(session *Session) {
	d := session.registry.devices
	if s.version == d.version {
		return
	}
	s.version = d.version
	s.on = map[string]*nodeShape{}
	s.problem = ""
	for i := range s.requests {
		s.requests[i].least = math.MaxInt64
		s.problem = s.requests[i].problem(d)
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
		var list card.List
		for name := range named {
			list = append(list, name)
		}
		slices.Sort(list)
		s.requests[i].list = session.selector(list)
	}
}

// problem returns why none of the alternatives can be served, "" if one can be.
func (r *shapeRequest) problem(d *devices) (problem string) {
	served := false
	for _, a := range r.alternatives {
		a.query.read(d)
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

// find returns the most that a claim can get of the devices of a node, nil where it cannot be served. It adds the cards
// to names, by request.
func (s *shape) find(session *Session, found []*device, names []map[string]bool) *nodeShape {
	n := &nodeShape{}
	left := map[fastres.Dim]int64{} // of the devices that requests before have not taken
	var got []map[fastres.Dim]int64
	for i := range s.requests {
		most, some := s.requests[i].most(found, n)
		if !some {
			return nil
		}
		got = append(got, most)
	}
	for i, most := range got {
		for _, dim := range slices.Sorted(maps.Keys(most)) {
			names[i][session.names.Name(dim)] = true
			s.requests[i].least = min(s.requests[i].least, card.Cards(s.requests[i].fewest(most[dim])))
			if _, begun := left[dim]; !begun {
				left[dim] = capacity(found, dim)
			}
			if count := min(most[dim], left[dim]); count > 0 {
				left[dim] -= count
				n.most = append(n.most, charge{dim: dim, milli: card.Cards(count), request: i,
					only: session.registry.devices.onlyOf(session, dim)})
			}
		}
	}
	return n
}

// capacity returns how often the devices of a node give one card.
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

// fewest returns the smallest number of devices that an alternative takes, where the node gives count of one card.
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

// most returns the most that an alternative takes of each card, of the devices of a node, and whether some alternative
// can be served there as far as the number of devices tells.
func (r *shapeRequest) most(found []*device, n *nodeShape) (most map[fastres.Dim]int64, some bool) {
	most = map[fastres.Dim]int64{}
	for _, a := range r.alternatives {
		if a.query.problem != "" {
			continue
		}
		devices, has := map[fastres.Dim]int64{}, int64(0)
		var unnamed *device
		for _, device := range found {
			if !a.query.matches[device] {
				continue
			}
			more := int64(1)
			if device.shared() && !a.all {
				more = a.count
			}
			has = saturated(has, more)
			if device.dim != 0 {
				devices[device.dim] = saturated(devices[device.dim], more)
			}
			if device.missing != "" {
				unnamed = device
			}
		}
		if has == 0 || !a.all && has < a.count {
			continue
		}
		some = true
		if unnamed != nil {
			n.unnamed = unnamed
		}
		for dim, count := range devices {
			if !a.all {
				count = min(count, a.count)
			}
			most[dim] = max(most[dim], count)
		}
	}
	return most, some
}
