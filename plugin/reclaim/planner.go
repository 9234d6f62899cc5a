package reclaim

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// mostAttempts bounds how many plans are made for a claimant because other plugins refuse parts of them.
const mostAttempts = 4

// Plans reports whether the session plans evictions. Where it does not, Volcano's own actions ask for one pod at a
// time.
func (s *Rules) Plans() bool { return s.rules.plans }

// NoteAllocate notes that the action allocate asks about tasks in this session.
func (s *Rules) NoteAllocate() { s.allocated = true }

// Reclaim carries out plans for all claimants, in the order of queues and jobs.
//
// DIVERGES: upstream's action reclaim asks for one pod on one node at a time, and commits before anybody sees the
// whole.
func (s *Rules) Reclaim() {
	p := planner{Rules: s}
	p.serveAll()
}

// Preempt carries out plans within queues: jobs of a lower priority lose pods. Volcano's action decides afterwards
// within jobs.
//
// DIVERGES: upstream's action preempt asks for one pod on one node at a time. Votes cannot make it take a job as a
// whole, since its pods are on several nodes.
func (s *Rules) Preempt() {
	s.forgetLostNodes()
	p := planner{Rules: s, within: true}
	p.serveAll()
}

// planner makes plans for the claimants of one action, and carries them out.
type planner struct {
	*Rules
	within bool // the action is preempt, and not reclaim
	holds  []hold

	cached  *snapshot   // see snapshot
	changed []api.JobID // with pods that were evicted or placed, or a plan with notice, since cached was read
}

// hold is a pod of a claimant that fits on idle resources and waits for allocate. Later claimants leave it its room.
type hold struct {
	ask  constraint.Ask
	node int // of the snapshot: all snapshots of a session have the same nodes
}

// snapshot returns the nodes and the running pods. They stay the same until jobs change.
func (p *planner) snapshot() *snapshot {
	switch {
	case p.cached == nil:
		p.cached = p.readSnapshot()
	case len(p.changed) > 0:
		p.cached.renew(p.Rules, p.changed)
	}

	p.changed = nil
	return p.cached
}

// serveAll serves the claimants in the order of queues and jobs.
func (p *planner) serveAll() {
	queues := util.NewPriorityQueue(p.Volcano.QueueOrderFn)
	waiting := map[api.QueueID]*util.PriorityQueue{}
	for _, job := range p.Volcano.Jobs {
		queue := p.Volcano.Queues[job.Queue]
		if queue == nil || !p.claims(job) || p.within && job.ContainsNetworkTopology() {
			continue
		}

		if waiting[queue.UID] == nil {
			waiting[queue.UID] = util.NewPriorityQueue(p.Volcano.JobOrderFn)
			queues.Push(queue)
		}
		waiting[queue.UID].Push(job)
	}

	for !queues.Empty() {
		queue := queues.Pop().(*api.QueueInfo)
		if !p.within && p.Volcano.Overused(queue) {
			continue
		}

		jobs := waiting[queue.UID]
		p.serve(jobs.Pop().(*api.JobInfo))
		if !jobs.Empty() {
			queues.Push(queue)
		}
	}
}

// claims reports whether a job is admitted, valid, and starves.
func (p *planner) claims(job *api.JobInfo) bool {
	if job.IsPending() {
		return false
	}
	valid := p.Volcano.JobValid(job)
	if valid != nil && !valid.Pass {
		return false
	}

	due := p.memory.notices.DueFor(job.UID, p.within) != nil // its pods have their places until it is served
	return due || p.Volcano.JobStarving(job)
}

// mostKinds bounds the kinds of pods of a job that plans are made without, one after the other.
const mostKinds = 16

