package chaos

import (
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// mark is a pod for which others were evicted, as the world knows it. docs/spec/cards.md describes its earmark.
type mark struct {
	cycle int
	job   *Job
	pod   *Pod
	node  string
	// doubt: another pod of the job may have ended the earmark, or it begins only when cards count, from
	// nominatedNodeName.
	doubt bool
}

// noteMarks records the pods that wait for victims of the last session.
func (w *chaos) noteMarks(j *Job, job *api.JobInfo) {
	waits := false
	for _, task := range job.TaskStatusIndex[api.Pipelined] {
		waits = waits || task.EvictionOccurred
	}
	if !waits {
		return
	}
	for _, p := range j.Pods {
		if task := job.Tasks[api.TaskID(p.Object.UID)]; task != nil && task.Status == api.Pipelined {
			w.marks = append(w.marks, mark{cycle: w.Cycle, job: j, pod: p, node: task.NodeName, doubt: !w.counts()})
		}
	}
}

// counts reports whether cards count: some queue has a card annotation, one that takes no jobs
// included. Without them, decisions are upstream's.
func (w *chaos) counts() bool {
	if w.Plugin == session.CapacityName {
		return slices.ContainsFunc(slices.Collect(maps.Keys(w.Queues)), w.annotated)
	}
	return w.Plugin == session.Name
}

// pending reports whether a marked pod still waits, and nothing that it was let in for is gone.
func (w *chaos) pending(m mark) bool {
	n := w.Nodes[m.node]
	if w.Job(m.job.Spec.Name) != m.job || m.pod.Object.Spec.NodeName != "" || n == nil || n.Lost || w.Path(m.job.Spec.Queue) == nil {
		return false
	}
	for _, p := range m.job.Pods {
		if p == m.pod {
			return true
		}
	}
	return false
}

// standsFor reports whether a pod that gets a node takes the room of another one of its job, which others
// were evicted for: both request the same, and have the same cards where cards count.
func (w *chaos) standsFor(m mark, j *Job, p *Pod, node string) bool {
	if m.job != j || m.pod == p || m.cycle == w.Cycle || !maps.Equal(m.pod.Spec.Requests, p.Spec.Requests) {
		return false
	}
	if !w.counted(j.Spec.Queue) || hasClaims(p.Spec) {
		return true
	}
	here, there := w.Nodes[node], w.Nodes[m.node]
	return here != nil && there != nil && !slices.ContainsFunc(cardResources, func(resource string) bool {
		return p.Spec.Requests[resource] > 0 && cardOf(here.Spec, resource) != cardOf(there.Spec, resource)
	})
}

// doubt notes that a pod gets a node: the earmark of an equal pod may have ended, if that one was not pipelined
// before. A pod with an earmark of its own ends that one.
func (w *chaos) doubt(marks []mark, j *Job, p *Pod, node string) {
	if slices.ContainsFunc(marks, func(m mark) bool { return m.pod == p && w.sure(m) }) {
		return
	}
	for i, m := range marks {
		marks[i].doubt = m.doubt || w.sure(m) && w.standsFor(m, j, p, node)
	}
}

// marksNow returns the marks as the pods leave them that got nodes in this session.
func (c *chaosCycle) marksNow() []mark {
	marks := slices.Clone(c.marks)
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || !slices.ContainsFunc(marks, func(m mark) bool { return m.job == j }) {
			continue
		}
		for _, p := range j.Pods {
			if task := job.Tasks[api.TaskID(p.Object.UID)]; task != nil && !p.Placed() && task.NodeName != "" {
				c.doubt(marks, j, p, task.NodeName)
			}
		}
	}
	return marks
}

// sure reports whether the earmark of a pod is in force beyond doubt: it began in a session of
// this scheduler, no node or queue has changed since, and its victims have not ended long ago.
func (w *chaos) sure(m mark) bool {
	patience := int(earmark.Patience.Minutes())
	return w.pending(m) && !m.doubt && m.cycle > w.Edited && m.cycle+1+w.Grace+patience > w.Cycle
}

// future returns the amounts that queues will have. It subtracts the charges of terminating pods from has, and adds the
// earmarks of other jobs that chosen selects.
func (c *chaosCycle) future(has map[string]amounts, other *Job, chosen func(mark) bool) map[string]amounts {
	will := map[string]amounts{}
	for queue, of := range has {
		will[queue] = maps.Clone(of)
	}
	add := func(queue string, of amounts) {
		for _, q := range c.Path(queue) {
			if will[q] == nil {
				will[q] = amounts{}
			}
			for d, amount := range of {
				will[q][d] += amount
			}
		}
	}
	for queue, of := range c.leaves() {
		for d, amount := range of {
			if will[queue] == nil {
				will[queue] = amounts{}
			}
			will[queue][d] -= amount
		}
	}
	for _, m := range c.marksNow() {
		if m.job == other || !chosen(m) {
			continue
		}
		if task := c.jobOf(m.job).Tasks[api.TaskID(m.pod.Object.UID)]; task.Status == api.Pending {
			add(m.job.Spec.Queue, c.requestOn(m.job, m.pod, task, m.node))
		}
	}
	return will
}

