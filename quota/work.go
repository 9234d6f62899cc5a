package quota

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// Candidate is a running task that may be evicted, with what decides how much work its
// eviction loses.
type Candidate struct {
	Queue         index.Queue
	First         bool // its queue loses before all others
	QueuePriority int32
	JobPriority   int32
	Priority      int32  // of the task itself
	Job           string // the same for all tasks of a job
	Spare         int    // tasks that its job has above its minimum; below 0 the job is broken
	Ran           int64  // for how long the task has run since its last checkpoint, 0 or more
	JobRan        int64  // the sum for all tasks of its job
	Name          string // decides between equal candidates
}

// broken is less than any work: the rest of a broken job cannot work without what it has lost.
const broken = -1

// loses returns the work that is lost with a candidate once its job has lost some other tasks.
func (c *Candidate) loses(others int) int64 {
	switch spare := c.Spare - others; {
	case spare < 0:
		return broken
	case spare == 0:
		return c.JobRan
	}
	return c.Ran
}

// OrderByWork returns the order in which candidates are evicted for a task of the queue to,
// as positions in candidates. The first one loses the least work:
//
//  0. a queue above its soft quota (VictimOrder of package constraint)
//  1. in a tree, the queue that is nearer to the reclaimer's (VictimOrder)
//  2. the lower priority of the queue, then of the job, then of the task
//  3. a task of a broken job, one with fewer tasks than its minimum. A job that the eviction
//     of the candidates before it breaks counts as broken.
//  4. the task with which the least work is lost: the time for which it has run or, if its
//     eviction breaks its job, the times of all tasks of the job
//
// # Example
//
// All tasks have the same queue and the same priority. Job a has two tasks and needs both,
// job b has three tasks and needs one.
//
//	task  ran  loses      evicted
//	b-2   1 h  1 h        1st      b can spare it
//	b-1   3 h  3 h        2nd      b can spare it
//	a-0   5 h  5 h + 2 h  3rd      it breaks a
//	a-1   2 h  nothing    4th      a is broken
//	b-0   4 h  8 h        5th      it breaks b, of which the other tasks count as well
//
// Upstream: none. Volcano orders victims by queue, then by the reverse of the order in which
// it schedules jobs and tasks.
func OrderByWork(ix *index.Index, to index.Queue, candidates []Candidate) []int {
	rank := func(x, y int) int { return compareRank(ix, to, &candidates[x], &candidates[y]) }
	rest := make([]int, len(candidates))
	for i := range rest {
		rest[i] = i
	}
	slices.SortFunc(rest, func(x, y int) int { return cmp.Or(rank(x, y), cmp.Compare(candidates[x].Name, candidates[y].Name)) })
	order, gone := make([]int, 0, len(rest)), map[string]int{}
	for len(rest) > 0 {
		next, least := 0, int64(0)
		for i, at := range rest {
			if rank(at, rest[0]) != 0 {
				break
			}
			if work := candidates[at].loses(gone[candidates[at].Job]); i == 0 || work < least {
				next, least = i, work
			}
		}
		at := rest[next]
		gone[candidates[at].Job]++
		order = append(order, at)
		rest = slices.Delete(rest, next, next+1)
	}
	return order
}

// CompareLosses compares what is lost with the victims on two nodes, x and y. The result is
// negative if less is lost with x:
//
//  1. no victims lose nothing
//  2. the last one in the steps 1 and 2 of OrderByWork goes before that of the other node: it is
//     of a nearer queue, or of a lower priority
//  3. the sum of the work that is lost: for each job, the times for which its victims have run;
//     if the job keeps less than its minimum, the times of all its tasks; if it was broken
//     before, nothing
//  4. the fewer victims
//
// # Example
//
// A job with two tasks that needs both has run for 1 h on two nodes. A pod alone has run for 3 h
// on a third one. Less is lost with one task of the job: 2 h. Then its other task is lost, and
// the node of that one is the next: nothing is lost with it.
//
// Upstream: none. Volcano takes the first node that it finds.
func CompareLosses(ix *index.Index, to index.Queue, x, y []Candidate) int {
	if len(x) == 0 || len(y) == 0 {
		return cmp.Compare(len(x), len(y))
	}
	rank := func(l, r Candidate) int { return compareRank(ix, to, &l, &r) }
	lastX, lastY := slices.MaxFunc(x, rank), slices.MaxFunc(y, rank)
	return cmp.Or(rank(lastX, lastY), cmp.Compare(lost(x), lost(y)), cmp.Compare(len(x), len(y)))
}

// lost returns the work that is lost with all of some candidates, step 3 of CompareLosses.
func lost(candidates []Candidate) (work int64) {
	victims, ran := map[string]int{}, map[string]int64{}
	for _, c := range candidates {
		victims[c.Job]++
		ran[c.Job] += c.Ran
	}
	for _, c := range candidates {
		switch n := victims[c.Job]; {
		case n == 0 || c.Spare < 0: // the job is counted already, or was broken before
		case n > c.Spare:
			work += c.JobRan
		default:
			work += ran[c.Job]
		}
		victims[c.Job] = 0
	}
	return work
}

// compareRank compares two candidates by queue and priority, the steps 1 and 2 of
// OrderByWork.
func compareRank(ix *index.Index, to index.Queue, x, y *Candidate) int {
	nearer := 0
	if ix.Rooted() && to != index.None {
		nearer = VictimOrder(ix, x.Queue, y.Queue, to)
	}
	losesFirst := 0
	if x.First != y.First {
		losesFirst = first(x.First)
	}
	return cmp.Or(losesFirst, nearer, cmp.Compare(x.QueuePriority, y.QueuePriority),
		cmp.Compare(x.JobPriority, y.JobPriority), cmp.Compare(x.Priority, y.Priority))
}
