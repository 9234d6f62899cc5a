package usage

import (
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// Bind sets the tree and the columns. Usage goes along with the names of queues and columns. All
// queues have nothing until Set is called. Without a change it keeps all as it is.
func (h *History) Bind(tree *index.Tree, columns []Column) {
	if h.tree == tree && slices.Equal(h.columns, columns) {
		return
	}
	next := &History{tree: tree, columns: slices.Clone(columns), departed: map[string]*departure{}, members: h.members}
	next.resize()
	from := h.columnsIn(next.columns)
	next.columnKnown = selected(h.columnKnown, from)
	if h.tree != nil {
		next.takeOver(h, from)
	}
	next.returnDeparted(h, from)
	next.rollUp()
	*h = *next
}

func (h *History) resize() {
	n := h.tree.Len()
	for _, rows := range []*[]float64{&h.usage, &h.held, &h.norm} {
		*rows = make([]float64, n*len(h.columns))
	}
	h.unknown = slices.Repeat([]bool{true}, n)
	h.known, h.columnKnown = make([]float64, n), make([]float64, len(h.columns))
}

// columnsIn returns the column of h for each of some columns, -1 for none.
func (h *History) columnsIn(columns []Column) (from []int) {
	for _, c := range columns {
		from = append(from, slices.Index(h.columns, c))
	}
	return from
}

// selected returns a row of h in the columns of another history.
func selected(row []float64, from []int) []float64 {
	x := make([]float64, len(from))
	for i, c := range from {
		if c >= 0 {
			x[i] = row[c]
		}
	}
	return x
}

// takeOver adds the usage of each queue of before, without that of the queues below it, to the queue
// of the same name, or else to the nearest queue above that still exists.
func (h *History) takeOver(before *History, from []int) {
	before.unroll()
	for q := range index.Queue(before.tree.Len()) {
		if before.unknown[q] {
			continue
		}
		own := selected(before.Row(q), from)
		now := h.tree.Lookup(before.tree.Name(q))
		if now != index.None {
			h.unknown[now], h.known[now] = false, before.known[q]
		} else {
			heir := before.heirOf(q, h.tree)
			d := &departure{usage: slices.Clone(own)}
			if heir != index.None {
				d.heir = h.tree.Name(heir)
			}
			h.departed[before.tree.Name(q)] = d
			now = heir
		}
		if now != index.None {
			add(h.Row(now), own, 1)
		}
	}
}

// heirOf returns the nearest queue above q that tree has, too.
func (h *History) heirOf(q index.Queue, tree *index.Tree) index.Queue {
	for _, above := range h.tree.Path(q)[1:] {
		if heir := tree.Lookup(h.tree.Name(above)); heir != index.None {
			return heir
		}
	}
	return index.None
}

// returnDeparted gives queues that exist again the usage that they had, and takes it from the
// queues that have had it since.
func (h *History) returnDeparted(before *History, from []int) {
	for name, d := range before.departed {
		h.departed[name] = &departure{heir: d.heir, usage: selected(d.usage, from)}
	}
	for name := range before.departed {
		q := h.tree.Lookup(name)
		if q == index.None {
			continue
		}
		d := h.departed[name]
		delete(h.departed, name)
		add(h.Row(q), d.usage, 1)
		h.unknown[q] = false
		h.takeBack(d)
	}
}

// takeBack takes the usage of a queue that exists again from its heir, and where that is deleted as
// well, from the heir's heirs. A record that was tampered with may have heirs in a circle.
func (h *History) takeBack(d *departure) {
	heir := d.heir
	for range len(h.departed) + 1 {
		if now := h.tree.Lookup(heir); now != index.None {
			add(h.Row(now), d.usage, -1)
			return
		}
		next := h.departed[heir]
		if next == nil {
			return
		}
		add(next.usage, d.usage, -1)
		heir = next.heir
	}
}

// unroll takes from each queue's usage that of the queues below it.
func (h *History) unroll() {
	for q := range index.Queue(h.tree.Len()) {
		if p := h.tree.Parent(q); p != index.None {
			add(h.Row(p), h.Row(q), -1)
		}
	}
}

// rollUp adds the usage of each queue to that of the queue above it. A queue that began with what
// it had may have been below a queue with less.
func (h *History) rollUp() {
	for q := index.Queue(h.tree.Len()) - 1; q >= 0; q-- {
		if p := h.tree.Parent(q); p != index.None {
			add(h.Row(p), h.Row(q), 1)
		}
	}
	atLeastZero(h.usage)
}

func atLeastZero(x []float64) {
	for i := range x {
		x[i] = max(0, x[i])
	}
}

func add(x, y []float64, sign float64) {
	for i := range x {
		x[i] += sign * y[i]
	}
}