// serve plans for a job, as a whole to its minimum, then pod by pod, as long as it starves. If no plan is found and
// other pods of the job can stand for the hardest one, it tries these.
func (p *planner) serve(job *api.JobInfo) {
	q := p.QueueOf(&api.TaskInfo{Job: job.UID})
	var skip []*api.TaskInfo

	p.dropDue(job)
	for q != index.None && p.Volcano.JobStarving(job) {
		c := p.claimantOf(job, q, p.within, skip)
		if c == nil {
			return
		}
		end := p.satisfy(c)
		if end == served {
			if c.minimum {
				skip = nil
			}
			continue
		}
		if end == waits && c.minimum {
			return // nobody is evicted for pods in place of these
		}

		hardest := c.hardest()
		if hardest == nil || len(skip) == mostKinds {
			return
		}
		skip = append(skip, hardest)
	}
}

// service is the result of a plan for a claimant.
type service int

const (
	unserved service = iota // the claimant gets nothing
	waits                   // it gets room without evictions, now or once terminating pods are gone
	served                  // somebody is evicted for it, now or at the end of a notice
)

// satisfy plans for a claimant and carries the plan out.
func (p *planner) satisfy(c *claimant) service {
	p.PrepareQueue(c.queue)
	if !p.mayClaim(c) {
		return unserved
	}

	for range mostAttempts {
		found := p.choose(c)
		if !found.Found() {
			return unserved
		}

		if len(found.Victims) == 0 {
			if p.refusedOnIdle(found) {
				continue
			}
			return p.holdFor(found)
		}

		switch p.carryOut(found) {
		case carriedOut:
			return served
		case failed:
			return unserved
		}
	}
	return unserved
}

// mayClaim reports whether the queue of a claimant may take from others, or within itself.
func (p *planner) mayClaim(c *claimant) bool {
	if c.within {
		return p.Intake.Eligible(c.queue).OK()
	}
	return p.Preemptive(c.queue, c.tasks)
}

// proposal is a plan for a claimant, with the trial that it was made on.
type proposal struct {
	plan.Plan
	trial *trial
}

// nodeOf returns the node of a pod of the claimant.
func (found *proposal) nodeOf(pod int) *api.NodeInfo {
	return found.trial.snapshot.nodes[found.Nodes[pod]]
}

// victims returns the tasks that the plan evicts.
func (found *proposal) victims() (tasks []*api.TaskInfo) {
	for _, v := range found.Victims {
		tasks = append(tasks, found.trial.jobs[v.Job].tasks[v.Pod])
	}
	return tasks
}

// choose makes the plan for a claimant. Victims with a notice that is over go first. Then pods without notice do,
// unless the least work decides.
func (p *planner) choose(c *claimant) *proposal {
	due := p.memory.notices.DueFor(c.job.UID, c.within)
	if due != nil {
		found := p.planFor(c, dueVictims)
		if found.Found() {
			return found
		}
		p.forget(due)
	}

	if p.GivesNotice() && !p.settings.ByWork {
		found := p.planFor(c, readyVictims)
		if found.Found() {
			return found
		}
	}

	return p.planFor(c, anyVictims)
}

// holdFor keeps the room of a claimant that fits without evictions, if allocate has not run in this session.
func (p *planner) holdFor(found *proposal) service {
	if p.allocated {
		if found.fitsNow() {
			return unserved // by something that plans do not see: allocate has left the claimant pending
		}
		return waits
	}

	t := found.trial
	for pod, node := range found.Nodes {
		p.holds = append(p.holds, hold{ask: t.ask(pod, t.spotOf(pod, node)), node: node})
	}
	return waits
}

// refusedOnIdle reports whether other plugins refuse a plan without victims because of other pods, and notes it. A plan
// that waits for terminating pods is not asked about: they can be these pods.
func (p *planner) refusedOnIdle(found *proposal) bool {
	c := found.trial.claimant
	if !found.fitsNow() || !p.concernsOthers(found) {
		return false
	}
	for pod, task := range c.tasks {
		if !c.prepare(p.Rules, task, c.kindOf[pod]) {
			return false
		}
	}

	statement := framework.NewStatement(p.Volcano)
	defer statement.Discard()
	return p.pipelineAll(statement, found) == planAgain
}

