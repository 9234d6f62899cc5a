package chaos

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// checkQuota checks the quotas of all queues that were charged for a task. What is pipelined is
// checked when all victims are evicted (checkPipelined).
func (c *chaosCycle) checkQuota(name string, p placement) {
	if p.task.Status == api.Pipelined {
		return
	}
	for _, queue := range p.path {
		q := c.own.Index.Lookup(queue)
		for d := range c.firstOf(queue, p) {
			has, bound := c.row(c.own.Index.Allocated(q))[d], min(c.row(c.own.LimitOf(c.own.Index.Lookup(p.path[0])).Row(q))[d], c.ownBound(queue, d))
			if c.seen["claims that a queue shares first"]++; has > bound+0.1 {
				violated(name, "queue %s has %g of %s after %s is placed on %s by %s with a claim that it shares, its bound is %g",
					queue, has, d, p.task.Name, p.task.NodeName, c.action, bound)
			}
		}
	}
	unsure := c.unsure(c.on(p.pod, p.task))
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if amount == 0 || d == string(v1.ResourcePods) || unsure && isCard(d) {
			continue // no rule compares pods
		}
		for _, queue := range p.path {
			q := c.own.Index.Lookup(queue)
			has, bound := c.row(c.own.Index.Allocated(q))[d], c.row(c.own.LimitOf(c.own.Index.Lookup(p.path[0])).Row(q))[d]
			if c.Plugin != session.ProportionName {
				bound = min(bound, c.ownBound(queue, d))
			}
			if has > bound+0.1 {
				violated(name, "queue %s has %g of %s after %s is placed on %s by %s, its bound is %g",
					queue, has, d, p.task.Name, p.task.NodeName, c.action, bound)
			}
		}
	}
}

// checkLent checks that a queue gets nothing that is guaranteed to others: cards, and with
// rootCapability: unlimited cpu, memory and scalars.
func (c *chaosCycle) checkLent(name string, p placement) {
	has, unsure := c.expected()
	if c.Plugin == session.ProportionName || c.sharing() || len(p.path) == 0 || c.anyUnsure(p.path, unsure) || p.task.Status == api.Pipelined {
		return
	}
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if amount == 0 || !isCard(d) && c.Arguments[arguments.RootCapability] != "unlimited" {
			continue
		}
		if at, excess := c.lends(p.path, d, amount, has, c.present(d), 0.1); excess > 0 {
			violated(name, "%s is placed on %s by %s: of %s, %g is guaranteed to others below queue %q", p.task.Name, p.task.NodeName, c.action, d, excess, at)
		}
	}
}

// checkPipelined checks the quotas and guarantees of cards once the victims are gone of the
// pods that wait. Reclaim pipelines pods without a look at cpu, memory and scalars, as upstream;
// the cycle that allocates them looks.
func (c *chaosCycle) checkPipelined(name string) {
	has, unsure := c.expected()
	will := c.future(has, nil, func(mark) bool { return false })
	if c.sharing() || c.outsideLeaves {
		return
	}
	for _, j := range c.World.Jobs {
		job, path := c.jobOf(j), c.Path(j.Spec.Queue)
		if job == nil || path == nil || c.Plugin == session.ProportionName || c.anyUnsure(path, unsure) {
			continue
		}
		for _, p := range j.Pods {
			task := job.Tasks[api.TaskID(p.Object.UID)]
			if task.Status != api.Pipelined {
				continue
			}
			for d, amount := range c.request(j, p, task) {
				if amount == 0 || d == string(v1.ResourcePods) || c.own.Cards == nil {
					continue // no quota bounds the number of pods
				}
				for _, queue := range path {
					c.checkWillHold(name, queue, d, j, task)
					if bound := min(c.row(c.own.LimitOf(c.own.Index.Lookup(path[0])).Row(c.own.Index.Lookup(queue)))[d], c.ownBound(queue, d)); will[queue][d] > bound+0.1 {
						violated(name, "queue %s will have %g of %s with %s on %s, its bound is %g", queue, will[queue][d], d, task.Name, task.NodeName, bound)
					}
				}
				if !isCard(d) {
					continue
				}
				if at, excess := c.lends(path, d, amount, will, c.present(d)-c.leavesOf(d), 0.1); excess > 0 {
					violated(name, "%s waits for %s: of %s, %g is guaranteed to others below queue %q", task.Name, task.NodeName, d, excess, at)
				}
			}
		}
	}
}

// checkCard checks that a node has a card that the task names.
func (c *chaosCycle) checkCard(name string, p placement) {
	if c.Plugin == session.ProportionName || !c.counted(p.job.Spec.Queue) || p.pod.Spec.Cards == "" {
		return
	}
	names := card.ParseList(p.pod.Spec.Cards)
	for resource, has := range c.has[c.on(p.pod, p.task)] {
		if strings.HasPrefix(resource, claimPrefix) && !has.doubt && !slices.Contains(names, has.card) {
			violated(name, "%s names %s and is placed on %s, where its claims can get %s", p.task.Name, p.pod.Spec.Cards, p.task.NodeName, has.card)
		}
	}
	for _, resource := range cardResources {
		mixed := resource == vgpuName && sharedOf(c.World.Nodes[p.task.NodeName].Spec).mixed
		if p.pod.Spec.Requests[resource] > 0 && c.isCardResource(resource) && !mixed {
			has := cardOf(c.World.Nodes[p.task.NodeName].Spec, resource)
			if !slices.Contains(card.ParseList(p.pod.Spec.Cards), has) {
				violated(name, "%s names %s and is placed on %s, which has %q", p.task.Name, p.pod.Spec.Cards, p.task.NodeName, has)
			}
		}
	}
}

