package oracle

import (
	"cmp"
	"maps"
	"slices"
)

// fits reports whether used + request ≤ limit in all requested dimensions.
func fits(used, request, limit Amounts) bool {
	return !slices.ContainsFunc(request.requested(), func(d string) bool { return used[d]+request[d] > limit[d] })
}

// Allocatable returns the lowest queue, from name up, without room for a task, or "".
func (o *Oracle) Allocatable(name string, request Amounts) string {
	return o.first(name, func(q string) bool {
		return !fits(o.Allocated(q), request, o.boundFor(name, q, o.Bound(q)))
	})
}

// FitsBeside returns the lowest queue, from name up, without room for all reservations and a
// quantity, or "".
func (o *Oracle) FitsBeside(name, d string, quantity float64) string {
	return o.first(name, func(q string) bool {
		return o.Allocated(q)[d]+o.Reserved(q)[d]+quantity > o.Bound(q)[d]
	})
}

// LendsAll decides for all requested dimensions as lends does, now and once pods that are being
// deleted are gone.
func (o *Oracle) LendsAll(name string, request Amounts) bool {
	return !slices.ContainsFunc(request.requested(), func(d string) bool {
		return o.lends(name, d, request[d], o.Allocated, o.cluster.Available) != "" ||
			o.LendsThen(name, d, request[d], o.Future) != ""
	})
}

// Has adds cards that no node has to the available resources, or subtracts them: they exist as long as a
// pod holds them.
func (o *Oracle) Has(cards Amounts, sign float64) {
	for d, quantity := range cards {
		if _, kept := o.cluster.Available[d]; kept {
			o.cluster.Available[d] += sign * quantity
		}
	}
}

// LendsThen decides as lends does once pods that are being deleted are gone.
func (o *Oracle) LendsThen(name, d string, quantity float64, allocated func(string) Amounts) string {
	return o.lends(name, d, quantity, allocated, o.availableThen())
}

// availableThen returns the resources of the cluster once pods that are being deleted are gone.
func (o *Oracle) availableThen() Amounts {
	then := maps.Clone(o.cluster.Available)
	for d := range then {
		then[d] -= o.cluster.Ending[d]
	}
	return then
}

// lends returns the lowest queue, from name up, with children that are guaranteed the rest of a
// dimension, or "". Nothing more may be allocated there. allocated returns the account of a queue, and
// all holds the resources of the cluster.
func (o *Oracle) lends(name, d string, quantity float64, allocated func(string) Amounts, all Amounts) string {
	return o.lendsBetween(name, d, allocated, func(q string) Amounts {
		after := maps.Clone(allocated(q))
		if o.within(name, q) {
			after[d] += quantity
		}

		return after
	}, all)
}

// lendsBetween is lends for the accounts before and after an allocation in name.
func (o *Oracle) lendsBetween(name, d string, before, after func(string) Amounts, all Amounts) string {
	available, kept := all[d]
	if !kept {
		return ""
	}

	if o.cluster.Root == "" {
		return o.lendsFlat(name, d, before, after, available)
	}

	return o.first(name, func(q string) bool {
		bound := o.Bound(q)[d]
		if q == o.cluster.Root {
			bound = min(bound, available)
		}

		was := before(q)[d] + o.unusedBelow(q, d, before)
		unused := o.unusedBelow(q, d, after)
		is := after(q)[d] + unused
		return is > was && unused > 0 && is > bound
	})
}

// lendsFlat is lendsBetween in flat mode: all queues share the available resources.
func (o *Oracle) lendsFlat(name, d string, before, after func(string) Amounts, available float64) string {
	was := 0.0
	is := 0.0
	has := 0.0
	for _, q := range o.names {
		was += o.taken(q, d, before)
		is += o.taken(q, d, after)
		has += after(q)[d]
	}

	if is > was && is > has && is > available {
		return name
	}
	return ""
}

// taken returns the account of a queue with the unused guarantees in it and below it. A queue keeps
// no more free for its children than it can have.
func (o *Oracle) taken(q, d string, account func(string) Amounts) float64 {
	has := account(q)[d]
	most := max(has, o.Bound(q)[d])
	return max(min(has+o.unusedBelow(q, d, account), most), o.Guarantee(q)[d])
}

// unusedBelow returns the unused guarantees of the children of a queue.
func (o *Oracle) unusedBelow(q, d string, account func(string) Amounts) (sum float64) {
	for _, child := range o.Children(q) {
		sum += o.taken(child, d, account) - account(child)[d]
	}
	return sum
}