// leaves returns the amounts of the pods that count as gone in the future, by queue.
func (c *chaosCycle) leaves() map[string]amounts {
	all, leaving := map[string]amounts{}, c.leaving()
	c.eachCharge(func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		if !leaving(p, task) {
			return
		}
		for _, queue := range c.Path(j.Spec.Queue) {
			if all[queue] == nil {
				all[queue] = amounts{}
			}
			for d, amount := range charge {
				all[queue][d] += amount
			}
		}
	})
	return all
}

// leavesOf returns how much of a dimension these pods hold, on nodes that exist.
func (c *chaosCycle) leavesOf(dimension string) (sum float64) {
	leaving := c.leaving()
	c.eachCharge(func(_ *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		if leaving(p, task) {
			sum += c.given(p, task.NodeName, charge)[dimension]
		}
	})
	return sum
}

// leaving returns which pods count as gone in the future. These pods are being deleted, or were evicted when the
// session opened, or have notice and are kept for others (docs/spec/policies.md, "eviction-grace").
func (c *chaosCycle) leaving() func(p *Pod, task *api.TaskInfo) bool {
	kept := map[api.TaskID]bool{}
	for task := range c.own.Reclaim.Kept() {
		kept[task.UID] = true
	}
	return func(p *Pod, task *api.TaskInfo) bool {
		return c.terminates(p, task) || c.enforced[task.UID] || kept[task.UID]
	}
}

// terminates reports whether a pod was being deleted when the session opened.
func (c *chaosCycle) terminates(p *Pod, task *api.TaskInfo) bool {
	return task.Status == api.Releasing && p.Object.DeletionTimestamp != nil
}

// requestOn returns the amounts that the queue of a pending task would be charged for it on a node.
func (c *chaosCycle) requestOn(j *Job, p *Pod, task *api.TaskInfo, node string) amounts {
	before := task.NodeName
	task.NodeName = node
	defer func() { task.NodeName = before }()
	return c.request(j, p, task)
}

// fitsLater reports whether amounts fit in addition to the future charges, including earmarks in doubt.
func (c *chaosCycle) fitsLater(j *Job, has map[string]amounts, more amounts) bool {
	will, path := c.future(has, j, c.pending), c.Path(j.Spec.Queue)
	present := func(d string) float64 {
		sum := c.present(d) - c.leavesOf(d)
		for _, m := range c.marks {
			if m.job != j && c.pending(m) {
				sum += c.requestOn(m.job, m.pod, c.jobOf(m.job).Tasks[api.TaskID(m.pod.Object.UID)], m.node)[d]
			}
		}
		return sum
	}
	return c.fitsBeside(path, will, more) && c.fitsLent(path, will, more, present)
}

// roomLater reports whether a node has room for a task in addition to the pods of other jobs that it is marked for.
func (c *chaosCycle) roomLater(j *Job, task *api.TaskInfo, node *api.NodeInfo) bool {
	needs := task.InitResreq.Clone()
	for _, m := range c.marks {
		if m.job != j && m.node == node.Name && c.pending(m) {
			needs.Add(c.jobOf(m.job).Tasks[api.TaskID(m.pod.Object.UID)].InitResreq)
		}
	}
	return needs.LessEqual(node.FutureIdle(), api.Zero)
}

// checkMarks checks that a placed pod does not take cards that victims free for other pods.
func (c *chaosCycle) checkMarks(name string, p placement) {
	if p.task.Status != api.Allocated || len(c.marks) == 0 || c.sharing() || c.Plugin == session.ProportionName {
		return
	}
	has, unsure := c.expected()
	will := c.future(has, p.job, c.sure)
	for d, amount := range c.request(p.job, p.pod, p.task) {
		for _, queue := range p.path {
			if amount > 0 && isCard(d) && !unsure[queue] && will[queue][d] > c.limit(queue, d)+0.1 && c.marked(queue, d) {
				violated(name, "%s is placed on %s by %s: queue %s will have %g of %s, its bound is %g", p.task.Name, p.task.NodeName, c.action, queue, will[queue][d], d, c.limit(queue, d))
			}
		}
	}
}

// marked reports whether an earmark in force is for a quantity of a dimension in a queue.
func (c *chaosCycle) marked(queue, dimension string) bool {
	for _, m := range c.marksNow() {
		if job := c.jobOf(m.job); c.sure(m) && job != nil {
			task := job.Tasks[api.TaskID(m.pod.Object.UID)]
			for _, q := range c.Path(m.job.Spec.Queue) {
				if q == queue && task.Status == api.Pending && c.requestOn(m.job, m.pod, task, m.node)[dimension] > 0 {
					return true
				}
			}
		}
	}
	return false
}

// checkOnce checks that no pod is evicted for one that waits for other victims.
func (c *chaosCycle) checkOnce(name string, p placement) {
	for _, m := range c.marksNow() {
		if c.own.Reclaim.Evictor() != nil && c.own.Reclaim.Evictor().UID == api.TaskID(m.pod.Object.UID) && c.sure(m) {
			violated(name, "%s is evicted for %s, for which others were evicted in cycle %d", p.task.Name, c.own.Reclaim.Evictor().Name, m.cycle)
		}
	}
}
