package usage

import (
	"maps"
	"slices"
)

// Namespaces holds the usage of namespaces within queues, by the names of both. The zero Namespaces is empty: call
// Bind.
type Namespaces struct {
	columns []Column
	members map[Member]*member
	known   bool // new namespaces had nothing before
}

// Member is a namespace in a queue.
type Member struct{ Queue, Namespace string }

type member struct {
	usage, held []float64
	unknown     bool // it has no history yet
}

// Bind sets the columns. All namespaces have nothing until Hold is called. If columns change, usage follows their
// names.
func (n *Namespaces) Bind(columns []Column) {
	if n.members == nil {
		n.members = map[Member]*member{}
	}

	if slices.Equal(n.columns, columns) {
		for _, m := range n.members {
			clear(m.held)
		}
		return
	}

	from := columnsIn(n.columns, columns)
	for _, m := range n.members {
		m.usage = selected(m.usage, from)
		m.held = make([]float64, len(columns))
	}
	n.columns = slices.Clone(columns)
}

// Advance lets time pass. decay is the result of Decay. Namespaces that have nothing, and used next to nothing, are
// forgotten.
func (n *Namespaces) Advance(decay float64) {
	maps.DeleteFunc(n.members, func(_ Member, m *member) bool {
		most := 0.0
		for c, held := range m.held {
			m.usage[c] = decay*m.usage[c] + (1-decay)*held
			most = max(most, m.usage[c], held)
		}
		return most < negligible
	})
}

// Hold adds to the quantity that a namespace has of a column. A namespace without a history has had nothing. In the
// first session it begins with its present quantity: see Begin.
func (n *Namespaces) Hold(who Member, column int, more float64) {
	m := n.members[who]
	if m == nil {
		m = &member{
			usage:   make([]float64, len(n.columns)),
			held:    make([]float64, len(n.columns)),
			unknown: !n.known,
		}
		n.members[who] = m
	}

	m.held[column] = max(0, m.held[column]+more)
}

// Begin gives the namespaces without a history the usage U = a, after Hold, in the first session without a record.
func (n *Namespaces) Begin() {
	for _, m := range n.members {
		if m.unknown {
			copy(m.usage, m.held)
			m.unknown = false
		}
	}
	n.known = true
}

// reset sets the usage of the namespaces of a queue to their present quantities.
func (n *Namespaces) reset(queue string) {
	for who, m := range n.members {
		if who.Queue == queue {
			copy(m.usage, m.held)
		}
	}
}

// Average returns E of a namespace in a column.
func (n *Namespaces) Average(who Member, gamma float64, column int) float64 {
	m := n.members[who]
	if m == nil {
		return 0
	}

	return Mean(m.usage[column], m.held[column], gamma)
}

// Add adds to the usage of a namespace, in the order of columns.
func (n *Namespaces) Add(who Member, more []float64) {
	if m := n.members[who]; m != nil {
		add(m.usage, more, 1)
	}
}
