package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// cardAccount is a card annotation of a queue.
type cardAccount int

const (
	cardQuota cardAccount = iota
	cardDeserved
	cardGuarantee
)

var cardAnnotations = [...]string{cardQuota: card.QuotaKey, cardDeserved: card.DeservedKey, cardGuarantee: card.GuaranteeKey}

// queueCards is what a queue's annotations say of cards, read once for each
// state of them.
type queueCards struct {
	object  *scheduling.Queue
	uid     types.UID
	texts   [len(cardAnnotations)]string
	given   [len(cardAnnotations)]bool // the annotation is there
	amounts [len(cardAnnotations)]map[fastres.Dim]float64
	session uint64

	problems []string // of the annotations as they are
	said     []string // what the last event was about
}

// some reports whether any of the annotations is there.
func (q *queueCards) some() bool { return slices.Contains(q.given[:], true) }

// readQueueCards reads the card annotations of all queues, and finds out in
// which queues cards count.
func (o *session) readQueueCards(c *cards, tree *index.Tree) {
	for id, queue := range o.ssn.Queues {
		if q := c.queues[string(id)]; q != nil && q.object == queue.Queue {
			q.session = c.session + 1
		} else if q != nil || hasCardAnnotation(queue.Queue) {
			c.readQueue(string(id), queue.Queue)
		}
	}
	known := len(c.queues)
	maps.DeleteFunc(c.queues, func(_ string, q *queueCards) bool { return q.session != c.session+1 })
	c.requoted = c.requoted || len(c.queues) < known
	for q := range index.Queue(tree.Len()) {
		own, parent := c.queues[tree.Name(q)], tree.Parent(q)
		c.counts[q] = o.variant.cards == cardsAlways || own != nil && own.some() || parent != index.None && c.counts[parent]
	}
}

// readQueue reads the annotations of a queue that is new or has changed. A key
// whose value is bad keeps the last good one.
func (c *cards) readQueue(name string, object *scheduling.Queue) {
	was := c.queues[name]
	if was == nil || was.uid != object.UID {
		was = &queueCards{uid: object.UID}
	}
	q := &queueCards{object: object, uid: object.UID, session: c.session + 1, said: was.said}
	c.queues[name] = q
	for a, key := range cardAnnotations {
		q.texts[a], q.given[a] = object.Annotations[key]
	}
	if q.texts == was.texts && q.given == was.given {
		q.amounts, q.problems = was.amounts, was.problems
		return
	}
	c.requoted = true
	for a := range cardAnnotations {
		if q.given[a] {
			q.read(c.known, cardAccount(a), was.amounts[a])
		}
	}
}

func (q *queueCards) read(known *index.Names, a cardAccount, was map[fastres.Dim]float64) {
	entries, problems := card.ParseQuota(q.texts[a])
	q.amounts[a] = map[fastres.Dim]float64{}
	for _, e := range entries {
		q.amounts[a][known.InternCard(e.Name)] = float64(e.Cards) * 1000
	}
	for _, p := range problems {
		kept := ""
		switch d, ok := known.LookupCard(p.Key); {
		case p.Key == "":
			q.amounts[a] = maps.Clone(was)
			if len(was) > 0 {
				kept = "; the last good value stays in force"
			}
		case ok:
			if milli, had := was[d]; had {
				q.amounts[a][d] = milli
				kept = fmt.Sprintf("; the last good value, %s, stays in force", number(milli/1000))
			}
		}
		q.problems = append(q.problems, fmt.Sprintf("annotation %s: %s%s", cardAnnotations[a], p, kept))
	}
}

// amount is what an annotation says of a card: as it is written, or else what
// the quota says. A guarantee above the quota is cut down to it: what a queue
// may never use need not be kept for it.
func (q *queueCards) amount(a cardAccount, d fastres.Dim) (milli float64, ok bool) {
	quota, bounded := q.amounts[cardQuota][d]
	milli, ok = q.amounts[a][d]
	if !ok {
		return quota, bounded
	}
	if a == cardGuarantee && bounded {
		milli = min(milli, quota)
	}
	return milli, true
}

