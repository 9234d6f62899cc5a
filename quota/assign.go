package quota

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Assignable gives each pod of each need one card of its list, so that for every
// queue p and card c that something is assigned to
//
//	Σ assigned to c in p and below ≤ room = realCapability − allocated − inqueue + elastic
//
// Upstream has no such rule: it knows no lists of cards.
//
// # Words
//
//	need      pods of one size that may take the same cards; equal ones are one
//	cell      a queue and a card; above it is the cell of the queue's parent
//	room      what a cell can still take; a whole number, as all sizes are
//	option    a need and the lowest cell of one of its cards
//	tight     a cell that could be asked for more than its room
//
// # Method
//
// Most needs are settled without a choice: one card is left, or some card has
// room for all that could ever come. What remains falls apart into components
// that share no tight cell, and each is a flow from needs through cells up to
// the tops. A flow may split pods, so a flow that is too small refutes, and a
// large enough one that splits no pod is an assignment. With one size nothing
// is ever split, since rooms and sizes are counted in the same unit. With several
// the question is bin packing: a pod that is split is tried on the card and off
// it, the largest first, until the budget is used up.

// budget is how many arcs the search among mixed sizes may look at in one call:
// a few tens of milliseconds. The first flow of a component is not counted, so
// needs of one size are always decided.
const budget = 4 << 20

// passes bounds how often needs without a choice are looked for again. What is
// overlooked is left to the flow.
const passes = 8

// none is above the top.
const none int32 = -1

// Need is Count pods of one queue that each take Size of one card, any of Cards.
type Need struct {
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
	members []int32 // the cells of the component that is in the network
	net     network
}

type need struct {
	size, left float64 // left: pods that are not placed
	from, to   int32   // its options
	set        int32   // its component, by one of its cells
	arc        int32   // from the source
}

type option struct {
	cell int32
	arc  int32
	most float64 // pods that may take it; the search lowers it
}

type cell struct {
	slot, above int32
	room        float64
	asked       float64 // at most, by all open needs
	step        float64 // what is asked for is a multiple of it
	tight       int32   // the lowest tight cell from here up
	set         int32   // towards one cell of the component
	node, arc   int32   // arc: to the cell above
}

// Assignable answers whether all needs can be served at once. The answer is
// exact as long as quantities are below 2^53, with one exception: when the
// search among mixed sizes uses up its budget the answer is false. Then a job
// waits that could have been admitted, but no quota is ever exceeded.
func (a *Assigner) Assignable(ix *index.Index, needs []Need) bool {
	a.gather(ix, needs)
	for range passes {
		before := len(a.open)
		if !a.settle() {
			return false
		}
		a.loosen()
		if len(a.open) == before {
			break
		}
	}
	a.group()
	a.net.looked = 0
	for from, to := 0, 0; from < len(a.open); from = to {
		for to = from; to < len(a.open) && a.open[to].set == a.open[from].set; to++ {
		}
		if !a.serve(a.open[from:to]) {
			return false
		}
	}
	return true
}

// gather opens every need with an option for each of its cards.
func (a *Assigner) gather(ix *index.Index, needs []Need) {
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
			a.options = append(a.options, option{cell: a.cell(ix, n.Queue, d), most: pods})
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
	room, row := math.Inf(1), int(q)
	if bound := ix.RealCapability.Row(row).Get(d); bound < fastres.MaxQuantity {
		room = math.Floor(bound - ix.Allocated(q).Get(d) - ix.Inqueue.Row(row).Get(d) + ix.Elastic.Row(row).Get(d))
	}
	at := int32(len(a.cells))
	a.cells = append(a.cells, cell{slot: int32(slot), above: above, room: room, set: at, node: none})
	a.slots[slot] = at + 1
	return at
}

