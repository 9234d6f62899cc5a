package oracle

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// History records the usage of one card by a queue since it was first seen (docs/spec/fairness.md). It keeps every step
// and adds them up again for every answer.
type History struct{ steps []step }

type step struct {
	from, to time.Duration
	cards    float64
}

// Had adds the cards of the queue between two times.
func (h *History) Had(from, to time.Duration, cards float64) {
	h.steps = append(h.steps, step{from, to, cards})
}

// Usage returns the average at a time, in cards. A moment counts half as much as a moment that is a half-life later.
// The queue counts as if it always had its first number of cards, which is now for a new queue.
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
	Pods                                int // pending
}

// get adds a pending pod of another queue to the queue: a pod with the mean request.
func (q *FairQueue) get(other *FairQueue) {
	allocated := maps.Clone(q.Allocated)
	for card, n := range other.Pending {
		allocated[card] += n / float64(other.Pods)
	}
	q.Allocated = allocated
}

// AtTurn returns a department as it counts at the turn of one of its queues. The other queues that go before this queue
// have got their pods then, as far as there are free cards. sure is as in CompareFair.
func AtTurn(department, queue *FairQueue, others []*FairQueue, free map[string]float64,
	halfLife, horizon time.Duration) (then *FairQueue, sure bool) {
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

// cardsThatCount returns the cards that pending pods request. If there are none, it returns the cards of the queue.
func (q *FairQueue) cardsThatCount() []string {
	if pending := positive(q.Pending); len(pending) > 0 {
		return pending
	}
	return positive(q.Allocated)
}

func positive(quantities map[string]float64) (cards []string) {
	for card, n := range quantities {
		if n > 0 {
			cards = append(cards, card)
		}
	}
	return cards
}

// waitsForDeserved reports whether the queue waits, and has less than it deserves of all cards that count.
func (q *FairQueue) waitsForDeserved() bool {
	all := q.cardsThatCount()
	enough := func(card string) bool { return q.Allocated[card] >= q.Deserved[card] }
	return len(all) > 0 && !slices.ContainsFunc(all, enough)
}

// level returns the highest level of the cards that count. A queue that has some cards and deserves none is above every
// other queue. beyond is the greatest average of such a card.
func (q *FairQueue) level(halfLife, horizon time.Duration) (level, beyond float64) {
	past := math.Pow(0.5, horizon.Seconds()/halfLife.Seconds())
	for _, card := range q.cardsThatCount() {
		average := past*q.Usage[card] + (1-past)*q.Allocated[card]
		switch {
		case average <= 0:
		case q.Deserved[card] > 0:
			level = max(level, average/q.Deserved[card])
		default:
			level = math.Inf(1)
			beyond = max(beyond, average)
		}
	}

	return level, beyond
}

// CompareFair compares two queues of one priority: below 0 if l goes first. 0 leaves the order to the share. sure is
// false if the difference is as small as rounding errors.
func CompareFair(l, r *FairQueue, halfLife, horizon time.Duration) (order int, sure bool) {
	lWaits := l.waitsForDeserved()
	if lWaits != r.waitsForDeserved() {
		return before(lWaits), true
	}

	lLevel, lBeyond := l.level(halfLife, horizon)
	rLevel, rBeyond := r.level(halfLife, horizon)
	near := func(x, y float64) bool { return x != y && math.Abs(x-y) <= 1e-9*max(x, y) }
	if near(lLevel, rLevel) || near(lBeyond, rBeyond) {
		return 0, false
	}

	return cmp.Or(cmp.Compare(lLevel, rLevel), cmp.Compare(lBeyond, rBeyond)), true
}
