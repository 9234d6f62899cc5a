package usage

import (
	"math"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// Norms returns N of a queue by column. It is for reading, until the next call.
func (h *History) Norms(q index.Queue) []float64 { return h.row(h.norm, q) }

// Mean returns E, the mean of a usage and a present quantity. gamma is γ.
func Mean(used, held, gamma float64) float64 { return gamma*used + (1-gamma)*held }

// Never is the time until something that does not happen.
const Never time.Duration = math.MaxInt64

// UntilEven returns the time until the level of a queue is 1 in a column, if the queue has the quantity held from now
// on:
//
//	E(t) = held + γ·(U−held)·2^(−t/h) ≤ N    t = h·log2(γ·(U−held) / (N−held))
//
// It is 0 if the level is 1 or less already, and Never if the queue has N or more.
func UntilEven(used, held, norm, gamma float64, halfLife time.Duration) time.Duration {
	owed := gamma * (used - held)
	room := norm - held
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

// Total returns the sum of the quantity that a queue has had in the past, in column-seconds. A moment counts half as
// much as a moment that is a half-life later:
//
//	∫ a(−t)·2^(−t/h) dt = U·h / ln 2
func Total(used float64, halfLife time.Duration) float64 { return used * halfLife.Seconds() / math.Ln2 }

// Covered returns the time that the record of a queue covers in a column. It is at most 50 half-lives, because longer
// times cannot be told apart.
func (h *History) Covered(q index.Queue, column int, halfLife time.Duration) time.Duration {
	const most = 50
	known := min(h.known[q], h.columnKnown[column])
	return time.Duration(min(most, -math.Log2(max(0, 1-known))) * float64(halfLife))
}

// MostOnAverage returns the most that a queue can have had on average in the time s before now. Each moment of s
// counts at least 2^(−s/h) in the usage. The bound is reached if the queue had all of it when s began:
//
//	(1/s)·∫₀ˢ a(−t) dt ≤ 2^(s/h)·U·h / (s·ln 2)
func MostOnAverage(used float64, s, halfLife time.Duration) float64 {
	if used <= 0 {
		return 0
	}

	return math.Exp2(s.Seconds()/halfLife.Seconds()) * Total(used, halfLife) / s.Seconds()
}

// Reset sets the usage of a queue and all queues below it to their present quantities, as Begin does for queues
// without a history. The ancestors lose the difference.
func (h *History) Reset(q index.Queue) {
	change := make([]float64, len(h.columns))
	add(change, h.Held(q), 1)
	add(change, h.Row(q), -1)

	// Parents have lower numbers than their children.
	for below := q; below < index.Queue(h.tree.Len()); below++ {
		if !slices.Contains(h.tree.Path(below), q) {
			continue
		}

		copy(h.Row(below), h.Held(below))
		h.known[below] = 0
		h.forgetLeftTo(h.tree.Name(below))
		h.members.reset(h.tree.Name(below))
	}

	for _, above := range h.tree.Path(q)[1:] {
		add(h.Row(above), change, 1)
		h.known[above] = 0
	}

	atLeastZero(h.usage)
}

// forgetLeftTo forgets the deleted queues that left their usage to an heir: the usage of the heir is reset.
func (h *History) forgetLeftTo(heir string) {
	for name, d := range h.departed {
		if d.heir == heir {
			delete(h.departed, name)
			h.forgetLeftTo(name)
		}
	}
}
