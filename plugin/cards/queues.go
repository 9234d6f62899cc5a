package cards

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// annotation is a card annotation of a queue.
type annotation int

const (
	quotaAnnotation annotation = iota
	deservedAnnotation
	guaranteeAnnotation
)

var annotationKeys = [...]string{
	quotaAnnotation:     card.QuotaKey,
	deservedAnnotation:  card.DeservedKey,
	guaranteeAnnotation: card.GuaranteeKey,
}

// queue holds the card annotations of a queue.
type queue struct {
	given    [len(annotationKeys)]bool // the annotation exists
	stated   [len(annotationKeys)]map[fastres.Dim]card.Milli
	shares   [len(annotationKeys)]map[fastres.Dim]card.Share // that stated has the amounts of, see ResolveShares
	amounts  [len(annotationKeys)]map[fastres.Dim]card.Milli // stated, with the present names of cards
	problems []string
}

// rename sets amounts. An amount for the present name of a card precedes one for a former name.
func (q *queue) rename(former map[fastres.Dim]fastres.Dim) {
	q.amounts = q.stated
	if len(former) == 0 {
		return
	}

	for a, stated := range q.stated {
		q.amounts[a] = maps.Clone(stated)
		for _, d := range slices.Sorted(maps.Keys(stated)) {
			now, renamed := former[d]
			if !renamed {
				continue
			}

			delete(q.amounts[a], d)
			if _, both := q.amounts[a][now]; !both {
				q.amounts[a][now] = stated[d]
			}
		}
	}
}

// annotated reports whether the queue has any card annotation.
func (q *queue) annotated() bool { return slices.Contains(q.given[:], true) }

// readQueues reads the card annotations that have changed. It reports whether any queue has one, and whether
// any has changed.
func (r *Registry) readQueues(queues *objects.Queues, names *index.Names) (annotated, changed bool) {
	if queues.Annotations() > r.read {
		known := len(r.queues)
		maps.DeleteFunc(r.queues, func(name string, _ *queue) bool { return queues.Get(name) == nil })
		changed = len(r.queues) < known
		for _, q := range queues.Since(r.read) {
			changed = r.readQueue(names, q) || changed
		}

		r.shares = false
		for _, q := range r.queues {
			r.shares = r.shares || q.shared()
		}
		r.read = queues.Annotations()
	}

	for _, q := range r.queues {
		annotated = annotated || q.annotated()
	}
	return annotated, changed
}

// countQueues finds the queues in which cards count.
func (s *Snapshot) countQueues(tree *index.Tree, scope Scope) {
	reg := s.registry
	s.counted = make([]bool, tree.Len())
	s.closed = make([]bool, tree.Len())
	s.queues = make([]*queue, tree.Len())
	everywhere := scope == Everywhere

	// A parent comes before its children.
	for q := range index.Queue(tree.Len()) {
		parent := tree.Parent(q)
		own := reg.queues[tree.Name(q)]
		annotated := own != nil && own.annotated()

		s.queues[q] = own
		s.counted[q] = everywhere || annotated || parent != index.None && s.counted[parent]
		s.closed[q] = everywhere || annotated && q != tree.Root() || parent != index.None && s.closed[parent]
	}
}

// readQueue reads the annotations of a queue, and reports whether it has or had one.
func (r *Registry) readQueue(names *index.Names, object *objects.Queue) bool {
	given := func(key string) bool {
		_, exists := object.Annotations[key]
		return exists
	}

	before := r.queues[object.Object.Name]
	if before == nil && !slices.ContainsFunc(annotationKeys[:], given) {
		return false
	}

	if before == nil || object.CreatedSince(r.read) {
		before = &queue{}
		for a, key := range annotationKeys {
			if text, had := object.Before(key); had {
				before.parse(names, annotation(a), text, &queue{})
			}
		}
	}

	q := &queue{}
	r.queues[object.Object.Name] = q
	for a, key := range annotationKeys {
		if !given(key) {
			continue
		}

		q.given[a] = true
		wrong := q.parse(names, annotation(a), object.Annotations[key], before)
		if wrong {
			object.Misread(key, textOf(names, q.stated[a], q.shares[a]))
		}
	}
	return true
}

