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
	QueuePriority int32
	JobPriority   int32
	Priority      int32  // of the task itself
	Job           string // the same for all tasks of a job
	Spare         int    // tasks that its job has above its minimum; below 0 the job is broken
	Started       int64  // when the task began to run; greater is later
	Name          string // decides between equal candidates
}

// OrderByWork returns the order in which candidates are evicted for a task of the queue to,
// as positions in candidates. The first one loses the least work:
//
//  1. in a tree, the queue that is nearer to the reclaimer's (VictimOrder)
//  2. the lower priority of the queue, then of the job, then of the task
//  3. a task of a broken job, one with fewer tasks than its minimum: the rest of the job
//     cannot work without what is lost already. A job that the eviction of the candidates
//     before it breaks counts as broken.
//  4. the task that began to run last
//
// # Example
//
// All tasks have the same queue and the same priority. Job a has two tasks and needs both,
// job b has three tasks and needs one.
//
//	task  started  evicted
//	b-2   12:00    1st       the youngest
//	a-1   11:00    2nd       it breaks a
//	a-0   8:00     3rd       a is broken
//	b-1   10:00    4th
//	b-0   9:00     5th
//
// Upstream: none. Volcano orders victims by queue, then by the reverse of the order in which
// it schedules jobs and tasks.
func OrderByWork(ix *index.Index, to index.Queue, candidates []Candidate) []int {
	rank := func(x, y int) int { return compareRank(ix, to, &candidates[x], &candidates[y]) }
	rest := make([]int, len(candidates))
	for i := range rest {
		rest[i] = i
	}
	slices.SortFunc(rest, func(x, y int) int {
		return cmp.Or(rank(x, y), cmp.Compare(candidates[y].Started, candidates[x].Started), cmp.Compare(candidates[x].Name, candidates[y].Name))
	})
	order, gone := make([]int, 0, len(rest)), map[string]int{}
	for len(rest) > 0 {
		next := 0
		for i, at := range rest {
			if rank(at, rest[0]) != 0 {
				break
			}
			if c := &candidates[at]; c.Spare-gone[c.Job] < 0 {
				next = i
				break
			}
		}
		at := rest[next]
		gone[candidates[at].Job]++
		order = append(order, at)
		rest = slices.Delete(rest, next, next+1)
	}
	return order
}

// compareRank compares two candidates by queue and priority, the steps 1 and 2 of
// OrderByWork.
func compareRank(ix *index.Index, to index.Queue, x, y *Candidate) int {
	nearer := 0
	if ix.Rooted() && to != index.None {
		nearer = VictimOrder(ix, x.Queue, y.Queue, to)
	}
	return cmp.Or(nearer, cmp.Compare(x.QueuePriority, y.QueuePriority),
		cmp.Compare(x.JobPriority, y.JobPriority), cmp.Compare(x.Priority, y.Priority))
}
