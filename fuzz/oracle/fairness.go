package oracle

import (
	"cmp"
	"maps"
	"math"
	"time"
)

// History records the usage of one card by a queue since it was first seen, as docs/fairness.md says. It keeps
// every step and adds them up again for every answer.
type History struct{ steps []step }

type step struct {
	from, to time.Duration
	cards    float64
}

// Had adds what the queue had between two times.
func (h *History) Had(from, to time.Duration, cards float64) {
	h.steps = append(h.steps, step{from, to, cards})
}

// Usage returns the average at a time, in cards: a moment counts half as much as one that is a half-life
// later. Before it was first seen, the queue counts as having what it had then: now, if that is now.
func (h *History) Usage(at, halfLife time.Duration, now float64) (usage float64) {
	if len(h.steps) == 0 {
		return now
	}
	weight := func(t time.Duration) float64 { return math.Pow(0.5, (at-t).Seconds()/halfLife.Seconds()) }
	usage = h.steps[0].cards * weight(h.steps[0].from)
	for _, s := range h.steps {
		usage += s.cards * (weight(s.to) - weight(s.from))
	}
	return usage
}

// FairQueue holds the quantities of a queue that are compared, by card.
type FairQueue struct {
	Usage, Allocated, Pending, Deserved map[string]float64
	Pods                                int // that are pending
}

// get adds a pending pod of another queue to what the queue has: one with its mean request.
func (q *FairQueue) get(of *FairQueue) {
	allocated := maps.Clone(q.Allocated)
	for card, n := range of.Pending {
		allocated[card] += n / float64(of.Pods)
	}
	q.Allocated = allocated
}

// AtTurn returns a department as it counts when it is the turn of one of its queues: its other queues that go before
// this one have got their pods, as far as there are free cards. sure is as in CompareFair.
func AtTurn(department, queue *FairQueue, others []*FairQueue, free map[string]float64, halfLife, horizon time.Duration) (then *FairQueue, sure bool) {
	own := *department
	for _, other := range others {
		now := *other
		for range other.Pods {
			order, known := CompareFair(&now, queue, halfLife, horizon)
			if !known || order == 0 {
				return nil, false
			}
			if order > 0 {
				break
			}
			now.get(other)
			own.get(other)
		}
	}
	for card, n := range own.Allocated {
		own.Allocated[card] = min(n, department.Allocated[card]+free[card])
	}
	return &own, true
}

// cardsThatCount are those that pending pods request, or else those that the queue has.
func (q *FairQueue) cardsThatCount() (all []string) {
	for card, n := range q.Pending {
		if n > 0 {
			all = append(all, card)
		}
	}
	if len(all) > 0 {
		return all
	}
	for card, n := range q.Allocated {
		if n > 0 {
			all = append(all, card)
		}
	}
	return all
}

// waitsForDeserved reports whether the queue waits only for cards of which it has less than it deserves.
func (q *FairQueue) waitsForDeserved() bool {
	all := q.cardsThatCount()
	for _, card := range all {
		if q.Allocated[card] >= q.Deserved[card] {
			return false
		}
	}
	return len(all) > 0
}

// level returns the highest level of the cards that count. A queue that has some and deserves none is above
// every other; beyond is what it has then.
func (q *FairQueue) level(halfLife, horizon time.Duration) (level, beyond float64) {
	past := math.Pow(0.5, horizon.Seconds()/halfLife.Seconds())
	for _, card := range q.cardsThatCount() {
		average := past*q.Usage[card] + (1-past)*q.Allocated[card]
		switch {
		case average <= 0:
		case q.Deserved[card] > 0:
			level = max(level, average/q.Deserved[card])
		default:
			level, beyond = math.Inf(1), max(beyond, average)
		}
	}
	return level, beyond
}

// CompareFair compares two queues of one priority: below 0 if l goes first. 0 leaves it to the share. sure is
// false where the difference is as small as rounding errors.
func CompareFair(l, r *FairQueue, halfLife, horizon time.Duration) (order int, sure bool) {
	if lw, rw := l.waitsForDeserved(), r.waitsForDeserved(); lw != rw {
		if lw {
			return -1, true
		}
		return 1, true
	}
	ll, lb := l.level(halfLife, horizon)
	rl, rb := r.level(halfLife, horizon)
	near := func(x, y float64) bool { return x != y && math.Abs(x-y) <= 1e-9*max(x, y) }
	if near(ll, rl) || near(lb, rb) {
		return 0, false
	}
	return cmp.Or(cmp.Compare(ll, rl), cmp.Compare(lb, rb)), true
}
