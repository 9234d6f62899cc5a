package assign

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// The rule of this file: each pod gets one card of its list, so that for every
// queue p and card c that something is assigned to
//
//	Σ assigned to c in p and below ≤ room = realCapability − allocated − inqueue + elastic
//
// Upstream has no such rule: it knows no lists of cards.
//
// # Words
//
//	cell       a queue and a card; above it is the cell of the queue's parent
//	room       what a cell can still take; a whole number, as all sizes are
//	option     a need and the lowest cell of one of its cards
//	tight      of a cell: what could be asked of it exceeds its room
//	component  needs and cells that depend on one another
//
// # Method
//
// Most needs are settled without a choice: they have one card left, or one that
// has room for all that could ever come. What remains falls apart where cells
// are not tight, and each component is a flow from its needs through cells up to
// the tops. A flow may split pods. So one that is too small refutes, and one
// that is large enough and splits no pod is an assignment. With one size no pod
// is ever split, since rooms are rounded down to what the sizes can use. With
// several it is bin packing: a pod that the flow splits is put on the card it is
// mostly on, then kept off it, and the flow is mended, until no pod is split or
// the budget is used up.

// budget is how many arcs the search among mixed sizes may look at in one call,
// some tens of milliseconds. The first flow of a component is not counted, so
// needs of one size are always decided.
const budget = 1 << 21

// passes is how often needs without a choice are looked for at most. What is
// overlooked is left to the flow.
const passes = 8

// Demand is Count pods of one queue that each take Size of one card, any of Cards.
type Demand struct {
	Queue index.Queue
	Cards []fastres.Dim // distinct; none: it cannot be served
	Size  float64       // milli-cards of one pod, > 0, a whole number
	Count int           // > 0
}

// Assigner answers whether needs can be served. Its memory is kept from one call
// to the next; the zero Assigner is ready.
type Assigner struct {
	cells   []cell  // parents before children
	slots   []int32 // queue × dimension: 1 + the position of the cell, 0 for none
	open    []need  // not settled yet
	options []option
	entered []int32 // the cells that are in the network
	net     network
}

type need struct {
	size, left float64 // left: pods that are not placed
	from, to   int32   // its options
	component  int32   // one of its cells stands for all
	arc        int32   // from the source
}

type option struct {
	cell, arc int32
	most      float64 // pods that may take it
}

type cell struct {
	slot, above int32
	room        float64
	asked       float64 // at most, by the open needs
	tight       int32   // the lowest tight cell from here up
	component   int32   // a cell nearer to the one that stands for all
	unit        float64 // of what flows through
	node, arc   int32   // arc: to the cell above
}

