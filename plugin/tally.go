package plugin

import (
	"runtime"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// chunk is how many jobs a tally takes at a time.
const chunk = 64

// tally counts a part of the jobs, into accounts of its own.
type tally struct {
	reader
	tree  *index.Tree
	cards *cards // nil where cards count for nobody

	allocated, request, inqueue, elastic index.Rows
	jobs                                 []int // by queue

	min, placed, rest, gated fastres.Vector  // of one job
	own                      jobCards        // of one job
	needs                    []assign.Demand // of one job

	promises []promise
	fresh    []podDemand
	visited  int // tasks whose cards were looked at
}

// promise is what an enqueued job still waits for where it can be served by
// several cards: it has no place in an account until it has one.
type promise struct {
	job *api.JobInfo
	assign.Demand
}

// podDemand is a pod that had to be read.
type podDemand struct {
	pod *v1.Pod
	*demand
}

func (t *tally) reset(tree *index.Tree, d dimensions, c *cards) {
	t.reader = reader{dimensions: d}
	t.tree, t.cards = tree, c
	clear(t.promises)
	clear(t.fresh)
	t.promises, t.fresh, t.visited = t.promises[:0], t.fresh[:0], 0
	for _, rows := range []*index.Rows{&t.allocated, &t.request, &t.inqueue, &t.elastic} {
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
	tallies := o.tally()
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
	o.cardMemory.visited = 0
	clear(o.promises)
	o.promises = o.promises[:0]
	for i := range tallies {
		o.merge(&tallies[i])
		missing = append(missing, tallies[i].missing...)
	}
	return missing
}

// tally returns a tally for each processor, ready to count. Counting waits for
// memory nearly all the time, so it gains by waiting in several places at once.
func (o *session) tally() []tally {
	n := runtime.GOMAXPROCS(0)
	for len(o.tallies) < n {
		o.tallies = append(o.tallies, tally{})
	}
	for i := range n {
		o.tallies[i].reset(o.ix.Tree, o.dimensions, o.cards)
	}
	return o.tallies[:n]
}

// merge adds the accounts of a tally to the index.
func (o *session) merge(t *tally) {
	o.cardMemory.visited += t.visited
	o.promises = append(o.promises, t.promises...)
	for _, fresh := range t.fresh {
		o.cardMemory.pods.put(fresh.pod, fresh.demand)
	}
	for i, jobs := range t.jobs {
		q := index.Queue(i)
		if jobs == 0 {
			continue
		}
		o.jobsOf[q] += jobs
		o.ix.NoteOwnJobs(q)
		o.ix.Mutable(q).Add(t.allocated.Row(q))
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
// pending, and where gated ones or cards may matter.
//
//	request = allocated + pending
//	elastic = max(0, allocated − min)
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func (t *tally) count(w *work) {
	job, q := w.job, w.queue
	t.jobs[q]++
	carded := t.cards != nil && t.cards.counts[q]
	if carded {
		t.countCards(w)
	}
	if w.placed == 0 && w.pending == len(job.Tasks) {
		t.add(t.request.Row(q), job.TotalRequest)
		if carded {
			t.own.pending.without(t.request.Row(q))
		}
		if !w.promised {
			return
		}
	}
	t.setMin(t.min, job)
	if carded {
		t.own.capMinimum(t.cards, t.min)
	}
	t.placed.Reset()
	if w.placed > 0 {
		t.add(t.placed, job.Allocated)
		if carded {
			t.own.placed.without(t.placed)
		}
		t.allocated.Row(q).Add(t.placed)
		t.request.Row(q).Add(t.placed)
		t.rest.SetExceeded(t.placed, t.min)
		t.elastic.Row(q).Add(t.rest)
	}
	if w.pending < len(job.Tasks) {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			t.add(t.request.Row(q), task.Resreq)
		}
		if carded {
			t.own.pending.without(t.request.Row(q))
		}
	}
	if w.promised {
		if t.gated.Reset(); !carded || t.own.gates { // else they were looked at already
			t.setGated(t.gated, job, w.placed)
		}
		if carded {
			t.own.gated.without(t.gated)
		}
		quota.Reservation(t.rest, t.min, t.placed, t.gated)
		t.inqueue.Row(q).Add(t.rest)
	}
}

// countCards adds what a job uses, asks for and was promised of cards to the
// accounts of its queue.
func (t *tally) countCards(w *work) {
	job, q := w.job, w.queue
	t.own.read(t.cards, job, t.demand)
	t.visited += len(job.Tasks)
	if !t.own.cards {
		return
	}
	for _, on := range t.own.on {
		t.allocated.Row(q).Increase(on.dim, on.milli)
		t.request.Row(q).Increase(on.dim, on.milli)
	}
	for _, asked := range t.own.asked {
		t.request.Row(q).Increase(asked.dim, asked.milli)
	}
	t.own.elastic(t.elastic.Row(q))
	if job.PodGroup == nil || !enqueued(job, w.placed) {
		return
	}
	t.needs = t.own.promised(t.needs[:0], t.cards, w.queue)
	for _, need := range t.needs {
		switch len(need.Cards) {
		case 0: // of no card that anybody has
		case 1:
			t.inqueue.Row(q).Increase(need.Cards[0], need.Size*float64(need.Count))
		default:
			t.promises = append(t.promises, promise{job, need})
		}
	}
}

// demand returns what a pod says about cards, and keeps what had to be read.
func (t *tally) demand(pod *v1.Pod) *demand {
	d, fresh := t.cards.demand(pod)
	if fresh {
		t.fresh = append(t.fresh, podDemand{pod, d})
	}
	return d
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
	return job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil && enqueued(job, placed)
}

func enqueued(job *api.JobInfo, placed int) bool {
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
