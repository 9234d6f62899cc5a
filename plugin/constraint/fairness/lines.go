package fairness

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// line has the turns of some children of a queue in their order: of its inner children, or of its leaves with one
// priority.
type line struct {
	inner    bool
	priority int32
	turns    []place
	sums     []float64 // by turn and column: the sum of the requests up to this turn
}

// place is the next turn of a queue, after a number of others.
type place struct {
	of    index.Queue
	after float64
	rank  rank
}

// makeLines returns the lines of the children of p.
func (t *startTags) makeLines(o *order, p index.Queue) []line {
	lines := []line{}
	for s := t.queues[p].child; s != index.None; s = t.queues[s].next {
		if t.queues[s].passed || t.queues[s].turns == 0 {
			continue
		}
		inner, priority := !t.tree.IsLeaf(s), o.priority(s)

		i := slices.IndexFunc(lines, func(l line) bool { return l.inner == inner && (inner || l.priority == priority) })
		if i < 0 {
			i, lines = len(lines), append(lines, line{inner: inner, priority: priority})
		}
		lines[i].turns = append(lines[i].turns, t.placeOf(o, s, 0))
	}

	for i := range lines {
		lines[i].turns, lines[i].sums = t.merge(o, lines[i].turns)
	}
	return lines
}

func (t *startTags) placeOf(o *order, s index.Queue, after float64) place {
	return place{s, after, t.rankWith(o, s, t.stepOf(s), after)}
}

func (t *startTags) stepOf(s index.Queue) []float64 { return t.step[int(s)*len(t.free):][:len(t.free)] }

// merge puts the turns of queues in their order, from the first one of each. It leaves out turns that request only
// cards that the turns before them have used up.
func (t *startTags) merge(o *order, first []place) (turns []place, sums []float64) {
	h := &places{first, func(x, y place) int { return cmp.Or(x.rank.compare(y.rank), t.tie(o, x.of, y.of)) }}

	sum := make([]float64, len(t.free))
	for heap.Init(h); h.Len() > 0; {
		next, useful := h.places[0], false
		for c, amount := range t.stepOf(next.of) {
			useful = useful || amount > 0 && sum[c] < t.free[c]
		}
		if !useful {
			heap.Pop(h)
			continue
		}

		for c, amount := range t.stepOf(next.of) {
			sum[c] += amount
		}
		turns, sums = append(turns, next), append(sums, sum...)

		if next.after+1 < t.queues[next.of].turns {
			h.places[0] = t.placeOf(o, next.of, next.after+1)
			heap.Fix(h, 0)
		} else {
			heap.Pop(h)
		}
	}
	return turns, sums
}

// places is a heap of the next turns of queues.
type places struct {
	places  []place
	compare func(x, y place) int
}

func (h *places) Len() int           { return len(h.places) }
func (h *places) Less(i, j int) bool { return h.compare(h.places[i], h.places[j]) < 0 }
func (h *places) Swap(i, j int)      { h.places[i], h.places[j] = h.places[j], h.places[i] }
func (h *places) Push(any)           {} // no queue comes later
func (h *places) Pop() any {
	h.places = h.places[:len(h.places)-1]
	return nil
}