// Feasible answers whether all needs can be served at once. The answer is
// exact as long as quantities are below 2^53, with one exception: when the
// search among mixed sizes uses up its budget the answer is false. Then a job
// waits that could have been admitted, but no quota is exceeded.
func (a *Assigner) Feasible(ix *index.Index, needs []Demand) bool {
	a.gather(ix, needs)
	options := len(a.options)
	for range passes {
		a.loosen()
		left, ok := a.settle()
		if !ok {
			return false
		}
		if left == 0 || left == options {
			break
		}
		options = left
	}
	a.group()
	a.net.looked = 0
	for rest := a.open; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].component == rest[0].component {
			n++
		}
		if !a.serve(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// gather opens every need with an option for each of its cards.
func (a *Assigner) gather(ix *index.Index, needs []Demand) {
	for i := range a.cells {
		a.slots[a.cells[i].slot] = 0
	}
	if n := ix.Len() * ix.Dims(); n > len(a.slots) {
		a.slots = make([]int32, n)
	}
	a.cells, a.open, a.options = a.cells[:0], a.open[:0], a.options[:0]
	for _, n := range needs {
		from, pods := int32(len(a.options)), float64(n.Count)
		for _, d := range n.Cards {
			a.options = append(a.options, option{cell: a.cell(ix, n.Queue, d)})
		}
		a.open = append(a.open, need{size: n.Size, left: pods, from: from, to: int32(len(a.options))})
	}
}

// cell returns the cell of q and d. The first time it makes it, and those above.
func (a *Assigner) cell(ix *index.Index, q index.Queue, d fastres.Dim) int32 {
	slot := int(q)*ix.Dims() + int(d)
	if a.slots[slot] > 0 {
		return a.slots[slot] - 1
	}
	above := none
	if p := ix.Parent(q); p != index.None {
		above = a.cell(ix, p, d)
	}
	room := math.Inf(1)
	if bound := ix.RealCapability.Row(q).Get(d); bound < fastres.MaxQuantity {
		room = math.Floor(bound - ix.Allocated(q).Get(d) - ix.Inqueue.Row(q).Get(d) + ix.Elastic.Row(q).Get(d))
	}
	at := int32(len(a.cells))
	a.cells = append(a.cells, cell{slot: int32(slot), above: above, room: room, component: at, node: none})
	a.slots[slot] = at + 1
	return at
}

// least is the least room from a cell up.
func (a *Assigner) least(at int32) float64 {
	room := math.Inf(1)
	for ; at != none; at = a.cells[at].above {
		room = min(room, a.cells[at].room)
	}
	return room
}

// take takes room from a cell and all above it; a negative amount gives it back.
func (a *Assigner) take(at int32, amount float64) {
	for ; at != none; at = a.cells[at].above {
		a.cells[at].room -= amount
	}
}

// loosen takes the cells that are not tight out of all paths. An option that has
// none left is at no cell.
func (a *Assigner) loosen() {
	for i := range a.cells {
		a.cells[i].asked = 0
	}
	for _, n := range a.open {
		for _, o := range a.options[n.from:n.to] {
			a.cells[o.cell].asked += n.left * n.size
		}
	}
	for _, c := range slices.Backward(a.cells) {
		if c.above != none {
			// Where nothing is asked for room may be negative.
			a.cells[c.above].asked += max(0, min(c.asked, c.room))
		}
	}
	for i := range a.cells {
		c := &a.cells[i]
		if c.above != none {
			c.above = a.cells[c.above].tight
		}
		c.tight = int32(i)
		if c.asked <= c.room {
			c.tight = c.above
		}
	}
	for _, n := range a.open {
		for i := n.from; i < n.to; i++ {
			a.options[i].cell = a.cells[a.options[i].cell].tight
		}
	}
}

// settle drops the options that have no room for one pod, and with them the
// needs without a choice: those with an option that is not bounded, and those
// with one option, which it places. It returns how many options are left, and
// false if some need cannot be served.
func (a *Assigner) settle() (left int, ok bool) {
	still := a.open[:0]
	for _, n := range a.open {
		free, to := false, n.from
		for _, o := range a.options[n.from:n.to] {
			free = free || o.cell == none
			if a.least(o.cell) >= n.size {
				a.options[to] = o
				to++
			}
		}
		n.to = to
		switch choices := int(to - n.from); {
		case free:
		case choices == 0:
			return 0, false
		case choices == 1:
			at := a.options[n.from].cell
			if a.take(at, n.left*n.size); a.least(at) < 0 {
				return 0, false
			}
		default:
			still, left = append(still, n), left+choices
		}
	}
	a.open = still
	return left, true
}

// group sorts the open needs by component and from the largest size down, and
// merges those that are equal. The order is that of queues and cards, so that a
// search takes the same course whatever the order of the call.
func (a *Assigner) group() {
	for _, n := range a.open {
		options := a.options[n.from:n.to]
		slices.SortFunc(options, a.byCell)
		for _, o := range options {
			for at := o.cell; at != none; at = a.cells[at].above {
				a.unite(at, options[0].cell)
			}
		}
	}
	for i := range a.open {
		a.open[i].component = a.component(a.options[a.open[i].from].cell)
	}
	slices.SortFunc(a.open, a.byComponent)
	merged := a.open[:0]
	for _, n := range a.open {
		if last := len(merged) - 1; last >= 0 && a.byComponent(merged[last], n) == 0 {
			merged[last].left += n.left
		} else {
			merged = append(merged, n)
		}
	}
	a.open = merged
}

func (a *Assigner) byCell(x, y option) int {
	return cmp.Compare(a.cells[x.cell].slot, a.cells[y.cell].slot)
}

func (a *Assigner) byComponent(x, y need) int {
	if x.component != y.component {
		return cmp.Compare(a.cells[x.component].slot, a.cells[y.component].slot)
	}
	if x.size != y.size {
		return cmp.Compare(y.size, x.size)
	}
	return slices.CompareFunc(a.options[x.from:x.to], a.options[y.from:y.to], a.byCell)
}

// unite makes one component of those of two cells; the first cell stands for it.
func (a *Assigner) unite(x, y int32) {
	x, y = a.component(x), a.component(y)
	if a.cells[x].slot > a.cells[y].slot {
		x, y = y, x
	}
	a.cells[y].component = x
}

// component returns the cell that stands for the component of a cell.
func (a *Assigner) component(at int32) int32 {
	for a.cells[at].component != at {
		a.cells[at].component = a.cells[a.cells[at].component].component
		at = a.cells[at].component
	}
	return at
}

// serve decides one component.
func (a *Assigner) serve(needs []need) bool {
	a.build(needs)
	looked := a.net.looked
	if !a.flow(needs) {
		return false
	}
	a.net.looked = looked
	return a.search(needs)
}

// build makes the network of a component. It goes backward, since what is joined
// last is tried first, and the large pods should be.
func (a *Assigner) build(needs []need) {
	a.net.reset()
	a.entered = a.entered[:0]
	for i := range slices.Backward(needs) {
		n := &needs[i]
		node := a.net.node()
		n.arc = a.net.join(source, node)
		for j := n.to - 1; j >= n.from; j-- {
			o := &a.options[j]
			o.most, o.arc = n.left, a.net.join(node, a.enter(o.cell))
		}
	}
}

// enter returns the node of a cell. The first time it makes it, and those above.
func (a *Assigner) enter(at int32) int32 {
	if at == none {
		return sink
	}
	c := &a.cells[at]
	if c.node == none {
		c.node = a.net.node()
		c.arc = a.net.join(c.node, a.enter(c.above))
		a.entered = append(a.entered, at)
	}
	return c.node
}

// flow answers whether the pods that are left could be served if they could be
// split. Sizes join from the largest down; each that does not fit into the unit
// of those before waits until they have been served without it, in rooms that
// are rounded down further.
func (a *Assigner) flow(needs []need) bool {
	for i := range a.net.arcs {
		a.net.arcs[i].left = 0
	}
	for _, at := range a.entered {
		a.cells[at].unit = 0
	}
	unit, due := 0.0, 0.0
	for i := range needs {
		n := &needs[i]
		if n.left == 0 {
			continue
		}
		if unit > 0 && rest(n.size, unit) > 0 {
			if a.net.augment(source, sink, due) < due {
				return false
			}
			due = 0
		}
		unit = gcd(unit, n.size)
		due += n.left * n.size
		a.offer(n)
	}
	return a.net.augment(source, sink, due) == due
}

// offer opens the network to a need.
func (a *Assigner) offer(n *need) {
	arcs := a.net.arcs
	arcs[n.arc].left = n.left * n.size
	for _, o := range a.options[n.from:n.to] {
		pods := min(o.most, math.Floor(a.least(o.cell)/n.size))
		if pods == 0 {
			continue
		}
		arcs[o.arc].left = pods * n.size
		for at := o.cell; at != none; at = a.cells[at].above {
			c := &a.cells[at]
			c.unit = gcd(c.unit, n.size)
			arcs[c.arc].left = c.room - rest(c.room, c.unit) - arcs[c.arc^1].left
		}
	}
}

// rest is what whole multiples of y leave of x. Below 2^53 the quotient is never
// rounded up to a whole number.
func rest(x, y float64) float64 { return x - y*math.Floor(x/y) }

// gcd is the greatest common divisor; that of 0 and y is y.
func gcd(x, y float64) float64 {
	for x != 0 {
		x, y = rest(y, x), x
	}
	return y
}

// search answers whether there is an assignment, given that there is a flow.
func (a *Assigner) search(needs []need) bool {
	n, o := a.split(needs)
	if n == nil {
		return true
	}
	if a.net.looked > budget {
		return false
	}
	pods, most := math.Ceil(a.net.arcs[o.arc^1].left/n.size), o.most
	if !a.shift(n, o, pods*n.size) {
		o.most = pods - 1
		found := a.shift(n, o, o.most*n.size) && a.search(needs)
		o.most = most
		return found
	}
	a.place(n, o, pods)
	found := a.search(needs)
	n.left += pods
	a.take(o.cell, -pods*n.size)
	if !found && a.net.looked <= budget {
		o.most = pods - 1
		found = a.flow(needs) && a.search(needs)
	}
	o.most = most
	return found
}

// split returns a need of the largest size that the flow splits a pod of, and
// the option that has most of it.
func (a *Assigner) split(needs []need) (n *need, most *option) {
	for i := range needs {
		n, part := &needs[i], 0.0
		for j := n.from; j < n.to; j++ {
			o := &a.options[j]
			if p := rest(a.net.arcs[o.arc^1].left, n.size); p > part {
				most, part = o, p
			}
		}
		if part > 0 {
			return n, most
		}
	}
	return nil, nil
}

// shift makes an option carry an amount. What it lacks is sent from its cell
// back to the need, what it has too much the other way, and either moves other
// pods out of the way. It reports false if they cannot be moved.
func (a *Assigner) shift(n *need, o *option, amount float64) bool {
	forth, back := &a.net.arcs[o.arc], &a.net.arcs[o.arc^1]
	sent := back.left
	forth.left, back.left = 0, 0
	if sent < amount {
		sent += a.net.augment(forth.to, back.to, amount-sent)
	} else {
		sent -= a.net.augment(back.to, forth.to, sent-amount)
	}
	forth.left, back.left = o.most*n.size-sent, sent
	return sent == amount
}

// place takes pods that an option carries for granted, out of the network.
func (a *Assigner) place(n *need, o *option, pods float64) {
	arcs, amount := a.net.arcs, pods*n.size
	n.left, o.most = n.left-pods, o.most-pods
	a.take(o.cell, amount)
	arcs[n.arc^1].left -= amount
	arcs[o.arc^1].left -= amount
	for at := o.cell; at != none; at = a.cells[at].above {
		arcs[a.cells[at].arc^1].left -= amount
	}
}
