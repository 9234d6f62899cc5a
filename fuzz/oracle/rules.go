package oracle

import (
	"cmp"
	"slices"
)

// fits reports whether used + request ≤ limit in all that is requested.
func fits(used, request, limit Amounts) bool {
	return !slices.ContainsFunc(request.requested(), func(d string) bool { return used[d]+request[d] > limit[d] })
}

// Allocatable returns the lowest queue, from name up, that has no room for a
// task, "" if all have.
func (o *Oracle) Allocatable(name string, request Amounts) string {
	return o.first(name, func(q string) bool { return !fits(o.Allocated(q), request, o.Bound(q)) })
}

// Enqueueable returns the lowest queue, from name up, that has no room for
// the minimum of a job, "" if all have.
func (o *Oracle) Enqueueable(name string, min Amounts) string {
	return o.first(name, func(q string) bool {
		allocated, inqueue, elastic, bound := o.Allocated(q), o.Inqueue(q), o.Elastic(q), o.Bound(q)
		return slices.ContainsFunc(min.requested(), func(d string) bool {
			return min[d]+allocated[d]+inqueue[d]-elastic[d] > bound[d]
		})
	})
}

func (o *Oracle) first(name string, full func(string) bool) string {
	for _, q := range o.Path(name) {
		if full(q) {
			return q
		}
	}
	return ""
}

// Preemptive answers whether a queue may take from others for a task: "over
// quota", "over deserved", or "". One dimension under deserved is enough. Those
// in which both sides are next to nothing do not count.
func (o *Oracle) Preemptive(name string, request Amounts) string {
	allocated, deserved := o.Allocated(name), o.Deserved(name)
	if !fits(allocated, request, o.Bound(name)) {
		return "over quota"
	}
	for _, d := range request.requested() {
		after := allocated[d] + request[d]
		if (after >= tolerance || deserved[d] >= tolerance) && atMost(after, deserved[d]) {
			return ""
		}
	}
	return "over deserved"
}

// Victims are tasks picked one after the other for one reclaimer; those picked
// count as gone.
type Victims struct {
	oracle *Oracle
	left   map[string]Amounts
}

// Victims starts a new set.
func (o *Oracle) Victims() *Victims { return &Victims{o, map[string]Amounts{}} }

// Left is what a queue has without the victims.
func (v *Victims) Left(name string) Amounts {
	if v.left[name] == nil {
		v.left[name] = v.oracle.Allocated(name)
	}
	return v.left[name]
}

// Take answers whether a task of a queue may be taken, and takes it if so.
func (v *Victims) Take(name string, victim, reclaimer Amounts) bool {
	left, deserved := v.Left(name), v.oracle.Deserved(name)
	rest := left.Minus(victim)
	switch {
	case !common(victim, reclaimer, false):
		return false // of no use
	case !rest.covers(v.oracle.Guarantee(name)):
		return false // guaranteed
	case common(victim, deserved, true) && !slices.ContainsFunc(victim.requested(), func(d string) bool {
		// A scalar that deserved names with 0 is one that the queue deserves none
		// of; cpu and memory of 0 are not set.
		relevant := deserved.has(d) && (d != CPU && d != Memory || deserved[d] >= tolerance)
		return relevant && left[d] > deserved[d]
	}):
		return false // deserved
	}
	v.left[name] = rest
	return true
}

// KeepsCard answers whether a queue has no more of a card than it deserves.
func (v *Victims) KeepsCard(name, card string) bool {
	return v.Left(name)[card] <= v.oracle.Deserved(name)[card]
}

// Share is the greatest allocated/deserved, 1 for a queue that deserves nothing:
// it comes after all that have not got what they deserve.
func (o *Oracle) Share(name string) float64 {
	allocated, deserved, share := o.Allocated(name), o.Deserved(name), 0.0
	if deserved.empty() {
		return 1
	}
	for _, d := range dimensions(deserved) {
		if deserved[d] >= tolerance {
			share = max(share, allocated[d]/deserved[d])
		}
	}
	return share
}

// Order compares two queues of one priority: negative if l is served first.
func (o *Oracle) Order(l, r string) int {
	switch {
	case o.cluster.Root == "":
	case o.Broken(l) != o.Broken(r):
		return before(!o.Broken(l))
	case o.Broken(l):
	case o.Leaf(l) != o.Leaf(r):
		return before(o.Leaf(l))
	case o.Leaf(l):
		// What counts is which subtree is served, so leaves compare as the two
		// queues just below the lowest one that both are in.
		level := o.commonLevel(l, r) + 1
		l, r = o.atLevel(l, level), o.atLevel(r, level)
	}
	if c := cmp.Compare(o.Share(l), o.Share(r)); c != 0 {
		return c
	}
	if deserves := !o.Deserved(l).empty(); deserves == o.Deserved(r).empty() {
		return before(deserves)
	}
	return 0
}

// VictimOrder compares two queues to take victims from: negative if l loses
// tasks first, as the one that is nearer to the preemptor does.
func (o *Oracle) VictimOrder(l, r, preemptor string) int {
	return cmp.Compare(o.commonLevel(r, preemptor), o.commonLevel(l, preemptor))
}

func before(l bool) int {
	if l {
		return -1
	}
	return 1
}

// ancestors are those of a queue, the root first.
func (o *Oracle) ancestors(name string) []string {
	ancestors := slices.Clone(o.Path(name)[1:])
	slices.Reverse(ancestors)
	return ancestors
}

// commonLevel is the depth of the lowest ancestor of both, 0 if there is none.
func (o *Oracle) commonLevel(l, r string) int {
	level := 0
	la, ra := o.ancestors(l), o.ancestors(r)
	for i := 0; i < min(len(la), len(ra)) && la[i] == ra[i]; i++ {
		level = i
	}
	return level
}

// atLevel is the ancestor at a depth, or the queue itself if it is not that deep.
func (o *Oracle) atLevel(name string, level int) string {
	return append(o.ancestors(name), name)[min(level, len(o.ancestors(name)))]
}
