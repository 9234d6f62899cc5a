package usage

import (
	"maps"
	"slices"
)

// Namespaces holds the usage of namespaces within queues, by the names of both. The zero Namespaces has
// none: call Bind.
type Namespaces struct {
	columns []Column
	of      map[Member]*member
	known   bool // of new namespaces it is known that they had nothing before
}

// Member is a namespace in a queue.
type Member struct{ Queue, Namespace string }

type member struct {
	usage, held []float64
	unknown     bool // it has no history yet
}

// Bind sets the columns. All namespaces have nothing until Hold is called. Where columns change, usage
// goes along with their names.
func (n *Namespaces) Bind(columns []Column) {
	same := slices.Equal(n.columns, columns)
	for _, m := range n.of {
		if same {
			clear(m.held)
			continue
		}
		usage := make([]float64, len(columns))
		for c, column := range columns {
			if before := slices.Index(n.columns, column); before >= 0 {
				usage[c] = m.usage[before]
			}
		}
		m.usage, m.held = usage, make([]float64, len(columns))
	}
	if !same {
		n.columns = slices.Clone(columns)
	}
	if n.of == nil {
		n.of = map[Member]*member{}
	}
}

// Advance lets time pass. decay is that of Decay. Namespaces that have nothing and whose usage is
// negligible are forgotten.
func (n *Namespaces) Advance(decay float64) {
	maps.DeleteFunc(n.of, func(_ Member, m *member) bool {
		most := 0.0
		for c, held := range m.held {
			m.usage[c] = decay*m.usage[c] + (1-decay)*held
			most = max(most, m.usage[c], held)
		}
		return most < negligible
	})
}

// Hold adds to what a namespace has of a column. A namespace without a history has had nothing, but for those of the
// first session: see Begin.
func (n *Namespaces) Hold(who Member, column int, more float64) {
	m := n.of[who]
	if m == nil {
		m = &member{usage: make([]float64, len(n.columns)), held: make([]float64, len(n.columns)), unknown: !n.known}
		n.of[who] = m
	}
	m.held[column] = max(0, m.held[column]+more)
}

// Begin gives the namespaces without a history the usage U = a, after Hold, in the first session without a record.
func (n *Namespaces) Begin() {
	for _, m := range n.of {
		if m.unknown {
			copy(m.usage, m.held)
			m.unknown = false
		}
	}
	n.known = true
}

// reset sets the usage of the namespaces of a queue to what they have.
func (n *Namespaces) reset(queue string) {
	for who, m := range n.of {
		if who.Queue == queue {
			copy(m.usage, m.held)
		}
	}
}

// Average returns E of a namespace in a column.
func (n *Namespaces) Average(who Member, gamma float64, column int) float64 {
	m := n.of[who]
	if m == nil {
		return 0
	}
	return gamma*m.usage[column] + (1-gamma)*m.held[column]
}

// Add adds to the usage of a namespace, in the order of columns.
func (n *Namespaces) Add(who Member, more []float64) {
	if m := n.of[who]; m != nil {
		add(m.usage, more, 1)
	}
}