// amount returns the value of an annotation for a card. Deserved and guarantee default to the quota. A
// guarantee is at most the quota: a queue cannot use more, so nothing more is kept free for it.
func (q *queue) amount(a annotation, d fastres.Dim) (amount card.Milli, ok bool) {
	quota, bounded := q.amounts[quotaAnnotation][d]
	amount, ok = q.amounts[a][d]
	if !ok {
		return quota, bounded
	}

	if a == guaranteeAnnotation && bounded {
		amount = min(amount, quota)
	}
	return amount, true
}

// guarantee returns the guarantee of a queue for a card. It defaults to the quota, unless a queue above states
// a guarantee.
func (s *Snapshot) guarantee(ix *index.Index, q index.Queue, own *queue, d fastres.Dim) (amount card.Milli, ok bool) {
	if _, stated := own.amounts[guaranteeAnnotation][d]; !stated && s.guaranteedAbove(ix, q, d) {
		return 0, false
	}
	return own.amount(guaranteeAnnotation, d)
}

// guaranteedAbove reports whether a queue above q, other than the root, states a guarantee of a card.
func (s *Snapshot) guaranteedAbove(ix *index.Index, q index.Queue, d fastres.Dim) bool {
	return q != index.None && slices.ContainsFunc(ix.Path(q)[1:], func(p index.Queue) bool {
		if s.queues[p] == nil || p == ix.Root() {
			return false
		}
		_, stated := s.queues[p].amounts[guaranteeAnnotation][d]
		return stated
	})
}

// endDim returns the end of the dimensions that can be cards.
func (s *Snapshot) endDim(ix *index.Index) fastres.Dim {
	return fastres.Dim(min(ix.Dims(), s.names.Len()))
}

// AddBounds adds the card annotations of q to its accounts. A closed leaf has a quota of 0 for each card that
// its quota does not name, neither by itself nor by a group. All other queues are bounded by their parent
// there. BoundRoot handles the root.
func (s *Snapshot) AddBounds(ix *index.Index, q index.Queue) {
	if !s.Counted(q) || q == ix.Root() {
		return
	}

	own := s.queues[q]
	if own == nil {
		own = &queue{}
	}
	for d := fastres.FirstFree; d < s.endDim(ix); d++ {
		if s.names.IsCard(d) {
			s.addCardBounds(ix, q, own, d)
		}
	}
}

// addCardBounds is AddBounds for one card, or one group of cards.
func (s *Snapshot) addCardBounds(ix *index.Index, q index.Queue, own *queue, d fastres.Dim) {
	group := s.names.IsGroup(d)
	amount, named := own.amount(quotaAnnotation, d)
	most := float64(amount)
	bounded := named
	if !named {
		most, bounded = s.byGroups(own, quotaAnnotation, d)
	}

	switch {
	case bounded:
		ix.Capability.Row(q).Set(d, most)
	case s.Closed(q) && ix.IsLeaf(q) && !group:
		ix.Capability.Row(q).Set(d, 0)
	}

	switch {
	case group && !s.registry.groups.disjoint[d]: // it can only bound
	case !bounded && ix.IsLeaf(q): // a leaf deserves nothing without a quota
	case bounded && !named:
		deserved, _ := s.byGroups(own, deservedAnnotation, d)
		ix.Deserved.Row(q).Set(d, deserved)
	default:
		if deserved, ok := own.amount(deservedAnnotation, d); ok {
			ix.Deserved.Row(q).Set(d, float64(deserved))
		}
		if guarantee, ok := s.guarantee(ix, q, own, d); ok {
			ix.Guarantee.Row(q).Set(d, float64(guarantee))
		}
	}
}

// BoundRoot sets the cards of the root's bound to its quotas. A card without a quota has no bound, since quotas
// may exceed the stock of the cluster. Flat queues share the stock, which is part of the total already.
func (s *Snapshot) BoundRoot(ix *index.Index, bound fastres.Vector) {
	if s == nil || !ix.Rooted() {
		return
	}

	root := s.queues[ix.Root()]
	for d := fastres.FirstFree; d < s.endDim(ix); d++ {
		if !s.names.IsCard(d) {
			continue
		}

		bound.Set(d, fastres.MaxQuantity)
		if root != nil {
			if amount, ok := root.amount(quotaAnnotation, d); ok {
				bound.Set(d, float64(amount))
			}
		}
	}
}

