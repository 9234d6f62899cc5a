package quota

import "github.com/capacity-card/capacity-card/index"

// Jobs bounds the number of admitted jobs in a queue and in all queues below it (the annotation
// volcano.sh/max-jobs):
//
//	admitted + 1 ≤ most
//
// for the queue of a job and all its ancestors. admitted counts the jobs that are Inqueue or run. A lower bound ends
// no job: no further job is admitted until enough jobs have ended. The zero Jobs bounds nothing.
//
// # Example
//
// team may have 3 jobs, and its children train and serve may have 2 each.
//
//	admitted of train, serve   a job of   verdict
//	1, 1                       train      admitted: 2 ≤ 2, and 3 ≤ 3
//	2, 0                       train      refused at train: 3 > 2
//	2, 1                       serve      refused at team: 4 > 3
//
// A Jobs is used in one session, from Reset on, and its memory is kept for the next.
//
// Upstream: none.
type Jobs struct {
	tree     *index.Tree
	admitted []int // by queue, with the jobs of the queues below
	most     []int // by queue, 0 for no bound; empty: no queue has a bound
}

// Reset prepares j for a session, and reports whether any queue has a bound. own are the numbers of admitted jobs of
// the queues themselves. most returns the bound of a queue, 0 for none.
func (j *Jobs) Reset(t *index.Tree, own []int, most func(index.Queue) int) (found bool) {
	j.tree = t
	j.most = j.most[:0]
	for q := range index.Queue(t.Len()) {
		bound := most(q)
		j.most = append(j.most, bound)
		found = found || bound > 0
	}
	if !found {
		j.most = j.most[:0]
		return false
	}

	j.admitted = append(j.admitted[:0], own...)
	for q := index.Queue(len(j.admitted)) - 1; q >= 0; q-- {
		if p := t.Parent(q); p != index.None {
			j.admitted[p] += j.admitted[q]
		}
	}
	return true
}

// Fits decides whether one more job of q is admitted. A refusal has the reason TooManyJobs
// and the lowest queue with an exceeded bound.
func (j *Jobs) Fits(q index.Queue) Verdict {
	if len(j.most) == 0 {
		return Verdict{Admitted, q}
	}

	for _, p := range j.tree.Path(q) {
		if j.most[p] > 0 && j.Numbers(p).Exceeded() {
			return Verdict{TooManyJobs, p}
		}
	}

	return Verdict{Admitted, q}
}

// Count adds n admitted jobs of q: 1, or -1 to take one back.
func (j *Jobs) Count(q index.Queue, n int) {
	if len(j.most) == 0 {
		return
	}

	for _, p := range j.tree.Path(q) {
		j.admitted[p] += n
	}
}

// Numbers returns the two sides that Fits compares in one queue with a bound.
func (j *Jobs) Numbers(q index.Queue) Numbers {
	return Numbers{float64(j.admitted[q] + 1), float64(j.most[q])}
}
