package cards

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// annotation is a card annotation of a queue.
type annotation int

const (
	quotaAnnotation annotation = iota
	deservedAnnotation
	guaranteeAnnotation
)

var annotationKeys = [...]string{
	quotaAnnotation: card.QuotaKey, deservedAnnotation: card.DeservedKey, guaranteeAnnotation: card.GuaranteeKey,
}

// queue holds the card annotations of a queue, parsed once for each text.
type queue struct {
	object  *scheduling.Queue
	uid     types.UID
	texts   [len(annotationKeys)]string
	given   [len(annotationKeys)]bool // the annotation exists
	amounts [len(annotationKeys)]map[fastres.Dim]card.Milli
	session uint64

	problems []string // of the present texts
	reported []string // in the last event
}

// annotated reports whether the queue has any card annotation.
func (q *queue) annotated() bool { return slices.Contains(q.given[:], true) }

// anyAnnotated reports whether any queue has a card annotation.
func anyAnnotated(queues map[api.QueueID]*api.QueueInfo) bool {
	for _, queue := range queues {
		if annotated(queue.Queue) {
			return true
		}
	}
	return false
}

func annotated(queue *scheduling.Queue) bool {
	if len(queue.Annotations) == 0 {
		return false
	}
	for _, key := range annotationKeys {
		if _, ok := queue.Annotations[key]; ok {
			return true
		}
	}
	return false
}

// readQueues reads the card annotations of all queues, and finds the queues in
// which cards count.
func (s *Session) readQueues(queues map[api.QueueID]*api.QueueInfo, tree *index.Tree, scope Scope) {
	reg := s.registry
	this := reg.session + 1
	for id, info := range queues {
		if q := reg.queues[string(id)]; q != nil && q.object == info.Queue {
			q.session = this
		} else if q != nil || annotated(info.Queue) {
			s.readQueue(string(id), info.Queue, this)
		}
	}
	known := len(reg.queues)
	maps.DeleteFunc(reg.queues, func(_ string, q *queue) bool { return q.session != this })
	s.quotasChanged = s.quotasChanged || len(reg.queues) < known
	s.counted, s.closed, s.queues = make([]bool, tree.Len()), make([]bool, tree.Len()), make([]*queue, tree.Len())
	for q := range index.Queue(tree.Len()) {
		parent, everywhere := tree.Parent(q), scope == Everywhere
		own := reg.queues[tree.Name(q)]
		s.queues[q] = own
		annotated := own != nil && own.annotated()
		s.counted[q] = everywhere || annotated || parent != index.None && s.counted[parent]
		s.closed[q] = everywhere || annotated && q != tree.Root() || parent != index.None && s.closed[parent]
	}
}

// readQueue reads the annotations of a new or changed queue.
func (s *Session) readQueue(name string, object *scheduling.Queue, session uint64) {
	before := s.registry.queues[name]
	if before == nil || before.uid != object.UID {
		before = &queue{uid: object.UID}
	}
	q := &queue{object: object, uid: object.UID, session: session, reported: before.reported}
	s.registry.queues[name] = q
	for a, key := range annotationKeys {
		q.texts[a], q.given[a] = object.Annotations[key]
	}
	if q.texts == before.texts && q.given == before.given {
		q.amounts, q.problems = before.amounts, before.problems
		return
	}
	s.quotasChanged = true
	for a := range annotationKeys {
		if q.given[a] {
			q.parse(s.names, annotation(a), before.amounts[a])
		}
	}
}

// parse reads one annotation. A key with an invalid value keeps its last good
// value.
func (q *queue) parse(names *index.Names, a annotation, before map[fastres.Dim]card.Milli) {
	entries, problems := card.ParseQuota(q.texts[a])
	q.amounts[a] = map[fastres.Dim]card.Milli{}
	for _, e := range entries {
		q.amounts[a][names.InternCard(e.Name)] = card.Cards(e.Cards)
	}
	for _, p := range problems {
		kept := ""
		switch d, ok := names.LookupCard(p.Key); {
		case p.Key == "":
			q.amounts[a] = maps.Clone(before)
			if len(before) > 0 {
				kept = "; the last good value stays in force"
			}
		case ok:
			if amount, had := before[d]; had {
				q.amounts[a][d] = amount
				kept = fmt.Sprintf("; the last good value, %s, stays in force", amount)
			}
		}
		q.problems = append(q.problems, fmt.Sprintf("annotation %s: %s%s", annotationKeys[a], p, kept))
	}
}

