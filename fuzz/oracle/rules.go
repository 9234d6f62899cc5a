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
	switch {
	case !fits(o.Allocated(name), request, o.Bound(name)):
		return "over quota"
	case !o.deservesSome(name, request):
		return "over deserved"
	}
	return ""
}

// deservesSome answers whether a queue deserves something of a request that it
// does not have yet.
func (o *Oracle) deservesSome(name string, request Amounts) bool {
	allocated, deserved := o.Allocated(name), o.Deserved(name)
	return slices.ContainsFunc(request.requested(), func(d string) bool {
		after := allocated[d] + request[d]
		return (after >= tolerance || deserved[d] >= tolerance) && atMost(after, deserved[d])
	})
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
	if !common(victim, reclaimer, false) || !v.spares(name, victim) {
		return false // of no use, or needed
	}
	v.left[name] = v.Left(name).Minus(victim)
	return true
}

// spares answers whether a queue has more than it was guaranteed, and than it
// deserves, with the task.
func (v *Victims) spares(name string, victim Amounts) bool {
	left, deserved := v.Left(name), v.oracle.Deserved(name)
	switch {
	case !left.Minus(victim).covers(v.oracle.Guarantee(name)):
		return false
	case common(victim, deserved, true):
		return slices.ContainsFunc(victim.requested(), func(d string) bool {
			return deserved.relevant(d) && left[d] > deserved[d]
		})
	}
	return true
}

// relevant reports whether what a queue deserves says something of a dimension. A
// scalar that it names with 0 is one that the queue deserves none of; cpu and
// memory of 0 are not set.
func (a Amounts) relevant(d string) bool {
	return a.has(d) && (d != CPU && d != Memory || a[d] >= tolerance)
}

// TakeDamped is Take with so many ancestors of the victim's queue asked as well,
// and where neither the reclaimer's queue nor as many ancestors of it would have
// more than they deserve. Queues that both are in have no say.
func (v *Victims) TakeDamped(name string, victim Amounts, to string, reclaimer Amounts, levels int) bool {
	alone := func(name, other string) []string {
		return slices.DeleteFunc(slices.Clone(v.oracle.Path(name)), func(q string) bool { return v.oracle.within(other, q) })
	}
	loses, gains := alone(name, to), alone(to, name)
	if len(loses) == 0 {
		return v.Take(name, victim, reclaimer)
	}
	if !common(victim, reclaimer, false) {
		return false
	}
	for i, q := range gains {
		if i <= levels && v.oracle.surpasses(q, reclaimer) {
			return false
		}
	}
	for i, q := range loses {
		if i <= levels && !v.spares(q, victim) {
			return false
		}
	}
	for _, q := range loses {
		v.left[q] = v.Left(q).Minus(victim)
	}
	return true
}

// surpasses answers whether a queue would have more than it deserves with a
// request, in something that is requested and that it deserves any of.
func (o *Oracle) surpasses(name string, request Amounts) bool {
	allocated, deserved := o.Allocated(name), o.Deserved(name)
	return slices.ContainsFunc(request.requested(), func(d string) bool {
		return deserved.relevant(d) && !atMost(allocated[d]+request[d], deserved[d])
	})
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
func (o *Oracle) Order(l, r string) int { return o.order(nil, l, r) }

// OrderDamped is Order where a queue comes first that deserves the least of what
// its tasks, and those of all below it, wait for; waiting is what each of them
// requests, by queue.
func (o *Oracle) OrderDamped(waiting map[string][]Amounts, l, r string) int {
	return o.order(func(name string) bool {
		var all []Amounts
		for _, below := range o.names {
			if o.within(below, name) {
				all = append(all, waiting[below]...)
			}
		}
		if len(all) == 0 {
			return false
		}
		least := Amounts{}
		for _, d := range dimensions(all...) {
			least[d] = Unlimited
			for _, request := range all {
				least[d] = min(least[d], request[d])
			}
		}
		return o.deservesSome(name, least) && !o.surpasses(name, least)
	}, l, r)
}

func (o *Oracle) order(claims func(string) bool, l, r string) int {
	switch {
	case o.cluster.Root == "":
	case o.Broken(l) != o.Broken(r):
		return before(!o.Broken(l))
	case o.Broken(l):
		claims = nil
	case o.Leaf(l) != o.Leaf(r):
		return before(o.Leaf(l))
	case o.Leaf(l):
		// What counts is which subtree is served, so leaves compare as the two
		// queues just below the lowest one that both are in.
		level := o.commonLevel(l, r) + 1
		l, r = o.atLevel(l, level), o.atLevel(r, level)
	}
	if claims != nil && claims(l) != claims(r) {
		return before(claims(l))
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
