package oracle

import (
	"cmp"
	"slices"
)

// Candidate is a running task that may be evicted.
type Candidate struct {
	Name, Queue, Job                     string
	QueuePriority, JobPriority, Priority int32
	Spare                                int   // tasks of the job above its minimum, below 0 if it is broken
	Ran, JobRan                          int64 // of the task, and of all tasks of its job
}

// lost is the work that is lost with a candidate, less than any for one of a broken job.
func lost(c Candidate) int64 {
	return map[int]int64{-1: -1, 0: c.JobRan, 1: c.Ran}[cmp.Compare(c.Spare, 0)]
}

// OrderByWork orders candidates for a reclaimer of the queue to. It looks for the best one
// again and again: a job that loses tasks becomes broken.
func (o *Oracle) OrderByWork(to string, candidates []Candidate) (names []string) {
	rest := slices.Clone(candidates)
	for len(rest) > 0 {
		best := slices.MinFunc(rest, func(x, y Candidate) int {
			nearer := 0
			if o.cluster.Root != "" && o.queues[to] != nil {
				nearer = o.VictimOrder(x.Queue, y.Queue, to)
			}
			return cmp.Or(nearer, cmp.Compare(x.QueuePriority, y.QueuePriority), cmp.Compare(x.JobPriority, y.JobPriority),
				cmp.Compare(x.Priority, y.Priority), cmp.Compare(lost(x), lost(y)), cmp.Compare(x.Name, y.Name))
		})
		names = append(names, best.Name)
		rest = slices.DeleteFunc(rest, func(c Candidate) bool { return c.Name == best.Name })
		for i := range rest {
			if rest[i].Job == best.Job {
				rest[i].Spare--
			}
		}
	}
	return names
}