// Deservable returns the part of total that the root deserves. It has no groups of cards that can only bound.
func (s *Snapshot) Deservable(total fastres.Vector) fastres.Vector {
	if s == nil {
		return total
	}

	x := fastres.NewVector(total.Len())
	for d := range total.Present() {
		if !s.names.IsGroup(d) || s.registry.groups.disjoint[d] {
			x.Set(d, total.Get(d))
		}
	}
	return x
}

// DeserveRoot sets the root's deserved of cards to the total.
//
// Volcano writes the deserved that it computes for the root into its spec, which then names cpu and memory but
// no card. A root without deserved deserves the total.
func (s *Snapshot) DeserveRoot(ix *index.Index, total fastres.Vector) {
	if s == nil {
		return
	}

	deserved := ix.Deserved.Row(ix.Root())
	for d := fastres.FirstFree; d < s.endDim(ix); d++ {
		if s.names.IsCard(d) && total.Has(d) {
			deserved.Set(d, total.Get(d))
		}
	}
}

// Problems returns the problems of all queues with card annotations, in the order of their names. Queues without
// problems are included.
func (s *Snapshot) Problems(ix *index.Index) (all []objects.Problems) {
	if s == nil {
		return nil
	}

	for _, name := range slices.Sorted(maps.Keys(s.registry.queues)) {
		problems := s.problems(ix, ix.Lookup(name), s.registry.queues[name])
		all = append(all, objects.Problems{Queue: s.objects.Get(name).Object, Texts: problems})
	}
	return all
}

// problems returns the problems of a queue's annotations: syntax errors, and errors that depend on its place in
// the tree or on other annotations. They refuse nothing.
func (s *Snapshot) problems(ix *index.Index, q index.Queue, own *queue) []string {
	problems := slices.Clone(own.problems)
	problems = append(problems, s.formerNameProblems(own)...)
	problems = append(problems, s.groupProblems(own)...)

	for a := deservedAnnotation; a <= guaranteeAnnotation; a++ {
		for _, d := range slices.Sorted(maps.Keys(own.amounts[a])) {
			text := s.amountProblem(ix, q, own, a, d)
			if text != "" {
				text = fmt.Sprintf("annotation %s: %q %s", annotationKeys[a], s.names.Name(d), text)
				problems = append(problems, text)
			}
		}
	}
	return problems
}

// formerNameProblems returns the names of cards in the annotations of a queue that have changed.
func (s *Snapshot) formerNameProblems(own *queue) (problems []string) {
	for a, stated := range own.stated {
		for _, d := range slices.Sorted(maps.Keys(stated)) {
			if now, renamed := s.registry.former[d]; renamed {
				problems = append(problems, fmt.Sprintf("annotation %s: %q is called %q now: "+
					"the nodes share it by time slices", annotationKeys[a], s.names.Name(d), s.names.Name(now)))
			}
		}
	}
	return problems
}

// amountProblem compares the deserved or the guarantee of a queue for a card with its other annotations. It
// returns "" if there is no problem.
func (s *Snapshot) amountProblem(ix *index.Index, q index.Queue, own *queue, a annotation, d fastres.Dim) string {
	amount := own.amounts[a][d]
	quota, bounded := own.amounts[quotaAnnotation][d]

	switch {
	case strings.HasPrefix(s.names.Name(d), card.GroupPrefix) && !s.registry.groups.disjoint[d]:
		return "" // see groupProblems
	case !bounded && ix.IsLeaf(q):
		return "has no quota, so it counts for nothing"
	case bounded && amount > quota:
		return fmt.Sprintf("is %s, more than its quota of %s", amount, quota)
	}

	guarantee, _ := s.guarantee(ix, q, own, d)
	if a == deservedAnnotation && bounded && guarantee > amount {
		return fmt.Sprintf("is %s, but %s are guaranteed and never taken back; set %s",
			amount, guarantee, card.GuaranteeKey)
	}
	return ""
}
