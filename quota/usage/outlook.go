package usage

import (
	"math"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// Norms returns N of a queue by column. It is for reading, until the next call.
func (h *History) Norms(q index.Queue) []float64 { return h.row(h.norm, q) }

// Mean returns E, the mean of a usage and of what a queue has now. gamma is γ.
func Mean(used, held, gamma float64) float64 { return gamma*used + (1-gamma)*held }

// Never is the time until something that does not happen.
const Never time.Duration = math.MaxInt64

// UntilEven returns the time until the level of a queue is 1 in a column, if the queue has held from
// now on:
//
//	E(t) = held + γ·(U−held)·2^(−t/h) ≤ N    t = h·log2(γ·(U−held) / (N−held))
//
// It is 0 where the level is 1 or less already, and Never where the queue has N or more.
func UntilEven(used, held, norm, gamma float64, halfLife time.Duration) time.Duration {
	owed, room := gamma*(used-held), norm-held
	switch {
	case owed <= room:
		return 0
	case room <= 0:
		return Never
	}
	if t := math.Log2(owed/room) * float64(halfLife); t < float64(Never) {
		return time.Duration(t)
	}
	return Never
}

// Total returns the sum of what a queue has had in the past, in column-seconds, where a moment
// counts half as much as one that is a half-life later:
//
//	∫ a(−t)·2^(−t/h) dt = U·h / ln 2
func Total(used float64, halfLife time.Duration) float64 { return used * halfLife.Seconds() / math.Ln2 }

// Covered returns the time that the record of a queue covers in a column, at most 50 half-lives: longer ones cannot be
// told apart.
func (h *History) Covered(q index.Queue, column int, halfLife time.Duration) time.Duration {
	const most = 50
	known := min(h.known[q], h.columnKnown[column])
	return time.Duration(min(most, -math.Log2(max(0, 1-known))) * float64(halfLife))
}

// MostOnAverage returns the most that a queue can have had on average, in the time s before now. Each moment of it
// counts at least 2^(−s/h) in the usage, and the queue had it all at the beginning of this time if it is as much:
//
//	(1/s)·∫₀ˢ a(−t) dt ≤ 2^(s/h)·U·h / (s·ln 2)
func MostOnAverage(used float64, s, halfLife time.Duration) float64 {
	if used <= 0 {
		return 0
	}
	return math.Exp2(s.Seconds()/halfLife.Seconds()) * Total(used, halfLife) / s.Seconds()
}

// Reset sets the usage of a queue and of those below it to what they have now, as Begin does for
// queues without a history. The queues above lose the difference.
func (h *History) Reset(q index.Queue) {
	change := make([]float64, len(h.columns))
	add(change, h.Held(q), 1)
	add(change, h.Row(q), -1)
	for below := q; below < index.Queue(h.tree.Len()); below++ { // parents come first
		if h.isBelow(below, q) {
			copy(h.Row(below), h.Held(below))
			h.known[below] = 0
			h.forgetHeirsOf(h.tree.Name(below))
			h.members.reset(h.tree.Name(below))
		}
	}
	for _, above := range h.tree.Path(q)[1:] {
		add(h.Row(above), change, 1)
		h.known[above] = 0
	}
	atLeastZero(h.usage)
}

// isBelow reports whether a queue is q or below it.
func (h *History) isBelow(below, q index.Queue) bool {
	for _, above := range h.tree.Path(below) {
		if above == q {
			return true
		}
	}
	return false
}

// forgetHeirsOf forgets the deleted queues whose usage a queue has: it is gone with that of the queue.
func (h *History) forgetHeirsOf(heir string) {
	for name, d := range h.departed {
		if d.heir == heir {
			delete(h.departed, name)
			h.forgetHeirsOf(name)
		}
	}
}
