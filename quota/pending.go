package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Pending holds the possible charges of the pending tasks of each queue, for the order of queues
// with reclaimCompares: damped=N. A task with a list of cards has several choices.
//
// Tasks that other tasks cover are dropped. A task covers another task if it requests the same
// dimensions, and no more of any, and has room wherever the other task has room. A queue that
// deserves the other task then deserves this one as well. Among tasks with several choices, only
// equal tasks are dropped: a larger task may have fewer choices left, and so comes first.
//
// A Pending is used in one session, from Reset on, and its memory is kept for the next.
type Pending struct {
	names *index.Names
	rows  fastres.Rows
	used  int             // rows
	tasks [][]pendingTask // by queue
}

// pendingTask is the choices of a task: n rows from the row first on. number is given to Add.
type pendingTask struct{ first, n, number int }

// mostTasks is the largest number of tasks that are kept for a queue. Random sizes leave a dozen.
// But a tenant can make up any number, which must not slow down the session.
const mostTasks = 128

// Reset forgets all tasks, for a session with the accounts ix. names has the dimensions of ix.
func (p *Pending) Reset(ix *index.Index, names *index.Names) {
	// The memory of one huge session is not kept.
	if p.rows.Len() == 0 || p.rows.Row(0).Len() != ix.Dims() || p.rows.Len() > 8*(p.used+1024) {
		p.rows.Reset(0, ix.Dims())
	}

	p.names = names
	p.used = 0
	p.tasks = slices.Grow(p.tasks[:0], ix.Len())[:ix.Len()]
	for q := range p.tasks {
		p.tasks[q] = p.tasks[q][:0]
	}
}

// Add adds a pending task of q with its choices. number identifies it to Keep and fits. fits reports
// whether task x has room for each choice wherever task y has room for it.
func (p *Pending) Add(q index.Queue, choices *fastres.Rows, number int, fits func(x, y int) bool) {
	t := pendingTask{p.used, choices.Len(), number}
	for i := range choices.Len() {
		if p.used < p.rows.Len() {
			p.rows.Row(p.used).CopyFrom(choices.Row(i))
		} else {
			p.rows.Append(choices.Row(i))
		}

		p.used++
	}

	covers := func(x, y pendingTask) bool {
		if !p.covers(x, y) || !fits(x.number, y.number) {
			return false
		}
		return x.n == 1 || p.covers(y, x) && fits(y.number, x.number)
	}
	if slices.ContainsFunc(p.tasks[q], func(other pendingTask) bool { return covers(other, t) }) {
		p.used = t.first
		return
	}

	p.tasks[q] = slices.DeleteFunc(p.tasks[q], func(other pendingTask) bool { return covers(t, other) })
	if len(p.tasks[q]) == mostTasks {
		p.used = t.first
		return
	}

	p.tasks[q] = append(p.tasks[q], t)
}

// Keep drops the choices of tasks that are not possible.
func (p *Pending) Keep(possible func(number, choice int) bool) {
	for q, tasks := range p.tasks {
		p.tasks[q] = tasks[:0]
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
				p.tasks[q] = append(p.tasks[q], t)
			}
		}
	}
}

// Len returns the number of tasks that are kept for q.
func (p *Pending) Len(q index.Queue) int { return len(p.tasks[q]) }

// covers reports whether each choice of x requests the same dimensions as the same choice of y, and
// no more of any.
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
	borrows     reclaim = iota // for no task
	mayReclaim                 // for a task that may also borrow, with another choice of cards
	mustReclaim                // for a task that cannot borrow
)

// reclaimOf returns whether the queue at the start of path can reclaim. The queues of path count.
func (p *Pending) reclaimOf(ix *index.Index, path []index.Queue) reclaim {
	if len(path) == 0 {
		return borrows
	}

	best := borrows
	for _, t := range p.tasks[path[0]] {
		some := false
		all := true
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

// deserves reports whether a request fits under deserved of the queue at the start of path, in some
// dimension and in all cards. It must not exceed deserved of any queue of path.
func (p *Pending) deserves(ix *index.Index, path []index.Queue, request fastres.Vector) bool {
	q := path[0]
	for d := range request.Requested() {
		if p.names.IsCard(d) && ix.Deserved.At(q, d) <= 0 && !p.names.IsGroup(d) {
			return false
		}
	}

	exceeds := func(p index.Queue) bool {
		return fastres.ExceedsWith(ix.Allocated(p), request, ix.Deserved.Row(p))
	}
	return fastres.FitsSomewhere(ix.Allocated(q), request, ix.Deserved.Row(q)) && !slices.ContainsFunc(path, exceeds)
}
