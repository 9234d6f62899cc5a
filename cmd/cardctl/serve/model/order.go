package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// Orders are the values by which queues are sorted, by name. resource is the card that is looked at, ""
// for all of them.
var Orders = map[string]func(q *queues.Queue, resource string) float64{
	"use":      useOf,
	"waiting":  func(q *queues.Queue, _ string) float64 { return float64(q.Waiting) },
	"share":    func(q *queues.Queue, _ string) float64 { return q.Share },
	"borrowed": borrowedBy,
	"level":    levelOf,
}

// levelOf returns the level of the usage of a queue over time: for one card, or the level that orders queues. A queue
// that deserves nothing is above all others.
func levelOf(q *queues.Queue, resource string) float64 {
	if q.Past == nil {
		return 0
	}

	level := q.Past.Level
	used := len(q.Past.Cards) > 0
	for _, c := range q.Past.Cards {
		if c.Resource == resource {
			level = c.Level
			used = c.Counted != nil && *c.Counted > 0
		}
	}

	switch {
	case level != nil:
		return *level
	case used:
		return math.Inf(1)
	}
	return 0
}

// sort sorts rows by the order of the selection. Equal rows keep the order of the tree.
func (s *Selection) sort(rows []Row) {
	if value := Orders[s.Sort]; value != nil {
		slices.SortStableFunc(rows, func(a, b Row) int {
			return cmp.Compare(value(b.Queue, s.Resource), value(a.Queue, s.Resource))
		})
	}
}

// useOf returns the part of its quota that a queue uses: of a resource, or of the resource that it uses most.
func useOf(q *queues.Queue, resource string) float64 {
	if resource == "" {
		return q.Use()
	}
	for _, h := range q.Resources {
		if h.Resource == resource {
			return h.Use()
		}
	}
	return 0
}

// borrowedBy counts the cards of one model, or of all models, that a queue has beyond deserved.
func borrowedBy(q *queues.Queue, resource string) (cards float64) {
	for _, h := range q.Resources {
		if h.Card && (resource == "" || h.Resource == resource) {
			cards += Borrowed(h)
		}
	}
	return cards
}

// Having returns the queues that have a resource or a bound of it, and the queues above them, or all for "".
func Having(all []queues.Queue, resource string) []queues.Queue {
	if resource == "" {
		return all
	}

	t := newTree(all)
	wanted := map[string]bool{}
	for i := range all {
		q := &all[i]
		if !slices.ContainsFunc(q.Resources, func(h queues.Holding) bool { return h.Resource == resource }) {
			continue
		}
		for _, name := range t.path(q.Queue) {
			wanted[name] = true
		}
	}

	return slices.DeleteFunc(slices.Clone(all), func(q queues.Queue) bool { return !wanted[q.Queue] })
}
