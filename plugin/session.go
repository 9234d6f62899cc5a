package plugin

import (
	"fmt"
	"iter"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// rootName is the queue that all others hang from (capacity.go: rootQueueID).
const rootName = "root"

// session answers Volcano's questions during one session.
type session struct {
	*memory
	variant
	settings
	dimensions
	ssn *framework.Session
	ix  *index.Index

	queues  []*api.QueueInfo // by number; nil for a root that is made up
	hasJobs []bool           // by number
	limit   *fastres.Rows    // the bound of allocation
	share   quota.ShareRule
}

// openSession counts the queues and jobs of a session and registers the hooks.
func openSession(ssn *framework.Session, v variant, s settings, m *memory) *session {
	o := &session{memory: m, variant: v, settings: s, ssn: ssn, ix: &m.index, share: quota.Share}
	o.limit = &o.ix.RealCapability
	if v.weighted {
		o.limit, o.share = &o.ix.Deserved, quota.WeightedShare
	}
	hierarchy := !v.weighted && ssn.HierarchyEnabled(v.name)
	tree := o.findTree(hierarchy)
	for {
		m.reset(tree)
		o.dimensions = dimensions{known: &m.names, scalars: v.scalars, length: o.ix.Dims()}
		o.countQueues()
		o.countJobs()
		if !o.short {
			break
		}
	}
	o.ix.RollUp()
	o.report()
	o.refreshShares()
	m.forget(ssn.Jobs)
	o.publish()
	o.register(hierarchy)
	return o
}

// findTree returns the tree of the session's queues, that of the session before
// if nothing changed.
func (o *session) findTree(hierarchy bool) *index.Tree {
	if !o.parents.Matches(len(o.ssn.Queues), o.nodes(), rootName) {
		o.parents = index.BuildTree(collect(o.nodes()), rootName)
	}
	if hierarchy {
		return o.parents
	}
	if o.tree.Matches(len(o.ssn.Queues), o.nodes(), "") {
		return o.tree
	}
	return index.BuildTree(collect(o.nodes()), "")
}

func (o *session) nodes() iter.Seq[index.Node] {
	return func(yield func(index.Node) bool) {
		for id, queue := range o.ssn.Queues {
			if !yield(index.Node{Name: string(id), Parent: queue.Queue.Spec.Parent}) {
				return
			}
		}
	}
}

func collect(nodes iter.Seq[index.Node]) []index.Node {
	var all []index.Node
	for n := range nodes {
		all = append(all, n)
	}
	return all
}

// countQueues reads what the queues are configured with and derives the bounds.
func (o *session) countQueues() {
	o.queues = make([]*api.QueueInfo, o.ix.Len())
	o.hasJobs = make([]bool, o.ix.Len())
	for id, queue := range o.ssn.Queues {
		q := o.ix.Lookup(string(id))
		spec := &queue.Queue.Spec
		o.queues[q] = queue
		o.addList(o.ix.Capability.Row(int(q)), spec.Capability)
		o.addList(o.ix.Guarantee.Row(int(q)), spec.Guarantee.Resource)
		if !o.weighted {
			o.addList(o.ix.Deserved.Row(int(q)), spec.Deserved)
		}
	}
	clusterTotal, bound := o.scratch[0], o.scratch[1]
	clusterTotal.Reset()
	o.add(clusterTotal, o.ssn.TotalResource)
	bound.CopyFrom(clusterTotal)
	if o.unlimitedRoot {
		bound.Fill(fastres.MaxQuantity)
	}
	limits := quota.Limits{Total: clusterTotal, Bound: bound, ZeroLeaf: o.zeroLeaf}
	if o.ix.Rooted() {
		quota.TreeBounds(o.ix, limits)
		root := int(o.ix.Root())
		o.ssn.TotalGuarantee = o.resourceOf(o.ix.Guarantee.Row(root))
		o.ssn.TotalDeserved = o.resourceOf(o.ix.Deserved.Row(root))
		return
	}
	quota.FlatBounds(o.ix, limits, func(q index.Queue) bool {
		return len(o.queues[q].Queue.Spec.Capability) != 0
	})
}

// countJobs adds what the jobs use and ask for to their queues.
func (o *session) countJobs() {
	for _, job := range o.ssn.Jobs {
		if q := o.ix.Lookup(string(job.Queue)); q != index.None {
			o.hasJobs[q] = true
			o.ix.Charged(q)
			o.countJob(job, q)
		}
	}
}

// countJob adds one job to the accounts of q alone. Volcano keeps the sums of a
// job's tasks, so tasks are walked only where some are neither allocated nor
// pending, and where gated ones may matter.
//
//	request = allocated + pending
//	elastic = max(0, allocated − min)
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func (o *session) countJob(job *api.JobInfo, q index.Queue) {
	request := o.ix.Request.Row(int(q))
	placed, pending := countTasks(job)
	promised := promises(job, placed)
	if placed == 0 && pending == len(job.Tasks) {
		o.add(request, job.TotalRequest)
	}
	if placed == 0 && !promised && pending == len(job.Tasks) {
		return
	}
	min, allocated, dst := o.scratch[0], o.scratch[1], o.scratch[2]
	o.setMin(min, job)
	allocated.Reset()
	if placed > 0 {
		o.add(allocated, job.Allocated)
		o.ix.Mutable(q).Add(allocated)
		request.Add(allocated)
		dst.SetExceeded(allocated, min)
		o.ix.Elastic.Row(int(q)).Add(dst)
	}
	if 0 < pending && pending < len(job.Tasks) {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			o.add(request, task.Resreq)
		}
	}
	if promised {
		quota.Promise(dst, min, allocated, o.gated(job, placed))
		o.ix.Inqueue.Row(int(q)).Add(dst)
	}
}

