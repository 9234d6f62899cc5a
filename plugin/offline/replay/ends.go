package replay

import (
	"cmp"
	"container/heap"
	"time"
)

// end is the end of a pod, in one of its lives.
type end struct {
	at   time.Duration
	made int // a counter: of two ends at one time, the pod that started first ends first
	pod  *pod
	life int
}

// ends are the ends in the future.
type ends struct {
	made int
	heap endHeap
}

func (e *ends) push(next end) {
	next.made = e.made
	e.made++
	heap.Push(&e.heap, next)
}

func (e *ends) pop() end { return heap.Pop(&e.heap).(end) }

// next returns the time of the next end, never for none.
func (e *ends) next() time.Duration {
	if len(e.heap) == 0 {
		return never
	}
	return e.heap[0].at
}

// endHeap implements heap.Interface.
type endHeap []end

func (h endHeap) Len() int { return len(h) }
func (h endHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].made, h[j].made)) < 0
}
func (h endHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)   { *h = append(*h, x.(end)) }
func (h *endHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
