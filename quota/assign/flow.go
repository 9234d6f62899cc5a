package assign

// none is no arc and no node; in assign.go, what is above the top.
const none int32 = -1

// network is a maximum flow by Dinic's method.
type network struct {
	arcs   []arc   // each with its reverse beside it
	first  []int32 // of each node, an arc that leaves it
	next   []int32 // of each node, the arc to be tried next
	level  []int32 // of each node, how far it is
	queue  []int32
	looked int // arcs looked at
}

// arc has left what can still flow. What is left of its reverse does flow.
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

func (g *network) join(from, to int32) int32 {
	at := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{to: to, next: g.first[from]}, arc{to: from, next: g.first[to]})
	g.first[from], g.first[to] = at, at+1
	return at
}

// augment sends up to limit from one node to another, and returns how much.
func (g *network) augment(from, to int32, limit float64) float64 {
	sent := 0.0
	for sent < limit && g.reach(from, to) {
		g.next = append(g.next[:0], g.first...)
		sent += g.push(from, to, limit-sent)
	}
	return sent
}

// reach finds how far nodes are, up to one that it looks for.
func (g *network) reach(from, to int32) bool {
	g.level = append(g.level[:0], g.first...)
	for i := range g.level {
		g.level[i] = none
	}
	g.level[from] = 0
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue) && g.level[to] == none; i++ {
		at := g.queue[i]
		for e := g.first[at]; e != none; e = g.arcs[e].next {
			g.looked++
			if a := g.arcs[e]; a.left > 0 && g.level[a.to] == none {
				g.level[a.to] = g.level[at] + 1
				g.queue = append(g.queue, a.to)
			}
		}
	}
	return g.level[to] != none
}

// push sends up to limit along shortest paths.
func (g *network) push(from, to int32, limit float64) float64 {
	if from == to {
		return limit
	}
	sent := 0.0
	for e := g.next[from]; e != none; e = g.arcs[e].next {
		g.next[from] = e
		g.looked++
		if a := g.arcs[e]; a.left > 0 && g.level[a.to] == g.level[from]+1 {
			more := g.push(a.to, to, min(limit-sent, a.left))
			g.arcs[e].left -= more
			g.arcs[e^1].left += more
			if sent += more; sent >= limit {
				return sent
			}
		}
	}
	g.next[from] = none
	return sent
}
