package oracle

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is a running task that may be evicted.
type Candidate struct {
	Name, Queue, Job                     string
	AboveSoft                            bool // its queue is above its soft quota
	QueuePriority, JobPriority, Priority int32
	Spare                                int   // tasks of the job above its minimum, below 0 if it is broken
	Ran, JobRan                          int64 // what is lost of the task, and of all tasks of its job, as Unsaved has it
}

// Unsaved returns the work that a pod loses, in seconds (docs/policies.md, checkpoint-time). start is nil for a pod that the kubelet has
// not started. A text that is no time is none.
func Unsaved(start *time.Time, now time.Time, checkpoints ...string) int64 {
	if start == nil {
		return 0
	}
	since := *start
	for _, text := range checkpoints {
		for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
			if at, err := time.Parse(layout, text); err == nil && at.After(since) {
				since = at
			}
		}
	}
	if since.After(now) {
		return 0
	}
	return int64(now.Sub(since) / time.Second)
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
			return cmp.Or(o.compareRank(to, x, y), cmp.Compare(lost(x), lost(y)), cmp.Compare(x.Name, y.Name))
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

// CompareLosses compares the victims on two nodes for a reclaimer of the queue to: negative where
// less is lost with x.
func (o *Oracle) CompareLosses(to string, x, y []Candidate) int {
	if min(len(x), len(y)) == 0 {
		return cmp.Compare(len(x), len(y))
	}
	rank := func(x, y Candidate) int { return o.compareRank(to, x, y) }
	return cmp.Or(rank(slices.MaxFunc(x, rank), slices.MaxFunc(y, rank)), cmp.Compare(lostWith(x), lostWith(y)), cmp.Compare(len(x), len(y)))
}

// lostWith adds up the work that is lost with some victims, job by job.
func lostWith(victims []Candidate) (sum int64) {
	for len(victims) > 0 {
		first, ran, n := victims[0], int64(0), 0
		victims = slices.DeleteFunc(slices.Clone(victims), func(c Candidate) bool {
			if c.Job == first.Job {
				ran, n = ran+c.Ran, n+1
			}
			return c.Job == first.Job
		})
		if left := first.Spare - n; first.Spare >= 0 && left < 0 {
			ran = first.JobRan
		}
		if first.Spare >= 0 {
			sum += ran
		}
	}
	return sum
}

// compareRank compares two candidates by whether their queue is above its soft quota, by its distance, and by priority.
func (o *Oracle) compareRank(to string, x, y Candidate) int {
	nearer := 0
	if o.cluster.Root != "" && o.queues[to] != nil {
		nearer = o.VictimOrder(x.Queue, y.Queue, to)
	}
	soft := 0
	if x.AboveSoft && !y.AboveSoft {
		soft = -1
	} else if y.AboveSoft && !x.AboveSoft {
		soft = 1
	}
	return cmp.Or(soft, nearer, cmp.Compare(x.QueuePriority, y.QueuePriority), cmp.Compare(x.JobPriority, y.JobPriority),
		cmp.Compare(x.Priority, y.Priority))
}