// amount returns the value of an annotation for a card; deserved and guarantee
// default to the quota. A guarantee is at most the quota: a queue cannot use more,
// so nothing more is kept free for it.
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

// endDim returns the end of the dimensions that can be cards.
func (s *Session) endDim(ix *index.Index) fastres.Dim {
	return fastres.Dim(min(ix.Dims(), s.names.Len()))
}

// AddBounds adds the card annotations of q to its accounts. A closed leaf has a
// quota of 0 for a card that its quota does not name. All other queues are bounded
// by their parent there. BoundRoot handles the root.
func (s *Session) AddBounds(ix *index.Index, q index.Queue) {
	if !s.Counted(q) || q == ix.Root() {
		return
	}
	own := s.queues[q]
	if own == nil {
		own = &queue{}
	}
	for d := fastres.FirstFree; d < s.endDim(ix); d++ {
		if !s.names.IsCard(d) {
			continue
		}
		amount, bounded := own.amount(quotaAnnotation, d)
		if bounded || s.Closed(q) && ix.IsLeaf(q) {
			ix.Capability.Row(q).Set(d, float64(amount))
		}
		if !bounded && ix.IsLeaf(q) {
			continue
		}
		if amount, ok := own.amount(deservedAnnotation, d); ok {
			ix.Deserved.Row(q).Set(d, float64(amount))
		}
		if amount, ok := own.amount(guaranteeAnnotation, d); ok {
			ix.Guarantee.Row(q).Set(d, float64(amount))
		}
	}
}

// BoundRoot sets the cards of the root's bound: to its quota where it has one,
// else to no bound, since quotas may exceed what the cluster has. Flat queues
// share the stock, which is part of the total already.
func (s *Session) BoundRoot(ix *index.Index, bound fastres.Vector) {
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

// DeserveRoot sets the cards of the root's deserved to total.
//
// Volcano writes the deserved that it computes for the root into its spec, which then
// names cpu and memory but no card. A root without deserved deserves the total.
func (s *Session) DeserveRoot(ix *index.Index, total fastres.Vector) {
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

// QueueProblems are the problems of the card annotations of one queue.
type QueueProblems struct {
	Queue    *scheduling.Queue
	Problems []string
	Changed  bool // they differ from those last returned
}

// String lists the problems.
func (p QueueProblems) String() string { return strings.Join(p.Problems, "; ") }

// Problems returns the problems of all queues with card annotations, in the
// order of their names, queues without problems included.
func (s *Session) Problems(ix *index.Index) []QueueProblems {
	if s == nil {
		return nil
	}
	var all []QueueProblems
	for _, name := range slices.Sorted(maps.Keys(s.registry.queues)) {
		q := s.registry.queues[name]
		problems := s.problems(ix, ix.Lookup(name), q)
		all = append(all, QueueProblems{q.object, problems, !slices.Equal(problems, q.reported)})
		q.reported = problems
	}
	return all
}

// problems adds to the syntax problems of a queue's annotations those that only
// its place in the tree or the other annotations show. They refuse nothing.
func (s *Session) problems(ix *index.Index, q index.Queue, own *queue) []string {
	problems := slices.Clone(own.problems)
	for a := deservedAnnotation; a <= guaranteeAnnotation; a++ {
		for _, d := range slices.Sorted(maps.Keys(own.amounts[a])) {
			amount := own.amounts[a][d]
			quota, bounded := own.amounts[quotaAnnotation][d]
			switch {
			case !bounded && ix.IsLeaf(q):
				problems = append(problems, fmt.Sprintf("annotation %s: %q has no quota, so it counts for nothing",
					annotationKeys[a], s.names.Name(d)))
			case bounded && amount > quota:
				problems = append(problems, fmt.Sprintf("annotation %s: %q is %s, more than its quota of %s",
					annotationKeys[a], s.names.Name(d), amount, quota))
			case a == deservedAnnotation && bounded:
				if guarantee, _ := own.amount(guaranteeAnnotation, d); guarantee > amount {
					problems = append(problems, fmt.Sprintf("annotation %s: %q is %s, but %s are guaranteed and never taken back; set %s",
						annotationKeys[a], s.names.Name(d), amount, guarantee, card.GuaranteeKey))
				}
			}
		}
	}
	return problems
}
