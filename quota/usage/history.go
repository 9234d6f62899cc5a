package usage

import (
	"math"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// Column is a resource, or a card model, whose usage is kept. A resource and a card may have the
// same name.
type Column struct {
	Name string `json:"name"`
	Card bool   `json:"card,omitempty"`
}

// History holds the usage of all queues of a tree by column, in the units of the accounts that Set
// gets. The zero History has no queues: call Bind.
type History struct {
	tree    *index.Tree
	columns []Column
	usage   []float64 // U, by queue and column
	held    []float64 // a: what the queues have had since the last Advance
	norm    []float64 // N
	unknown []bool    // by queue: it has no history yet
	// known, by queue, and columnKnown, by column, are the usage of a queue that has had 1 since the record began, and
	// nothing before.
	known, columnKnown []float64
	departed           map[string]*departure
	members            Namespaces
}

// departure is the usage of a queue that was deleted, without that of queues below it.
type departure struct {
	heir  string // the queue above it, whose usage includes this one's; "" for none
	usage []float64
}

// Decay returns β, the part of a usage that is left after a time. A time below 0 counts as 0:
// the clock was set back.
func Decay(after, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, after.Seconds()) / halfLife.Seconds())
}

// Columns returns the columns. It is for reading.
func (h *History) Columns() []Column { return h.columns }

// Namespaces returns the usage of namespaces. Bind keeps it as it is.
func (h *History) Namespaces() *Namespaces { return &h.members }

// Row returns the usage of a queue by column. It is for reading, until the next call.
func (h *History) Row(q index.Queue) []float64 { return h.row(h.usage, q) }

// Held returns what a queue has by column. It is for reading, until the next call.
func (h *History) Held(q index.Queue) []float64 { return h.row(h.held, q) }

func (h *History) row(of []float64, q index.Queue) []float64 {
	n := len(h.columns)
	return of[int(q)*n:][:n:n]
}

// Set sets what a queue has of a column from now on, 0 or more.
func (h *History) Set(q index.Queue, column int, held float64) {
	h.held[int(q)*len(h.columns)+column] = held
}

// SetNorm sets N of a queue and a column, 0 for none.
func (h *History) SetNorm(q index.Queue, column int, norm float64) {
	h.norm[int(q)*len(h.columns)+column] = norm
}

// Advance lets time pass. decay is that of Decay.
func (h *History) Advance(decay float64) {
	for i, held := range h.held {
		h.usage[i] = decay*h.usage[i] + (1-decay)*held
	}
	for _, known := range [][]float64{h.known, h.columnKnown} {
		for i := range known {
			known[i] = decay*known[i] + 1 - decay
		}
	}
	for name, d := range h.departed {
		d.scale(decay)
		if !slices.ContainsFunc(d.usage, func(x float64) bool { return x >= negligible }) {
			delete(h.departed, name)
		}
	}
	h.members.Advance(decay)
}

// negligible is a usage of deleted queues that is forgotten: a thousandth of a card.
const negligible = 1

func (d *departure) scale(by float64) {
	for i := range d.usage {
		d.usage[i] *= by
	}
}

// Begin gives the queues without a history the usage U = a, after Set.
func (h *History) Begin() {
	for q := index.Queue(len(h.unknown)) - 1; q >= 0; q-- {
		row := h.Row(q)
		held := h.Held(q)
		p := h.tree.Parent(q)
		if h.unknown[q] {
			add(row, held, 1) // beside the usage of the queues below, which have taken out what they have
		}
		if p == index.None || !h.unknown[p] {
			continue
		}
		add(h.Row(p), held, -1)
		if h.unknown[q] {
			add(h.Row(p), row, 1)
		}
	}
	clear(h.unknown)
	atLeastZero(h.usage) // the parts that count of queues can be more than that of the queue above
}

// Level returns the level of a queue. gamma is γ, and wants are the columns that count. Where the
// queue has no norm, beyond is the greatest E of such a column, and the level is above every other.
func (h *History) Level(q index.Queue, gamma float64, wants []int32) (level, beyond float64) {
	held := h.Held(q)
	for _, c := range wants {
		l, b := h.LevelAt(q, gamma, int(c), held[c])
		level, beyond = max(level, l), max(beyond, b)
	}
	return level, beyond
}

// LevelAt returns the same of one column, with some amount in place of what the queue has.
func (h *History) LevelAt(q index.Queue, gamma float64, column int, held float64) (level, beyond float64) {
	at := int(q)*len(h.columns) + column
	average, norm := gamma*h.usage[at]+(1-gamma)*held, h.norm[at]
	switch {
	case average <= 0:
		return 0, 0
	case norm > 0:
		return average / norm, 0
	}
	return math.Inf(1), average
}

// LevelWith returns the level of a queue in one column, with some amount in place of what the queue has:
// infinity where it has no norm.
func (h *History) LevelWith(q index.Queue, gamma float64, column int, held float64) float64 {
	average, norm := gamma*h.Row(q)[column]+(1-gamma)*held, h.row(h.norm, q)[column]
	if norm <= 0 {
		return math.Inf(1)
	}
	return average / norm
}
