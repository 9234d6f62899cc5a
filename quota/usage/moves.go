package usage

import (
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// Bind sets the tree and the columns. Usage follows the names of queues and columns. All queues have nothing until
// Set is called. If neither the tree nor the columns change, Bind does nothing.
func (h *History) Bind(tree *index.Tree, columns []Column) {
	if h.tree == tree && slices.Equal(h.columns, columns) {
		return
	}

	next := &History{
		tree:     tree,
		columns:  slices.Clone(columns),
		departed: map[string]*departure{},
		members:  h.members,
	}
	next.resize()

	from := columnsIn(h.columns, next.columns)
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
	h.known = make([]float64, n)
	h.columnKnown = make([]float64, len(h.columns))
}

// columnsIn returns the position among all columns of each wanted column, -1 for none.
func columnsIn(all, wanted []Column) (from []int) {
	for _, c := range wanted {
		from = append(from, slices.Index(all, c))
	}
	return from
}

// selected returns the values of a row at some positions, 0 for the position -1.
func selected(row []float64, from []int) []float64 {
	x := make([]float64, len(from))
	for i, c := range from {
		if c >= 0 {
			x[i] = row[c]
		}
	}

	return x
}

// takeOver adds the usage of each queue of before itself to the queue of the same name. If that queue is deleted, its
// usage goes to the nearest ancestor that still exists.
func (h *History) takeOver(before *History, from []int) {
	before.unroll()
	for q := range index.Queue(before.tree.Len()) {
		if before.unknown[q] {
			continue
		}

		own := selected(before.Row(q), from)
		name := before.tree.Name(q)
		now := h.tree.Lookup(name)
		if now != index.None {
			h.unknown[now] = false
			h.known[now] = before.known[q]
			add(h.Row(now), own, 1)
			continue
		}

		d := &departure{usage: own}
		h.departed[name] = d
		heir := before.heirOf(q, h.tree)
		if heir != index.None {
			d.heir = h.tree.Name(heir)
			add(h.Row(heir), own, 1)
		}
	}
}

// heirOf returns the nearest ancestor of q that exists in tree.
func (h *History) heirOf(q index.Queue, tree *index.Tree) index.Queue {
	for _, above := range h.tree.Path(q)[1:] {
		if heir := tree.Lookup(h.tree.Name(above)); heir != index.None {
			return heir
		}
	}

	return index.None
}

// returnDeparted gives queues that exist again the usage that they had, and takes it from their heirs.
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

// takeBack takes the usage of a queue that exists again from its heir. If the heir is deleted as well, it takes the
// usage from the heir's heirs.
func (h *History) takeBack(d *departure) {
	// A damaged record may have heirs in a circle, so the number of steps is limited.
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

// unroll subtracts the usage of the children from the usage of each queue.
func (h *History) unroll() {
	for q := range index.Queue(h.tree.Len()) {
		if p := h.tree.Parent(q); p != index.None {
			add(h.Row(p), h.Row(q), -1)
		}
	}
}

// rollUp adds the usage of each queue to the usage of its parent.
func (h *History) rollUp() {
	for q := index.Queue(h.tree.Len()) - 1; q >= 0; q-- {
		if p := h.tree.Parent(q); p != index.None {
			add(h.Row(p), h.Row(q), 1)
		}
	}

	// A queue may have begun with more than its parent had.
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
