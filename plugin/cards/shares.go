package cards

import (
	"cmp"
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// A queue may state a share of a card in place of a number. Its amount depends on the nodes and the pods of a session,
// so that ResolveShares sets it for each session with other bounds. Until then it is the amount of the session before.

// scope is where amounts of a card are compared: in the queues with one parent. A queue that does not reach the root
// counts as its own parent.
type scope struct {
	parent index.Queue
	dim    fastres.Dim
}

// siblings are the amounts that queues state, in the order of their names.
type siblings struct {
	queues  []*queue
	amounts []card.Amount
}

// ResolveShares sets the amounts of queues that state shares. stock has the cards that nodes give and pods of queues
// hold. It does nothing if no queue states a share. It is for nil Snapshots, too.
func (s *Snapshot) ResolveShares(tree *index.Tree, stock fastres.Vector) {
	if s == nil || !s.registry.shares {
		return
	}

	for a := range annotation(len(annotationKeys)) {
		for at, all := range s.siblings(tree, a) {
			d := at.dim
			if now, renamed := s.registry.former[d]; renamed {
				d = now
			}

			for i, n := range card.Divide(card.Milli(stock.Get(d)), all.amounts) {
				all.queues[i].stated[a][at.dim] = card.Cards(n)
			}
		}
	}

	for _, q := range s.registry.queues {
		q.rename(s.registry.former)
	}
}

// siblings returns the amounts that queues state in one annotation.
func (s *Snapshot) siblings(tree *index.Tree, a annotation) map[scope]*siblings {
	all := map[scope]*siblings{}
	for _, name := range slices.Sorted(maps.Keys(s.registry.queues)) {
		q := tree.Lookup(name)
		if q == index.None {
			continue
		}

		parent := tree.ParentOrSelf(q)
		own := s.registry.queues[name]
		for d, amount := range own.stated[a] {
			stated := card.Amount{Cards: int64(amount.Cards())}
			if share, is := own.shares[a][d]; is {
				stated.Share = &share
			}

			at := scope{parent, d}
			if all[at] == nil {
				all[at] = &siblings{}
			}
			all[at].queues = append(all[at].queues, own)
			all[at].amounts = append(all[at].amounts, stated)
		}
	}
	return all
}

// Stated is a share that an annotation of a queue states, and the amount that it is in the session.
type Stated struct {
	Annotation string
	Card       string // or a group of cards
	Share      card.Share
	Amount     card.Milli
}

// Shares returns the shares that a queue states, by annotation and in the order of the names of cards.
func (s *Snapshot) Shares(q index.Queue) (all []Stated) {
	if s == nil || s.queues[q] == nil {
		return nil
	}

	own := s.queues[q]
	for a, shares := range own.shares {
		for d, share := range shares {
			all = append(all, Stated{annotationKeys[a], s.names.Name(d), share, own.stated[a][d]})
		}
	}

	slices.SortFunc(all, func(x, y Stated) int {
		return cmp.Or(
			cmp.Compare(slices.Index(annotationKeys[:], x.Annotation), slices.Index(annotationKeys[:], y.Annotation)),
			cmp.Compare(x.Card, y.Card))
	})
	return all
}

// SetAmounts replaces the card annotations of a queue that state shares by texts with the amounts of the session.
func (s *Snapshot) SetAmounts(annotations map[string]string, q index.Queue) {
	if s == nil || s.queues[q] == nil {
		return
	}

	own := s.queues[q]
	for a, key := range annotationKeys {
		if len(own.shares[a]) > 0 {
			annotations[key] = textOf(s.names, own.stated[a], nil)
		}
	}
}
