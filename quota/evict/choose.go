package evict

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Job is a job with pods that may be evicted.
type Job struct {
	QueuePriority, Priority int32

	// Spare is the number of pods above the minimum. Below 0, the job is broken: it does no work.
	Spare int

	// Roles is the number of pods above the minimum of each role that has a minimum.
	Roles map[string]int

	Kept bool  // it may not be evicted as a whole
	Pods []Pod // all pods with a node
}

// Told is the work that a pod with notice loses: less than any other pod. So the same pods are chosen again until their
// notice ends.
const Told = -1

// Pod is a pod of a job.
type Pod struct {
	Name     string // decides between equal pods
	Role     string
	Priority int32
	Ran      int64     // the time since its last checkpoint, 0 or more, or Told
	Fixed    bool      // it may not be evicted
	Frees    []float64 // of each excess; nil for nothing
}

// Unit has the pods that are evicted together: one pod that its job can spare, or all pods of a job.
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

// Choose returns the units to evict for some excesses, in the order of eviction. The excesses are in the units of
// package fastres, and all above 0. Units are ordered by:
//
//  1. the lower priority of the queue, then of the job, then of the pod; a whole job has its highest pod priority
//  2. the less lost work: the time that the pod has run since its last checkpoint
//  3. the name of the pod; a whole job has the first name of its pods
//
// A job that cannot spare a pod is evicted as a whole. It loses the sum of the work of all pods, or nothing if the
// job is broken. A job with a pod that may not be evicted gives only pods that it can spare.
//
// Units are added while there is an excess. Each of them frees a part of it. A whole job takes the place of its pods
// that were added before. Then, from the last but one to the first, units that are not needed are left out. If all
// units together do not suffice, Choose returns all useful units.
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

// appendUnits appends the pods that a job can spare. If other pods are useful too, it also appends the whole job.
func appendUnits(units []Unit, j int, job *Job) []Unit {
	spare := job.Spare
	roles := map[string]int{}
	needsWhole := false
	for _, i := range usefulPods(job) {
		p := &job.Pods[i]
		ofRole, bounded := job.Roles[p.Role]
		if spare <= 0 || bounded && roles[p.Role] >= ofRole {
			needsWhole = true
			continue
		}

		spare--
		roles[p.Role]++
		units = append(units, Unit{
			Job:           j,
			Pods:          []int{i},
			queuePriority: job.QueuePriority,
			jobPriority:   job.Priority,
			priority:      p.Priority,
			loss:          p.Ran,
			name:          p.Name,
		})
	}

	isFixed := func(p Pod) bool { return p.Fixed }
	if needsWhole && !job.Kept && !slices.ContainsFunc(job.Pods, isFixed) {
		units = append(units, wholeJob(j, job))
	}

	return units
}

// usefulPods returns the pods that free something and may be evicted, in the order of eviction.
func usefulPods(job *Job) (useful []int) {
	for i, p := range job.Pods {
		if p.Frees != nil && !p.Fixed {
			useful = append(useful, i)
		}
	}
	slices.SortFunc(useful, func(x, y int) int {
		a := &job.Pods[x]
		b := &job.Pods[y]
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Ran, b.Ran), cmp.Compare(a.Name, b.Name))
	})

	return useful
}

// wholeJob returns the unit of all pods of a job.
func wholeJob(j int, job *Job) Unit {
	whole := Unit{Job: j, whole: true, queuePriority: job.QueuePriority, jobPriority: job.Priority}
	for i, p := range job.Pods {
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

	return whole
}

func compareUnits(x, y Unit) int {
	// A single pod goes before a whole job.
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

// choice is the chosen units, and the excesses that remain without them. A remaining excess may be 0 or less.
type choice struct {
	jobs   []Job
	left   []float64
	chosen []Unit
}

// consider adds a unit if it frees a part of the remaining excess.
func (c *choice) consider(u Unit) {
	ofJob := func(other Unit) bool { return other.Job == u.Job }
	var evicted []int // pods of the job
	for _, other := range c.chosen {
		if ofJob(other) {
			evicted = append(evicted, other.Pods...)
		}
	}

	isEvicted := func(pod int) bool { return slices.Contains(evicted, pod) }
	rest := slices.DeleteFunc(slices.Clone(u.Pods), isEvicted)
	if !c.relieves(u.Job, rest) {
		return
	}

	if u.whole {
		c.chosen = slices.DeleteFunc(c.chosen, ofJob)
	}
	c.change(u.Job, rest, -1)
	c.chosen = append(c.chosen, u)
}

// relieves reports whether pods of a job free a part of the remaining excess.
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

// change adds the resources of pods to the remaining excess, or subtracts them if sign is -1.
func (c *choice) change(job int, pods []int, sign float64) {
	for _, pod := range pods {
		for i, amount := range c.jobs[job].Pods[pod].Frees {
			c.left[i] += sign * amount
		}
	}
}

// leastUnits returns the chosen units without units that are not needed.
func (c *choice) leastUnits() []Unit {
	for i := len(c.chosen) - 2; i >= 0; i-- {
		before := slices.Clone(c.left)
		c.change(c.chosen[i].Job, c.chosen[i].Pods, 1)
		if c.exceeds(before) {
			copy(c.left, before)
			continue
		}
		c.chosen = slices.Delete(c.chosen, i, i+1)
	}

	return c.chosen
}

// exceeds reports whether an excess remains that is larger than before.
func (c *choice) exceeds(before []float64) bool {
	for d, left := range c.left {
		if left >= fastres.MinResource && left > before[d] {
			return true
		}
	}
	return false
}
