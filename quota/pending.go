package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Pending holds what the pending tasks of each queue can be charged, for the order of
// queues where reclaim is damped. A task with a list of cards has several choices.
//
// A task may request the same dimensions as another one, and no more of any, and have room
// wherever the other one has. Then the other one is dropped: a queue that deserves it
// deserves the first as well. Of tasks with several choices only equal ones are dropped: the
// larger one may have fewer choices left, and so comes first.
//
// A Pending is used in one session, from Reset on, and its memory is kept for the next.
type Pending struct {
	names *index.Names
	rows  fastres.Rows
	used  int             // rows
	of    [][]pendingTask // by queue
}

// pendingTask is the choices of a task: n rows.
type pendingTask struct{ first, n, number int }

// mostTasks is the number of tasks that are kept for a queue. Random sizes leave a dozen.
// A tenant can make up any number, which must not slow down the session.
const mostTasks = 128

// Reset forgets all tasks, for a session with the accounts ix, whose dimensions names has.
func (p *Pending) Reset(ix *index.Index, names *index.Names) {
	if p.rows.Len() == 0 || p.rows.Row(0).Len() != ix.Dims() || p.rows.Len() > 8*(p.used+1024) {
		p.rows.Reset(0, ix.Dims()) // one huge session does not keep its memory
	}
	p.names, p.used = names, 0
	p.of = slices.Grow(p.of[:0], ix.Len())[:ix.Len()]
	for q := range p.of {
		p.of[q] = p.of[q][:0]
	}
}

// Add adds a pending task of q with its choices. number is for Keep and fits. fits reports
// whether task x has room for each choice wherever task y has room for it.
func (p *Pending) Add(q index.Queue, choices *fastres.Rows, number int, fits func(x, y int) bool) {
	t := pendingTask{p.used, choices.Len(), number}
	for i := range choices.Len() {
		if x := choices.Row(i); p.used < p.rows.Len() {
			p.rows.Row(p.used).CopyFrom(x)
		} else {
			p.rows.Append(x)
		}
		p.used++
	}
	covers := func(x, y pendingTask) bool {
		return p.covers(x, y) && fits(x.number, y.number) && (x.n == 1 || p.covers(y, x) && fits(y.number, x.number))
	}
	if slices.ContainsFunc(p.of[q], func(other pendingTask) bool { return covers(other, t) }) {
		p.used = t.first
		return
	}
	p.of[q] = slices.DeleteFunc(p.of[q], func(other pendingTask) bool { return covers(t, other) })
	if len(p.of[q]) == mostTasks {
		p.used = t.first
		return
	}
	p.of[q] = append(p.of[q], t)
}

// Keep drops the choices of tasks that are not possible.
func (p *Pending) Keep(possible func(number, choice int) bool) {
	for q, tasks := range p.of {
		p.of[q] = tasks[:0]
		for _, t := range tasks {
			n := 0
			for i := range t.n {
				if possible(t.number, i) {
					p.rows.Row(t.first + n).CopyFrom(p.rows.Row(t.first + i))
					n++
				}
			}
			t.n = n
			if n > 0 {
				p.of[q] = append(p.of[q], t)
			}
		}
	}
}

// Len returns the number of tasks that are kept for q.
func (p *Pending) Len(q index.Queue) int { return len(p.of[q]) }

// covers reports whether each choice of x requests the same dimensions as that of y, and no
// more of any.
func (p *Pending) covers(x, y pendingTask) bool {
	if x.n != y.n {
		return false
	}
	for i := range x.n {
		if !covers(p.rows.Row(x.first+i), p.rows.Row(y.first+i)) {
			return false
		}
	}
	return true
}

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

// reclaim says whether a queue can reclaim for a pending task.
type reclaim int

const (
	borrows     reclaim = iota // for none
	mayReclaim                 // for one that may also borrow, with another choice of cards
	mustReclaim                // for one that cannot borrow
)

// reclaimOf returns whether the queue at the start of path can reclaim, where the queues of path
// count.
func (p *Pending) reclaimOf(ix *index.Index, path []index.Queue) reclaim {
	if len(path) == 0 {
		return borrows
	}
	best := borrows
	for _, t := range p.of[path[0]] {
		some, all := false, true
		for i := range t.n {
			request := p.rows.Row(t.first + i)
			deserves := p.deserves(ix, path, request)
			some = some || deserves
			all = all && (deserves || !Allocatable(ix, ix.Bounds(path[0]), path[0], request).OK())
		}
		switch {
		case some && all:
			return mustReclaim
		case some:
			best = mayReclaim
		}
	}
	return best
}

// deserves reports whether a request fits under deserved of the queue at the start of path
// in some dimension and in all cards, and exceeds deserved of no queue of path.
func (p *Pending) deserves(ix *index.Index, path []index.Queue, request fastres.Vector) bool {
	q := path[0]
	for d := range request.Requested() {
		if p.names.IsCard(d) && ix.Deserved.At(q, d) <= 0 && !p.names.IsGroup(d) {
			return false
		}
	}
	return fastres.FitsSomewhere(ix.Allocated(q), request, ix.Deserved.Row(q)) && !slices.ContainsFunc(path, func(above index.Queue) bool {
		return fastres.ExceedsWith(ix.Allocated(above), request, ix.Deserved.Row(above))
	})
}
