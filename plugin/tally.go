package plugin

import (
	"sync"
	"sync/atomic"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

const (
	// jobsPerTally is how many jobs make another tally worth its while. Counting
	// waits for memory nearly all the time, so it gains by waiting in several
	// places at once.
	jobsPerTally = 512
	// chunk is how many jobs a tally takes at a time.
	chunk = 64
)

// tally counts a part of the jobs, into accounts of its own.
type tally struct {
	reader
	tree *index.Tree

	allocated, request, inqueue, elastic fastres.Rows
	jobs                                 []int // by queue

	min, placed, rest, gated fastres.Vector // of one job
}

func (t *tally) reset(tree *index.Tree, d dimensions) {
	t.reader = reader{dimensions: d}
	t.tree = tree
	for _, rows := range []*fastres.Rows{&t.allocated, &t.request, &t.inqueue, &t.elastic} {
		rows.Reset(tree.Len(), d.length)
	}
	t.jobs = append(t.jobs[:0], make([]int, tree.Len())...)
	for _, x := range []*fastres.Vector{&t.min, &t.placed, &t.rest, &t.gated} {
		if x.Len() != d.length {
			*x = fastres.NewVector(d.length)
		}
	}
}

// countJobs adds what the jobs use and ask for to the accounts of their queues,
// not yet rolled up. It reports the names that were missing.
func (o *session) countJobs() (missing []string) {
	jobs := o.jobs[:0]
	for _, job := range o.ssn.Jobs {
		jobs = append(jobs, job)
	}
	tallies := o.tally(1 + len(jobs)/jobsPerTally)
	var next atomic.Int64
	count := func(t *tally) {
		for {
			to := int(next.Add(chunk))
			from := to - chunk
			if from >= len(jobs) {
				return
			}
			t.countAll(jobs[from:min(to, len(jobs))])
		}
	}
	var others sync.WaitGroup
	for i := range tallies[1:] {
		others.Add(1)
		go func(t *tally) {
			defer others.Done()
			count(t)
		}(&tallies[1+i])
	}
	count(&tallies[0])
	others.Wait()
	clear(jobs) // let the session go when it is over
	o.jobs = jobs
	for i := range tallies {
		o.merge(&tallies[i])
		missing = append(missing, tallies[i].missing...)
	}
	return missing
}

// tally returns n tallies, at most one for each processor, ready to count.
func (o *session) tally(n int) []tally {
	n = min(n, processors())
	for len(o.tallies) < n {
		o.tallies = append(o.tallies, tally{})
	}
	for i := range n {
		o.tallies[i].reset(o.ix.Tree, o.dimensions)
	}
	return o.tallies[:n]
}

// merge adds the accounts of a tally to the index.
func (o *session) merge(t *tally) {
	for q, jobs := range t.jobs {
		if jobs == 0 {
			continue
		}
		o.jobsOf[q] += jobs
		o.ix.Charged(index.Queue(q))
		o.ix.Mutable(index.Queue(q)).Add(t.allocated.Row(q))
		o.ix.Request.Row(q).Add(t.request.Row(q))
		o.ix.Inqueue.Row(q).Add(t.inqueue.Row(q))
		o.ix.Elastic.Row(q).Add(t.elastic.Row(q))
	}
}

// work is a job with what has to be known before it is counted.
type work struct {
	job             *api.JobInfo
	queue           index.Queue
	placed, pending int // tasks
	promised        bool
}

// countAll adds some jobs, at most a chunk of them, to the accounts of their
// queues. What has to be known of each is looked up for all of them first: that
// is mostly waiting for memory, and short loops let the waits overlap. A job
// whose queue the session does not have counts for nobody.
func (t *tally) countAll(jobs []*api.JobInfo) {
	var room [chunk]work
	all := room[:len(jobs)]
	for i, job := range jobs {
		all[i].job, all[i].queue = job, t.tree.Lookup(string(job.Queue))
	}
	for i := range all {
		all[i].placed, all[i].pending = countTasks(all[i].job)
	}
	for i := range all {
		all[i].promised = promises(all[i].job, all[i].placed)
	}
	for i := range all {
		if all[i].queue != index.None {
			t.count(&all[i])
		}
	}
}

// count adds one job to the accounts of its queue. Volcano keeps the sums of a
// job's tasks, so tasks are walked only where some are neither allocated nor
// pending, and where gated ones may matter.
//
//	request = allocated + pending
//	elastic = max(0, allocated − min)
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func (t *tally) count(w *work) {
	job, q := w.job, int(w.queue)
	t.jobs[q]++
	if w.placed == 0 && w.pending == len(job.Tasks) {
		t.add(t.request.Row(q), job.TotalRequest)
		if !w.promised {
			return
		}
	}
	t.setMin(t.min, job)
	t.placed.Reset()
	if w.placed > 0 {
		t.add(t.placed, job.Allocated)
		t.allocated.Row(q).Add(t.placed)
		t.request.Row(q).Add(t.placed)
		t.rest.SetExceeded(t.placed, t.min)
		t.elastic.Row(q).Add(t.rest)
	}
	if w.pending < len(job.Tasks) {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			t.add(t.request.Row(q), task.Resreq)
		}
	}
	if w.promised {
		t.setGated(t.gated, job, w.placed)
		quota.Promise(t.rest, t.min, t.placed, t.gated)
		t.inqueue.Row(q).Add(t.rest)
	}
}

// countTasks returns how many tasks have a status that api.AllocatedStatus
// counts, and how many are pending. Most jobs have all their tasks in one.
func countTasks(job *api.JobInfo) (placed, pending int) {
	tasks := job.TaskStatusIndex
	running := len(tasks[api.Running])
	if running == len(job.Tasks) {
		return running, 0
	}
	pending = len(tasks[api.Pending])
	if pending == len(job.Tasks) {
		return 0, pending
	}
	return running + len(tasks[api.Bound]) + len(tasks[api.Binding]) + len(tasks[api.Allocated]), pending
}

// promises reports whether the rest of a job's minimum is kept free for it: it
// was enqueued, or it runs with its minimum of tasks (a job that once ran and
// lost tasks for good, a finished Spark driver for one, holds nothing).
func promises(job *api.JobInfo, placed int) bool {
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return false
	}
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return placed >= int(job.PodGroup.Spec.MinMember)
	}
	return false
}

// setMin sets x to the job's minimum, nothing where it has none.
func (r *reader) setMin(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
		r.addList(x, *job.PodGroup.Spec.MinResources)
	}
}

// setGated sets x to what the job's pods with scheduling gates request. Such a
// pod has no node, so a job whose tasks are all placed has none.
func (r *reader) setGated(x fastres.Vector, job *api.JobInfo, placed int) {
	x.Reset()
	if placed == len(job.Tasks) {
		return
	}
	// Tasks lie all over the memory: looking at many at once lets the processor
	// fetch them together.
	var batch [32]*api.TaskInfo
	n := 0
	for _, task := range job.Tasks {
		batch[n] = task
		if n++; n == len(batch) {
			r.addGated(x, batch[:])
			n = 0
		}
	}
	r.addGated(x, batch[:n])
}

func (r *reader) addGated(x fastres.Vector, tasks []*api.TaskInfo) {
	for _, task := range tasks {
		if task.SchGated {
			r.add(x, task.Resreq)
		}
	}
}
