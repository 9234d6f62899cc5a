package assign

// none is no arc, no node, and the cell above a top cell.
const none int32 = -1

// The nodes that every network has.
const source, sink int32 = 0, 1

// network is the residual graph of a flow network. It computes maximum flows by Dinic's method. Quantities are
// milli-cards.
//
// Arcs e and e^1 are each other's reverse. The capacity of e is residual(e) + flow(e), and flow(e) = residual(e^1).
type network struct {
	arcs    []arc
	first   []int32 // node → the first arc that leaves it
	current []int32 // node → the arc that the blocking flow tries next
	level   []int32 // node → its distance in the level graph, none if it is not reached
	queue   []int32 // of the breadth-first search
	visited int     // arcs visited since the last reset of the counter
}

// arc is an arc of the residual graph.
type arc struct {
	residual float64 // residual capacity
	to       int32
	next     int32 // the next arc that leaves the same node
}

// reset removes everything but the source and the sink.
func (g *network) reset() {
	g.arcs = g.arcs[:0]
	g.first = append(g.first[:0], none, none)
}

func (g *network) addNode() int32 {
	g.first = append(g.first, none)
	return int32(len(g.first) - 1)
}

// addArc adds an arc and its reverse, both without capacity.
func (g *network) addArc(from, to int32) int32 {
	at := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{to: to, next: g.first[from]}, arc{to: from, next: g.first[to]})
	g.first[from] = at
	g.first[to] = at + 1
	return at
}

// augment increases the flow between two nodes by at most limit, and returns the increase. The flow is maximum if the
// result is less than limit.
func (g *network) augment(from, to int32, limit float64) float64 {
	sent := 0.0
	for sent < limit && g.buildLevels(from, to) {
		g.current = append(g.current[:0], g.first...)
		sent += g.blockingFlow(from, to, limit-sent)
	}
	return sent
}

// buildLevels builds the level graph, as far as node to, and reports whether to is reached.
func (g *network) buildLevels(from, to int32) bool {
	g.level = append(g.level[:0], g.first...)
	for i := range g.level {
		g.level[i] = none
	}
	g.level[from] = 0

	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue) && g.level[to] == none; i++ {
		at := g.queue[i]
		for e := g.first[at]; e != none; e = g.arcs[e].next {
			g.visited++
			if a := g.arcs[e]; a.residual > 0 && g.level[a.to] == none {
				g.level[a.to] = g.level[at] + 1
				g.queue = append(g.queue, a.to)
			}
		}
	}

	return g.level[to] != none
}

// blockingFlow sends at most limit along paths of the level graph, and returns the amount. If it is less than limit,
// every path from node from has a saturated arc.
func (g *network) blockingFlow(from, to int32, limit float64) float64 {
	if from == to {
		return limit
	}

	sent := 0.0
	for e := g.current[from]; e != none; e = g.arcs[e].next {
		g.current[from] = e
		g.visited++
		a := g.arcs[e]
		if a.residual <= 0 || g.level[a.to] != g.level[from]+1 {
			continue
		}

		more := g.blockingFlow(a.to, to, min(limit-sent, a.residual))
		g.arcs[e].residual -= more
		g.arcs[e^1].residual += more
		sent += more
		if sent >= limit {
			return sent
		}
	}

	g.current[from] = none
	return sent
}