// settle drops the options that have no room for one pod, and places the needs
// that have one option left. It reports false if some need cannot be served.
func (a *Assigner) settle() bool {
	still := a.open[:0]
	for _, n := range a.open {
		to := n.from
		for _, o := range a.options[n.from:n.to] {
			if a.least(o.cell) >= n.size {
				a.options[to] = o
				to++
			}
		}
		switch n.to = to; to - n.from {
		case 0:
			return false
		case 1:
			at := a.options[n.from].cell
			if a.take(at, n.size*n.left); a.least(at) < 0 {
				return false
			}
		default:
			still = append(still, n)
		}
	}
	a.open = still
	return true
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

// loosen cuts the cells that are not tight out of the way, and drops the needs
// that have an option without any tight cell.
func (a *Assigner) loosen() {
	if len(a.open) == 0 {
		return
	}
	for i := range a.cells {
		a.cells[i].asked = 0
	}
	for _, n := range a.open {
		for _, o := range a.options[n.from:n.to] {
			a.cells[o.cell].asked += n.size * n.left
		}
	}
	for i, c := range slices.Backward(a.cells) {
		a.cells[i].tight = int32(i)
		if c.asked <= c.room {
			a.cells[i].tight = none
		}
		if c.above != none {
			// Room may be negative where nothing is asked for.
			a.cells[c.above].asked += min(c.asked, max(0, c.room))
		}
	}
	for i := range a.cells {
		c := &a.cells[i]
		if c.above != none {
			c.above = a.cells[c.above].tight
		}
		if c.tight == none {
			c.tight = c.above
		}
	}
	still := a.open[:0]
	for _, n := range a.open {
		free := false
		for i := n.from; i < n.to; i++ {
			a.options[i].cell = a.cells[a.options[i].cell].tight
			free = free || a.options[i].cell == none
		}
		if !free {
			still = append(still, n)
		}
	}
	a.open = still
}

// group sorts the open needs by component and, within one, from the largest
// size down, and merges those that are equal. The order is that of queues and
// cards, not that of the call, and so is the course of the search.
func (a *Assigner) group() {
	for _, n := range a.open {
		options := a.options[n.from:n.to]
		slices.SortFunc(options, func(x, y option) int { return cmp.Compare(a.cells[x.cell].slot, a.cells[y.cell].slot) })
		for _, o := range options {
			for at := o.cell; at != none; at = a.cells[at].above {
				a.unite(at, options[0].cell)
			}
		}
	}
	for i := range a.open {
		n := &a.open[i]
		n.set = a.find(a.options[n.from].cell)
	}
	slices.SortFunc(a.open, a.compare)
	merged := a.open[:0]
	for _, n := range a.open {
		if last := len(merged) - 1; last >= 0 && a.compare(merged[last], n) == 0 {
			merged[last].left += n.left
			continue
		}
		merged = append(merged, n)
	}
	a.open = merged
	for _, n := range a.open {
		for i := n.from; i < n.to; i++ {
			a.options[i].most = n.left
		}
	}
}

func (a *Assigner) compare(x, y need) int {
	if x.set != y.set {
		return cmp.Compare(a.cells[x.set].slot, a.cells[y.set].slot)
	}
	if x.size != y.size {
		return cmp.Compare(y.size, x.size)
	}
	return slices.CompareFunc(a.options[x.from:x.to], a.options[y.from:y.to], func(x, y option) int {
		return cmp.Compare(a.cells[x.cell].slot, a.cells[y.cell].slot)
	})
}

// unite makes the components of two cells one.
func (a *Assigner) unite(x, y int32) {
	x, y = a.find(x), a.find(y)
	if a.cells[x].slot > a.cells[y].slot {
		x, y = y, x
	}
	a.cells[y].set = x
}

// find returns the first cell of the component of at.
func (a *Assigner) find(at int32) int32 {
	for a.cells[at].set != at {
		a.cells[at].set = a.cells[a.cells[at].set].set
		at = a.cells[at].set
	}
	return at
}

// serve decides one component: its needs, from the largest size down.
func (a *Assigner) serve(needs []need) bool {
	a.build(needs)
	looked := a.net.looked
	if !a.flow(needs) {
		return false
	}
	a.net.looked = looked
	return a.search(needs)
}

// search answers whether there is an assignment, given that there is a flow.
func (a *Assigner) search(needs []need) bool {
	for i := range needs {
		n := &needs[i]
		for j := n.from; j < n.to; j++ {
			o := &a.options[j]
			pods := a.net.sent(o.arc) / n.size
			if pods == math.Floor(pods) {
				continue
			}
			if a.net.looked >= budget {
				return false
			}
			up, down, most := math.Ceil(pods), math.Floor(pods), o.most
			n.left, o.most = n.left-up, most-up
			a.take(o.cell, up*n.size)
			found := a.flow(needs) && a.search(needs)
			n.left += up
			a.take(o.cell, -up*n.size)
			if !found && a.net.looked < budget {
				o.most = down
				found = a.flow(needs) && a.search(needs)
			}
			o.most = most
			return found
		}
	}
	return true
}

// build makes the network of a component. It goes backward because what is
// joined last is tried first, and large pods are best placed first.
func (a *Assigner) build(needs []need) {
	a.members = a.members[:0]
	a.net.reset()
	for i := len(needs) - 1; i >= 0; i-- {
		n := &needs[i]
		node := a.net.node()
		n.arc = a.net.join(source, node)
		for j := n.to - 1; j >= n.from; j-- {
			a.options[j].arc = a.net.join(node, a.enter(a.options[j].cell))
		}
	}
}

// enter returns the node of a cell. The first time it makes it, and those above.
func (a *Assigner) enter(at int32) int32 {
	if at == none {
		return sink
	}
	if a.cells[at].node == none {
		above := a.enter(a.cells[at].above)
		c := &a.cells[at]
		c.node = a.net.node()
		c.arc = a.net.join(c.node, above)
		a.members = append(a.members, at)
	}
	return a.cells[at].node
}

// flow answers whether the pods that are left could be served if they could be
// split. Rooms are rounded down to what the sizes can use. Where a smaller size
// makes that finer, the larger ones must have fitted on their own before.
func (a *Assigner) flow(needs []need) bool {
	a.net.clear()
	for _, m := range a.members {
		a.cells[m].step = 0
	}
	unit, due := 0.0, 0.0
	for i := range needs {
		n := &needs[i]
		if n.left == 0 {
			continue
		}
		if unit > 0 && math.Mod(n.size, unit) != 0 {
			if a.fill() < due {
				return false
			}
			due = 0
		}
		unit = gcd(unit, n.size)
		due += n.left * n.size
		a.offer(n)
	}
	return a.fill() >= due
}

// offer opens the network to a need: whole pods, where there is room for them.
func (a *Assigner) offer(n *need) {
	a.net.arcs[n.arc].left = n.left * n.size
	for i := n.from; i < n.to; i++ {
		o := &a.options[i]
		pods := min(o.most, math.Floor(a.least(o.cell)/n.size))
		if pods <= 0 {
			continue
		}
		a.net.arcs[o.arc].left = pods * n.size
		for at := o.cell; at != none; at = a.cells[at].above {
			a.cells[at].step = gcd(a.cells[at].step, n.size)
		}
	}
}

// fill opens the cells as far as they can be used, and returns what flows more.
func (a *Assigner) fill() float64 {
	for _, m := range a.members {
		if c := &a.cells[m]; c.step > 0 {
			a.net.arcs[c.arc].left = c.room - math.Mod(c.room, c.step) - a.net.sent(c.arc)
		}
	}
	return a.net.augment()
}

// gcd is the greatest common divisor of two whole numbers; that of 0 and y is y.
func gcd(x, y float64) float64 {
	for x != 0 {
		x, y = math.Mod(y, x), x
	}
	return y
}

// network is a maximum flow by Dinic's method.
type network struct {
	arcs   []arc   // each with its reverse beside it
	first  []int32 // of each node, an arc that leaves it
	next   []int32 // of each node, the arc to be tried next
	level  []int32 // of each node, its distance from the source
	queue  []int32
	looked int // arcs looked at
}

// arc has left what can still flow; that of its reverse is what does flow.
type arc struct {
	left     float64
	to, next int32 // next: leaves the same node
}

const source, sink int32 = 0, 1

func (g *network) reset() {
	g.arcs, g.first = g.arcs[:0], append(g.first[:0], none, none)
}

func (g *network) node() int32 {
	g.first = append(g.first, none)
	return int32(len(g.first) - 1)
}

// join adds an arc that is closed, and returns its position.
func (g *network) join(from, to int32) int32 {
	at := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{to: to, next: g.first[from]}, arc{to: from, next: g.first[to]})
	g.first[from], g.first[to] = at, at+1
	return at
}

