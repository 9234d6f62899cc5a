package usage

import (
	"maps"
	"math"
	"time"

	"github.com/capacity-card/capacity-card/index"
)

// Column is a resource, or a card model. A resource and a card may have the same name.
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
	held    []float64 // a: the quantity of each queue since the last Advance
	norm    []float64 // N
	unknown []bool    // by queue: it has no history yet

	// known, by queue, and columnKnown, by column, are the usage of a queue that has had 1 since the record began, and
	// nothing before.
	known, columnKnown []float64

	departed map[string]*departure
	members  Namespaces
}

// departure is the usage of a deleted queue, without the usage of queues below it.
type departure struct {
	heir  string // the queue above it that has the usage now; "" for none
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

// Held returns the quantity that a queue has, by column. It is for reading, until the next call.
func (h *History) Held(q index.Queue) []float64 { return h.row(h.held, q) }

func (h *History) row(rows []float64, q index.Queue) []float64 {
	n := len(h.columns)
	return rows[int(q)*n:][:n:n]
}

// Set sets the quantity that a queue has of a column from now on, 0 or more.
func (h *History) Set(q index.Queue, column int, held float64) {
	h.held[int(q)*len(h.columns)+column] = held
}

// SetNorm sets N of a queue and a column, 0 for none.
func (h *History) SetNorm(q index.Queue, column int, norm float64) {
	h.norm[int(q)*len(h.columns)+column] = norm
}

// Advance lets time pass. decay is the result of Decay.
func (h *History) Advance(decay float64) {
	for i, held := range h.held {
		h.usage[i] = decay*h.usage[i] + (1-decay)*held
	}

	for _, known := range [][]float64{h.known, h.columnKnown} {
		for i := range known {
			known[i] = decay*known[i] + 1 - decay
		}
	}

	maps.DeleteFunc(h.departed, func(_ string, d *departure) bool {
		most := 0.0
		for i := range d.usage {
			d.usage[i] *= decay
			most = max(most, d.usage[i])
		}
		return most < negligible
	})

	h.members.Advance(decay)
}

// A usage below negligible is forgotten: a thousandth of a card.
const negligible = 1

// Begin gives the queues without a history the usage U = a, after Set.
func (h *History) Begin() {
	for q := index.Queue(len(h.unknown)) - 1; q >= 0; q-- {
		row := h.Row(q)
		held := h.Held(q)
		p := h.tree.Parent(q)

		// The queues below have subtracted their own quantities, and have added their usage.
		if h.unknown[q] {
			add(row, held, 1)
		}

		if p == index.None || !h.unknown[p] {
			continue
		}
		add(h.Row(p), held, -1)
		if h.unknown[q] {
			add(h.Row(p), row, 1)
		}
	}

	// Children can have more together than their parent.
	clear(h.unknown)
	atLeastZero(h.usage)
}

// Level returns the level of a queue. gamma is γ, and wants are the columns that count. If the queue has no norm in
// some of them, the level is infinite, and beyond is the greatest E of such a column.
func (h *History) Level(q index.Queue, gamma float64, wants []int32) (level, beyond float64) {
	held := h.Held(q)
	for _, c := range wants {
		l, b := h.LevelAt(q, gamma, int(c), held[c])
		level = max(level, l)
		beyond = max(beyond, b)
	}

	return level, beyond
}

// LevelAt returns the same for one column, with held in place of the queue's quantity.
func (h *History) LevelAt(q index.Queue, gamma float64, column int, held float64) (level, beyond float64) {
	at := int(q)*len(h.columns) + column
	average := Mean(h.usage[at], held, gamma)
	norm := h.norm[at]
	switch {
	case average <= 0:
		return 0, 0
	case norm > 0:
		return average / norm, 0
	}

	return math.Inf(1), average
}

// LevelWith returns the level of a queue in one column, with held in place of the queue's quantity. It is infinite if
// the queue has no norm.
func (h *History) LevelWith(q index.Queue, gamma float64, column int, held float64) float64 {
	norm := h.Norms(q)[column]
	if norm <= 0 {
		return math.Inf(1)
	}

	return Mean(h.Row(q)[column], held, gamma) / norm
}