// addCards adds the card annotations of q to its accounts. A leaf has no cards
// but those it has a quota for; an inner queue is bound by its parent alone
// where it says nothing. What the root says is part of its bound.
func (o *session) addCards(q index.Queue) {
	if o.cards == nil || !o.cards.counts[q] || q == o.ix.Root() {
		return
	}
	own := o.cards.queues[o.ix.Name(q)]
	if own == nil {
		own = &queueCards{}
	}
	for d := fastres.FirstFree; int(d) < min(o.length, o.names.Len()); d++ {
		if !o.names.IsCard(d) {
			continue
		}
		milli, bounded := own.amount(cardQuota, d)
		if bounded || o.ix.IsLeaf(q) {
			o.ix.Capability.Row(q).Set(d, milli)
		}
		if !bounded && o.ix.IsLeaf(q) {
			continue
		}
		if milli, ok := own.amount(cardDeserved, d); ok {
			o.ix.Deserved.Row(q).Set(d, milli)
		}
		if milli, ok := own.amount(cardGuarantee, d); ok {
			o.ix.Guarantee.Row(q).Set(d, milli)
		}
	}
}

// boundCards completes the bound of the root, or of flat quotas: the root is
// bound to what it has a quota for and to nothing else, as a quota may exceed
// what the cluster has; queues without a root share what there is.
func (o *session) boundCards(bound fastres.Vector) {
	if o.cards == nil || !o.ix.Rooted() {
		return // the stock is part of the total
	}
	root := o.cards.queues[o.ix.Name(o.ix.Root())]
	for d := fastres.FirstFree; int(d) < min(o.length, o.names.Len()); d++ {
		if !o.names.IsCard(d) {
			continue
		}
		bound.Set(d, fastres.MaxQuantity)
		if root != nil {
			if milli, ok := root.amount(cardQuota, d); ok {
				bound.Set(d, milli)
			}
		}
	}
}

// cardProblems adds to what is wrong with the annotations of q what only the
// other queues and nodes tell: nothing is refused because of it.
func (o *session) cardProblems(q index.Queue, own *queueCards) []string {
	problems := slices.Clone(own.problems)
	for a := cardDeserved; a <= cardGuarantee; a++ {
		for _, d := range slices.Sorted(maps.Keys(own.amounts[a])) {
			quota, bounded := own.amounts[cardQuota][d]
			switch {
			case !bounded && o.ix.IsLeaf(q):
				problems = append(problems, fmt.Sprintf("annotation %s: %q has no quota, so it counts for nothing",
					cardAnnotations[a], o.names.Name(d)))
			case bounded && own.amounts[a][d] > quota:
				problems = append(problems, fmt.Sprintf("annotation %s: %q is %s, more than its quota of %s",
					cardAnnotations[a], o.names.Name(d), number(own.amounts[a][d]/1000), number(quota/1000)))
			case a == cardDeserved && bounded:
				if guarantee, _ := own.amount(cardGuarantee, d); guarantee > own.amounts[a][d] {
					problems = append(problems, fmt.Sprintf("annotation %s: %q is %s, but %s are guaranteed and never taken back; set %s",
						cardAnnotations[a], o.names.Name(d), number(own.amounts[a][d]/1000), number(guarantee/1000), card.GuaranteeKey))
				}
			}
		}
	}
	return problems
}

// reportCards says once what is wrong with the card annotations of queues, in
// the log and in an event on the Queue.
func (o *session) reportCards() {
	if o.cards == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o.cards.queues)) {
		own := o.cards.queues[name]
		problems := o.cardProblems(o.ix.Lookup(name), own)
		problemsVec.WithLabelValues(name).Set(float64(len(problems)))
		if slices.Equal(problems, own.said) {
			continue
		}
		own.said = problems
		if len(problems) > 0 {
			o.warnQueue(own.object, badAnnotation, strings.Join(problems, "; "))
		}
	}
}