// fitsNow reports whether the nodes of a plan without victims have room for its pods before terminating pods are gone.
func (found *proposal) fitsNow() bool {
	idle := map[*api.NodeInfo]*api.Resource{}
	for pod, task := range found.trial.claimant.tasks {
		node := found.nodeOf(pod)
		if idle[node] == nil {
			idle[node] = node.Idle.Clone()
		}
		if !task.InitResreq.LessEqual(idle[node], api.Zero) {
			return false
		}
		idle[node].Sub(task.InitResreq)
	}
	return true
}

// result is how the execution of a plan ends.
type result int

const (
	failed     result = iota
	planAgain         // another plugin refuses a part of the plan, and a new one may succeed
	carriedOut        // victims are evicted, or have notice
)

// carryOut evicts the victims of a plan and gives each pod of the claimant its node, all or nothing. If some victims
// must have notice first, it announces the plan.
func (p *planner) carryOut(found *proposal) result {
	c := found.trial.claimant
	var victims []*api.TaskInfo
	for _, task := range found.victims() {
		victims = append(victims, task.Clone())
	}
	if !p.agreeOn(c, victims) {
		return planAgain
	}

	if p.needsNotice(found.victims()) {
		p.announce(found)
		p.changed = append(p.changed, c.job.UID)
		return carriedOut
	}

	for pod, task := range c.tasks {
		if !c.prepare(p.Rules, task, c.kindOf[pod]) {
			return failed
		}
	}

	p.evictions.prepare(c.tasks[0], victims...)
	statement := framework.NewStatement(p.Volcano)
	end := p.evictAll(statement, c, victims)
	if end == carriedOut {
		end = p.pipelineAll(statement, found)
	}
	if end == carriedOut && !p.Volcano.JobPipelined(c.job) {
		end = failed
	}

	if end != carriedOut {
		statement.Discard()
		return end
	}

	statement.Commit()
	p.changed = append(p.changed, c.job.UID)
	for _, victim := range victims {
		p.changed = append(p.changed, victim.Job)
		klog.V(3).Infof("[%s] task %s/%s is evicted for job %s in queue %s, because of %s",
			p.Plugin, victim.Namespace, victim.Name, c.job.UID, c.job.Queue, c.action())
	}

	// As Volcano's action does (v1.14.1 preempt.go 353 and 394).
	if c.within {
		metrics.UpdatePreemptionVictimsCount(len(victims))
		metrics.RegisterPreemptionAttempts()
	}
	return carriedOut
}

// evictAll evicts the victims for a claimant.
func (p *planner) evictAll(statement *framework.Statement, c *claimant, victims []*api.TaskInfo) result {
	claimant := report.Claimant{
		Namespace: c.job.Namespace,
		PodGroup:  c.job.Name,
		UID:       c.job.PodGroup.UID,
		Queue:     string(c.job.Queue),
	}

	for _, victim := range victims {
		err := release.Evict(statement, victim, report.EvictionReason(c.action(), claimant, victim.Namespace))
		if err != nil {
			klog.Errorf("[%s] failed to evict task %s/%s: %v", p.Plugin, victim.Namespace, victim.Name, err)
			return failed
		}
	}
	return carriedOut
}

// pipelineAll has each pod of the claimant wait for its node.
func (p *planner) pipelineAll(statement *framework.Statement, found *proposal) result {
	c := found.trial.claimant
	for pod, task := range c.tasks {
		node := found.nodeOf(pod)
		err := p.refusalAfter(c, task, node)
		if err == nil {
			err = release.Pipeline(statement, task, node.Name, true)
		}

		if err != nil {
			klog.V(3).Infof("[%s] task %s/%s cannot wait for node %s: %v",
				p.Plugin, task.Namespace, task.Name, node.Name, err)
			c.refuse(found, pod, err)
			return planAgain
		}
	}

	return carriedOut
}