func (g *network) sent(at int32) float64 { return g.arcs[at^1].left }

// clear closes all arcs.
func (g *network) clear() {
	for i := range g.arcs {
		g.arcs[i].left = 0
	}
}

// augment makes the flow maximal, and returns by how much.
func (g *network) augment() float64 {
	sum := 0.0
	for g.reach() {
		g.next = append(g.next[:0], g.first...)
		sum += g.push(source, math.Inf(1))
	}
	return sum
}

// reach finds the distances, and whether more can flow.
func (g *network) reach() bool {
	g.level = append(g.level[:0], g.first...)
	for i := range g.level {
		g.level[i] = none
	}
	g.level[source] = 0
	g.queue = append(g.queue[:0], source)
	for i := 0; i < len(g.queue) && g.level[sink] == none; i++ {
		from := g.queue[i]
		for e := g.first[from]; e != none; e = g.arcs[e].next {
			g.looked++
			if to := g.arcs[e].to; g.arcs[e].left > 0 && g.level[to] == none {
				g.level[to] = g.level[from] + 1
				g.queue = append(g.queue, to)
			}
		}
	}
	return g.level[sink] != none
}

// push sends up to limit from a node along shortest paths.
func (g *network) push(from int32, limit float64) float64 {
	if from == sink {
		return limit
	}
	sum := 0.0
	for ; g.next[from] != none; g.next[from] = g.arcs[g.next[from]].next {
		g.looked++
		e := g.next[from]
		to := g.arcs[e].to
		if g.arcs[e].left <= 0 || g.level[to] != g.level[from]+1 {
			continue
		}
		sent := g.push(to, min(limit-sum, g.arcs[e].left))
		g.arcs[e].left -= sent
		g.arcs[e^1].left += sent
		if sum += sent; sum == limit {
			return sum
		}
	}
	return sum
}
