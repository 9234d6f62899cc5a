package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Pending holds the requests of the pending tasks of each queue, for the order of queues
// where reclaim is damped. Of two tasks that request the same dimensions, one may request
// no more of any than the other. Then the other is dropped: a queue that deserves it
// deserves the first as well.
//
// A Pending is used in one session, from Reset on, and its memory is kept for the next.
type Pending struct {
	rows fastres.Rows
	of   [][]int // queue → rows
}

// mostRequests is the number of requests that are kept for a queue. Random sizes leave a
// dozen. A tenant can make up any number, which must not slow down the session.
const mostRequests = 128

// Reset forgets all tasks, for a session with the accounts ix.
func (p *Pending) Reset(ix *index.Index) {
	p.rows.Reset(0, ix.Dims())
	p.of = slices.Grow(p.of[:0], ix.Len())[:ix.Len()]
	for q := range p.of {
		p.of[q] = p.of[q][:0]
	}
}

// Add adds the request of a pending task of q.
func (p *Pending) Add(q index.Queue, request fastres.Vector) {
	for _, row := range p.of[q] {
		if covers(p.rows.Row(row), request) {
			return
		}
	}
	p.of[q] = slices.DeleteFunc(p.of[q], func(row int) bool { return covers(request, p.rows.Row(row)) })
	if len(p.of[q]) < mostRequests {
		p.of[q] = append(p.of[q], p.rows.Append(request))
	}
}

// Len returns the number of requests of q.
func (p *Pending) Len(q index.Queue) int { return len(p.of[q]) }

// covers reports whether x and y request the same dimensions, and x no more than y.
func covers(x, y fastres.Vector) bool {
	for d := range x.Requested() {
		if x.Get(d) > y.Get(d) {
			return false
		}
	}
	for d := range y.Requested() {
		if x.Get(d) <= 0 {
			return false
		}
	}
	return true
}

// claims reports whether the queue at the start of path deserves one of its pending tasks:
// the request fits under deserved in some dimension, and exceeds deserved of no queue of the
// path.
func (p *Pending) claims(ix *index.Index, path []index.Queue) bool {
	if len(path) == 0 {
		return false
	}
	q := path[0]
	return slices.ContainsFunc(p.of[q], func(row int) bool {
		request := p.rows.Row(row)
		return fastres.FitsSomewhere(ix.Allocated(q), request, ix.Deserved.Row(q)) && !slices.ContainsFunc(path, func(above index.Queue) bool {
			return fastres.ExceedsWith(ix.Allocated(above), request, ix.Deserved.Row(above))
		})
	})
}