// countTasks returns how many tasks have a status that api.AllocatedStatus
// counts, and how many are pending. Most jobs have all their tasks in one.
func countTasks(job *api.JobInfo) (placed, pending int) {
	tasks := job.TaskStatusIndex
	if running := len(tasks[api.Running]); running == len(job.Tasks) {
		return running, 0
	}
	pending = len(tasks[api.Pending])
	if pending == len(job.Tasks) {
		return 0, pending
	}
	return len(tasks[api.Running]) + len(tasks[api.Bound]) + len(tasks[api.Binding]) + len(tasks[api.Allocated]), pending
}

// promises reports whether the rest of a job's minimum is kept free for it: it
// was enqueued, or it runs with its minimum of tasks (a job that once ran and
// lost tasks for good, a finished Spark driver for one, holds nothing).
func promises(job *api.JobInfo, allocatedTasks int) bool {
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return false
	}
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return allocatedTasks >= int(job.PodGroup.Spec.MinMember)
	}
	return false
}

// setMin sets x to the job's minimum, nothing where it has none.
func (o *session) setMin(x fastres.Vector, job *api.JobInfo) {
	x.Reset()
	if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
		o.addList(x, *job.PodGroup.Spec.MinResources)
	}
}

// gated returns what the job's pods with scheduling gates request. Such a pod
// has no node, so a job whose tasks are all placed has none.
func (o *session) gated(job *api.JobInfo, placed int) fastres.Vector {
	sum := o.scratch[3]
	sum.Reset()
	if placed == len(job.Tasks) {
		return sum
	}
	// Tasks lie all over the memory: looking at many at once lets the processor
	// fetch them together.
	var batch [32]*api.TaskInfo
	n := 0
	for _, task := range job.Tasks {
		batch[n] = task
		if n++; n == len(batch) {
			o.addGated(sum, batch[:])
			n = 0
		}
	}
	o.addGated(sum, batch[:n])
	return sum
}

func (o *session) addGated(sum fastres.Vector, tasks []*api.TaskInfo) {
	for _, task := range tasks {
		if task.SchGated {
			o.add(sum, task.Resreq)
		}
	}
}

// refreshShares sets deserved where it follows from weights, and every share.
func (o *session) refreshShares() {
	if o.weighted {
		clusterTotal := o.scratch[0]
		clusterTotal.Reset()
		o.add(clusterTotal, o.ssn.TotalResource)
		var queues []quota.Weighted
		for q, queue := range o.queues {
			if o.hasJobs[q] {
				queues = append(queues, quota.Weighted{Queue: index.Queue(q), Weight: queue.Weight})
			}
		}
		quota.Divide(o.ix, clusterTotal, queues)
	}
	for q := range index.Queue(o.ix.Len()) {
		o.ix.SetShare(q, o.share(o.ix.Allocated(q), o.ix.Deserved.Row(int(q))))
	}
}

// report says once which queues are refused, and which leaves are bound to 0
// because nobody said otherwise.
func (o *session) report() {
	for q := range index.Queue(o.ix.Len()) {
		if err := o.ix.Broken(q); err != nil {
			o.warnOnce(o.name, fmt.Sprintf("queue %s takes no jobs: %v", o.ix.Name(q), err))
		}
		if capability := o.ix.Capability.Row(int(q)); o.zeroLeaf && o.ix.IsLeaf(q) &&
			(capability.Get(fastres.CPU) == 0 || capability.Get(fastres.Memory) == 0) {
			o.warnOnce(o.name, fmt.Sprintf("queue %s sets no cpu or memory capability, which means 0; set it, or %s: %s",
				o.ix.Name(q), unsetCapability, unlimited))
		}
	}
}

// mendParents gives queues that do not reach the root a parent that does, in
// this session alone: Volcano itself walks up to the root when it closes a
// session, and would panic on an unknown parent or never return from a cycle
// (framework/session.go, updateQueueStatus).
func (o *session) mendParents() {
	for q := range index.Queue(o.parents.Len()) {
		queue := o.ssn.Queues[api.QueueID(o.parents.Name(q))]
		if queue == nil || o.parents.Broken(q) == nil || o.parents.Parent(q) != index.None {
			continue
		}
		mended := *queue.Queue
		mended.Spec.Parent = rootName
		queue.Queue = &mended
		klog.V(4).Infof("[%s] queue %s counts for the root: %v", o.name, queue.Name, o.parents.Broken(q))
	}
}