// Enqueueable returns the lowest queue, from name up, without room for the minimum of a job,
// or "".
func (o *Oracle) Enqueueable(name string, min Amounts) string {
	return o.first(name, func(q string) bool {
		allocated := o.Allocated(q)
		inqueue := o.Inqueue(q)
		elastic := o.Elastic(q)
		bound := o.boundFor(name, q, o.AdmissionBound(q))
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

// Preemptive decides by the future whether a queue may take from others for a task: "over quota",
// "over deserved", or "". One dimension under deserved suffices, of the queue or of an ancestor up to
// levels above it. The root does not count. Dimensions in which both sides are below the tolerance do
// not count.
func (o *Oracle) Preemptive(name string, request Amounts, levels int) string {
	if !fits(o.Future(name), request, o.boundFor(name, name, o.Bound(name))) {
		return "over quota"
	}

	deserves := func(q string) bool { return deservesSome(o.Future(q), request, o.Deserved(q)) }
	if slices.ContainsFunc(append(o.above(name, levels), name), deserves) {
		return ""
	}

	return "over deserved"
}

// above returns the ancestors up to levels above a queue, from the nearest, without the root.
func (o *Oracle) above(name string, levels int) (ancestors []string) {
	for i, q := range o.Path(name)[1:] {
		if i < levels && q != o.cluster.Root {
			ancestors = append(ancestors, q)
		}
	}

	return ancestors
}

// deservesSome reports whether a request stays within deserved in some dimension.
func deservesSome(allocated, request, deserved Amounts) bool {
	return slices.ContainsFunc(request.requested(), func(d string) bool {
		after := allocated[d] + request[d]
		return (after >= tolerance || deserved[d] >= tolerance) && atMost(after, deserved[d])
	})
}

// Share returns the greatest allocated/deserved, or 1 for a queue without deserved.
func (o *Oracle) Share(name string) float64 {
	allocated := o.Allocated(name)
	deserved := o.Deserved(name)
	if deserved.Empty() {
		return 1
	}

	share := 0.0
	for _, d := range dimensions(deserved) {
		if deserved[d] >= tolerance {
			share = max(share, allocated[d]/deserved[d])
		}
	}

	return share
}

// Order compares two queues of the same priority: negative if l is served first.
func (o *Oracle) Order(l, r string) int {
	switch {
	case o.cluster.Root == "":
	case o.Broken(l) != o.Broken(r):
		return before(!o.Broken(l))
	case o.Broken(l):
	case o.Leaf(l) != o.Leaf(r):
		return before(o.Leaf(l))
	default:
		l, r = o.rivals(l, r)
	}
	if c := cmp.Compare(o.Share(l), o.Share(r)); c != 0 {
		return c
	}

	lDeserves := !o.Deserved(l).Empty()
	rDeserves := !o.Deserved(r).Empty()
	if lDeserves != rDeserves {
		return before(lDeserves)
	}

	return 0
}

// rivals returns the queues by which two queues compare. Leaves compare by the ancestors just
// below their lowest common ancestor.
func (o *Oracle) rivals(l, r string) (string, string) {
	if !o.Leaf(l) {
		return l, r
	}
	level := o.commonLevel(l, r) + 1
	return o.atLevel(l, level), o.atLevel(r, level)
}

// OrderByReclaim compares two queues by their rights to reclaim for their pending tasks: negative if
// l goes first. pending holds the choices of the pending tasks by queue.
func (o *Oracle) OrderByReclaim(pending map[string][][]Amounts, l, r string, levels int) int {
	if o.cluster.Root != "" && (o.Broken(l) || o.Broken(r) || o.Leaf(l) != o.Leaf(r)) {
		return 0
	}

	return cmp.Compare(o.reclaims(pending[r], r, l, levels), o.reclaims(pending[l], l, r, levels))
}

// reclaims returns whether a queue can reclaim for one of its pending tasks, next to another queue: 2 if
// it can, 1 if the task may also borrow, and 0 if the queue can only borrow.
func (o *Oracle) reclaims(pending [][]Amounts, name, other string, levels int) (best int) {
	gains := o.alone(name, other)
	if len(gains) == 0 {
		return 0
	}

	undeserved := func(d string) bool { return slices.Contains(o.cluster.Cards, d) && o.Deserved(name)[d] <= 0 }
	deserves := func(request Amounts) bool {
		return !slices.ContainsFunc(request.requested(), undeserved) &&
			deservesSome(o.Allocated(name), request, o.Deserved(name)) &&
			!o.surpassAny(gains, request, levels, o.Allocated)
	}
	borrows := func(request Amounts) bool { return !deserves(request) && o.Allocatable(name, request) == "" }

	for _, choices := range pending {
		if !slices.ContainsFunc(choices, deserves) {
			continue
		}
		best = max(best, 1)
		if !slices.ContainsFunc(choices, borrows) {
			best = 2
		}
	}

	return best
}

// VictimOrder compares two queues to take victims from: negative if l, which is nearer to
// the preemptor, goes first.
func (o *Oracle) VictimOrder(l, r, preemptor string) int {
	return cmp.Compare(o.commonLevel(r, preemptor), o.commonLevel(l, preemptor))
}

func before(l bool) int {
	if l {
		return -1
	}
	return 1
}

// ancestors returns the ancestors of a queue, from the root down.
func (o *Oracle) ancestors(name string) []string {
	ancestors := slices.Clone(o.Path(name)[1:])
	slices.Reverse(ancestors)
	return ancestors
}

// commonLevel returns the depth of the lowest common ancestor, or 0 if there is none.
func (o *Oracle) commonLevel(l, r string) int {
	level := 0
	lPath := o.ancestors(l)
	rPath := o.ancestors(r)
	for i := 0; i < min(len(lPath), len(rPath)) && lPath[i] == rPath[i]; i++ {
		level = i
	}

	return level
}

// atLevel returns the ancestor at a depth, or the queue itself if it is not deeper.
func (o *Oracle) atLevel(name string, level int) string {
	return append(o.ancestors(name), name)[min(level, len(o.ancestors(name)))]
}
