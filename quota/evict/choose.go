package evict

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Job is a job with pods that may be evicted.
type Job struct {
	QueuePriority, Priority int32
	// Spare is how many pods the job has above its minimum, and Roles the same for each of its roles that has one.
	// Below 0, the job is broken: it does no work.
	Spare int
	Roles map[string]int
	Kept  bool  // it may not be evicted as a whole
	Pods  []Pod // all that have a node
}

// Told is the work that a pod with notice loses: less than any. So the pods that have notice are chosen again until it
// is over.
const Told = -1

// Pod is a pod of a job.
type Pod struct {
	Name     string // decides between equal pods
	Role     string
	Priority int32
	Ran      int64     // for how long since its last checkpoint, 0 or more, or Told
	Fixed    bool      // it may not be evicted
	Frees    []float64 // of each excess; nil for nothing
}

// Unit has the pods that are evicted together: one that its job can spare, or all of a job.
type Unit struct {
	Job  int
	Pods []int // of the job

	whole         bool
	priority      int32
	loss          int64
	name          string
	queuePriority int32
	jobPriority   int32
}

// Choose returns what is evicted for some excesses, in the units of package fastres and all above 0, in the order of
// eviction:
//
//  1. the lower priority of the queue, then of the job, then of the pod. A whole job has the highest one of its pods.
//  2. the less work that is lost: for a pod that its job can spare, the time for which it has run since its last checkpoint. A job that
//     cannot spare a pod is evicted as a whole, and loses the sum for all pods, or nothing if it is broken.
//  3. the name of the pod, the first one of a whole job
//
// Units are added while there is an excess, each only if it frees something of it; a whole job takes the place of its
// pods that were added before. Then, from the last but one to the first, those are left out without which the others
// suffice. A job with a pod that may not be evicted gives only what it can spare. Where all units do not suffice, all
// that free something are returned.
func Choose(excess []float64, jobs []Job) []Unit {
	var units []Unit
	for j := range jobs {
		units = appendUnits(units, j, &jobs[j])
	}
	slices.SortFunc(units, compareUnits)
	c := choice{jobs: jobs, left: slices.Clone(excess)}
	for _, u := range units {
		c.consider(u)
	}
	return c.leastUnits()
}

// appendUnits appends the pods that a job can spare, and the whole job if it has others that free something.
func appendUnits(units []Unit, j int, job *Job) []Unit {
	var useful []int
	whole := Unit{Job: j, whole: true, queuePriority: job.QueuePriority, jobPriority: job.Priority}
	fixed := job.Kept
	for i, p := range job.Pods {
		fixed = fixed || p.Fixed
		if p.Frees != nil && !p.Fixed {
			useful = append(useful, i)
		}
		whole.Pods = append(whole.Pods, i)
		if i == 0 || p.Name < whole.name {
			whole.name = p.Name
		}
		if i == 0 || p.Priority > whole.priority {
			whole.priority = p.Priority
		}
		if job.Spare >= 0 {
			whole.loss += p.Ran
		}
	}
	slices.SortFunc(useful, func(x, y int) int {
		a, b := &job.Pods[x], &job.Pods[y]
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Ran, b.Ran), cmp.Compare(a.Name, b.Name))
	})
	spare := job.Spare
	roles := map[string]int{}
	some := false
	for _, i := range useful {
		p := &job.Pods[i]
		ofRole, bounded := job.Roles[p.Role]
		if spare <= 0 || bounded && roles[p.Role] >= ofRole {
			some = true
			continue
		}
		spare--
		roles[p.Role]++
		units = append(units, Unit{Job: j, Pods: []int{i}, queuePriority: job.QueuePriority, jobPriority: job.Priority,
			priority: p.Priority, loss: p.Ran, name: p.Name})
	}
	if some && !fixed {
		units = append(units, whole)
	}
	return units
}

func compareUnits(x, y Unit) int {
	byKind := 0
	if x.whole != y.whole {
		byKind = -1
		if x.whole {
			byKind = 1
		}
	}
	return cmp.Or(cmp.Compare(x.queuePriority, y.queuePriority), cmp.Compare(x.jobPriority, y.jobPriority),
		cmp.Compare(x.priority, y.priority), cmp.Compare(x.loss, y.loss), cmp.Compare(x.name, y.name), byKind)
}

// choice is the units that are evicted, and what is left of the excesses then, 0 or less for nothing.
type choice struct {
	jobs   []Job
	left   []float64
	chosen []Unit
}

// consider adds a unit if it frees something that is left.
func (c *choice) consider(u Unit) {
	own := func(of Unit) bool { return of.Job == u.Job }
	var had []int // pods of the job that are chosen
	for _, of := range c.chosen {
		if own(of) {
			had = append(had, of.Pods...)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(u.Pods), func(pod int) bool { return slices.Contains(had, pod) })
	if !c.relieves(u.Job, rest) {
		return
	}
	if u.whole {
		c.chosen = slices.DeleteFunc(c.chosen, own)
	}
	c.change(u.Job, rest, -1)
	c.chosen = append(c.chosen, u)
}

// relieves reports whether pods of a job free something that is left.
func (c *choice) relieves(job int, pods []int) bool {
	return slices.ContainsFunc(pods, func(pod int) bool {
		for i, amount := range c.jobs[job].Pods[pod].Frees {
			if amount > 0 && c.left[i] >= fastres.MinResource {
				return true
			}
		}
		return false
	})
}

// change adds what pods free to what is left, with a sign.
func (c *choice) change(job int, pods []int, sign float64) {
	for _, pod := range pods {
		for i, amount := range c.jobs[job].Pods[pod].Frees {
			c.left[i] += sign * amount
		}
	}
}

// leastUnits returns the units without those that the others suffice without.
func (c *choice) leastUnits() []Unit {
	for i := len(c.chosen) - 2; i >= 0; i-- {
		before, u := slices.Clone(c.left), c.chosen[i]
		c.change(u.Job, u.Pods, 1)
		for d := range c.left {
			if c.left[d] >= fastres.MinResource && c.left[d] > before[d] {
				copy(c.left, before)
				u.Pods = nil
				break
			}
		}
		if u.Pods != nil {
			c.chosen = slices.Delete(c.chosen, i, i+1)
		}
	}
	return c.chosen
}