// checkReasons checks that jobs that are not admitted or have pending pods have a reason.
func (c *chaosCycle) checkReasons(name string) {
	if len(c.NodeList) == 0 || !slices.Contains(c.Actions, "allocate") {
		return // nobody asks about pods
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		switch {
		case job == nil || job.JobFitErrors != "":
		case job.IsPending():
			if j.Spec.MinResources != nil && slices.Contains(c.Actions, "enqueue") {
				violated(name, "job %s is not admitted and has no reason", j.Spec.Name)
			}
		case c.Plugin != session.ProportionName && c.waits(job) && len(job.NodesFitErrors) == 0:
			violated(name, "job %s has pending pods and no reason", j.Spec.Name)
		}
	}
}

// waits reports whether a valid job, which can have its minimum, has pods that allocate
// considers and that have no node.
func (c *chaosCycle) waits(job *api.JobInfo) bool {
	if valid := c.JobValid(job); valid != nil && !valid.Pass {
		return false
	}
	waiting := int32(0)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated && !task.Resreq.IsEmpty() {
			waiting++
		}
	}
	return waiting > 0 && waiting+job.ReadyTaskNum()+job.WaitingTaskNum()+job.PendingBestEffortTaskNum() >= job.MinAvailable
}

// checkStarvation places pending pods as the engine permits. It must not be possible,
// since allocate had the chance.
func (c *chaosCycle) checkStarvation(name string) {
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || !c.takesJobs(j.Spec.Queue) || !c.waits(job) || c.Plugin == session.ProportionName || c.hasBudgets(j.Spec.Queue) || c.mayBeHeldBack(j) {
			continue // the window of a budget may have begun just now, or the time of an earlier job be over
		}
		statement := framework.NewStatement(c.Session)
		var nodes []string
		for _, task := range c.inOrder(j, job) {
			if task.Status != api.Pending || task.SchGated || task.BestEffort || !c.Allocatable(c.Queues[job.Queue], task) {
				continue
			}
			for _, node := range c.NodeList {
				if task.InitResreq.LessEqual(node.Idle, api.Zero) && c.PredicateFn(task, node) == nil && statement.Allocate(task, node) == nil {
					nodes = append(nodes, node.Name)
					break
				}
			}
		}
		ready := len(nodes) > 0 && c.JobReady(job)
		statement.Discard()
		if ready {
			violated(name, "job %s waits, and nodes %v have room for its pods", j.Spec.Name, nodes)
		}
	}
}

// inOrder returns the tasks of a job in the order in which Volcano places them: by their priority and age. Where the
// first one leaves too little of a quota for the rest of a gang, the gang waits, although others would do.
func (c *chaosCycle) inOrder(j *Job, job *api.JobInfo) (tasks []*api.TaskInfo) {
	for _, p := range j.Pods {
		tasks = append(tasks, job.Tasks[api.TaskID(p.Object.UID)])
	}
	slices.SortStableFunc(tasks, func(x, y *api.TaskInfo) int {
		switch {
		case c.TaskOrderFn(x, y):
			return -1
		case c.TaskOrderFn(y, x):
			return 1
		}
		return 0
	})
	return tasks
}

// checkRefusals checks that the engine refuses no pod that fits under all bounds.
func (c *chaosCycle) checkRefusals(name string) {
	if c.Cycle%3 != 0 && c.Cycle < c.cycles || c.keepsForOthers() || c.sharing() || slices.ContainsFunc(c.World.Jobs, c.forgotten) {
		return
	}
	has, unsure := c.expected()
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || !c.takesJobs(j.Spec.Queue) || c.Plugin == session.ProportionName || c.limitsHolders(j.Spec.Queue) || c.hasBudgets(j.Spec.Queue) || c.mayBeHeldBack(j) || c.hasSoftQuota(j.Spec.Queue) {
			continue
		}
		for _, p := range j.Pods {
			task := job.Tasks[api.TaskID(p.Object.UID)]
			if task.Status != api.Pending || p.Spec.Cards == "" && c.Arguments[arguments.UntypedCards] == "reject" {
				continue
			}
			for _, node := range c.NodeList {
				task.NodeName = node.Name
				request := c.request(j, p, task)
				task.NodeName = ""
				if !c.servesOn(p, node.Name) || unsure[j.Spec.Queue] || c.anyUnsure(c.Path(j.Spec.Queue), unsure) || !c.fitsBeside(c.Path(j.Spec.Queue), has, request) || !c.fitsLent(c.Path(j.Spec.Queue), has, request, c.present) {
					continue
				}
				if !c.fitsLater(j, has, request) || !c.roomLater(j, task, node) || c.mayBeHeld(j, has, request) {
					continue
				}
				if !c.Allocatable(c.Queues[job.Queue], task) {
					violated(name, "%s may not be allocated (%s)", task.Name, job.JobFitErrors)
				}
				if err := c.PredicateFn(task, node); err != nil {
					violated(name, "%s may not be placed on %s: %v", task.Name, node.Name, err)
				}
			}
		}
	}
}

// servesOn reports whether a node has the cards that a pod names.
func (c *chaosCycle) servesOn(p *Pod, node string) bool {
	for _, resource := range cardResources {
		if p.Spec.Requests[resource] == 0 {
			continue
		}
		has := cardOf(c.World.Nodes[node].Spec, resource)
		if has == "" || p.Spec.Cards != "" && !slices.Contains(card.ParseList(p.Spec.Cards), has) {
			return false
		}
	}
	return c.servesClaims(p, node)
}
