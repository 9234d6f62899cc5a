package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// mostAttempts bounds how often a plan is made again because another plugin refuses a part of it.
const mostAttempts = 4

// hold is a pod of a claimant that fits on idle resources and waits for allocate. Later claimants leave it its room.
type hold struct {
	ask  constraint.Ask
	node string
}

// Plans reports whether the session plans evictions. Where it does not, Volcano's own actions ask for one pod at a
// time.
func (s *Session) Plans() bool { return s.rules.plans }

// NoteAllocate notes that the action allocate asks about tasks in this session.
func (s *Session) NoteAllocate() { s.allocated = true }

// Reclaim carries out plans for all claimants, in the order of queues and jobs.
//
// DIVERGES: upstream's action reclaim asks for one pod on one node at a time, and commits before anybody sees the
// whole.
func (s *Session) Reclaim() { s.serveAll(false) }

// Preempt carries out plans within queues: jobs of a lower priority lose pods. Volcano's action decides afterwards
// within jobs.
//
// DIVERGES: upstream's action preempt asks for one pod on one node at a time. Votes cannot make it take a job as a
// whole, since its pods are on several nodes.
func (s *Session) Preempt() {
	s.forgetLostNodes()
	s.serveAll(true)
}

// serveAll serves the claimants in the order of queues and jobs.
func (s *Session) serveAll(within bool) {
	queues := util.NewPriorityQueue(s.Volcano.QueueOrderFn)
	waiting := map[api.QueueID]*util.PriorityQueue{}
	for _, job := range s.Volcano.Jobs {
		queue := s.Volcano.Queues[job.Queue]
		if queue == nil || !s.claims(job) || within && job.ContainsNetworkTopology() {
			continue
		}
		if waiting[queue.UID] == nil {
			waiting[queue.UID] = util.NewPriorityQueue(s.Volcano.JobOrderFn)
			queues.Push(queue)
		}
		waiting[queue.UID].Push(job)
	}

	for !queues.Empty() {
		queue := queues.Pop().(*api.QueueInfo)
		if !within && s.Volcano.Overused(queue) {
			continue
		}
		s.serve(waiting[queue.UID].Pop().(*api.JobInfo), within)
		if !waiting[queue.UID].Empty() {
			queues.Push(queue)
		}
	}
	s.field, s.holds = nil, nil
}

// claims reports whether a job is admitted, valid, and starves.
func (s *Session) claims(job *api.JobInfo) bool {
	if job.IsPending() {
		return false
	}
	valid := s.Volcano.JobValid(job)
	return (valid == nil || valid.Pass) && s.Volcano.JobStarving(job)
}

// serve plans for a job, as a whole to its minimum, then pod by pod, as long as it starves.
func (s *Session) serve(job *api.JobInfo, within bool) {
	q := s.QueueOf(&api.TaskInfo{Job: job.UID})
	var failed []*api.TaskInfo
	for q != index.None && s.Volcano.JobStarving(job) {
		c := s.claimantOf(job, q, within, failed)
		if c == nil {
			return
		}
		if s.satisfy(c) {
			continue
		}
		if c.minimum {
			return
		}
		failed = append(failed, c.tasks[0])
	}
}

// satisfy plans for a claimant and carries the plan out. It reports whether somebody is evicted, now or at the end of a
// notice.
func (s *Session) satisfy(c *claimant) bool {
	s.PrepareQueue(c.queue)
	if !s.mayClaim(c) {
		return false
	}
	for range mostAttempts {
		p, l, told := s.choose(c)
		switch {
		case !p.Found():
			return false
		case len(p.Victims) == 0:
			s.holdFor(l, p)
			return false
		}
		done, again := s.carryOut(l, p, told)
		if !again {
			return done
		}
	}
	return false
}

// choose makes the plan for a claimant. Victims with a notice that is over go first. Then pods without notice do,
// unless the least work decides. told: some victims must have notice first.
func (s *Session) choose(c *claimant) (p plan.Plan, l *ledger, told bool) {
	due := s.dueFor(c)
	if due != nil {
		p, l = s.planFor(c, dueVictims)
		if p.Found() {
			return p, l, false
		}
		s.forget(due)
	}
	if !s.GivesNotice() {
		p, l = s.planFor(c, anyVictims)
		return p, l, false
	}
	if !s.settings.ByWork {
		p, l = s.planFor(c, readyVictims)
	}
	if !p.Found() {
		p, l = s.planFor(c, anyVictims)
	}
	for _, v := range p.Victims {
		told = told || s.hasNotice(l.jobs[v.Job].tasks[v.Pod])
	}
	return p, l, told
}

// victimsFrom says which pods can be victims of a plan.
type victimsFrom int

const (
	anyVictims   victimsFrom = iota
	readyVictims             // those that need no notice
	dueVictims               // those of the claimant's own plan
)

// mayClaim reports whether the queue of a claimant may take from others, or within itself.
func (s *Session) mayClaim(c *claimant) bool {
	if c.within {
		return s.Intake.Eligible(c.queue).OK()
	}
	return s.Preemptive(c.queue, c.tasks)
}

// planFor makes the plan for a claimant with some pods as victims.
func (s *Session) planFor(c *claimant, from victimsFrom) (plan.Plan, *ledger) {
	if s.field == nil {
		s.field = s.readField()
	}
	f := s.field
	problem := &plan.Problem{Nodes: s.nodesFor(f), Whole: s.takesWhole(c)}
	var jobs []*losingJob
	for j := range f.jobs {
		job := &f.jobs[j]
		if !s.offers(c, job) {
			continue
		}
		of := s.keptFrom(c, job, from)
		of.Class = s.classOf(c, f, job.queue)
		jobs, problem.Jobs = append(jobs, job), append(problem.Jobs, of)
	}
	for i, task := range c.tasks {
		pod := plan.Pod{Kind: c.kindOf[i], Requests: f.requests(s, c.queue, task)}
		known := 0
		for r := range f.resources {
			if pod.Requests[r] > 0 {
				known++
			}
		}
		if known < requested(task) {
			return plan.Plan{}, nil // no node has the resource
		}
		problem.Pods = append(problem.Pods, pod)
	}
	l := s.openLedger(c, f, jobs)
	problem.Accounts = l
	return plan.Make(problem), l
}

// requested returns how many resources a task requests.
func requested(task *api.TaskInfo) (n int) {
	for _, name := range task.InitResreq.ResourceNames() {
		if task.InitResreq.Get(name) > 0 {
			n++
		}
	}
	return n
}

// nodesFor returns the nodes without what earlier claimants wait for.
func (s *Session) nodesFor(f *field) []plan.Node {
	if len(s.holds) == 0 {
		return f.free
	}
	nodes := slices.Clone(f.free)
	for _, h := range s.holds {
		n := slices.IndexFunc(f.nodes, func(node *api.NodeInfo) bool { return node.Name == h.node })
		nodes[n].Free = slices.Clone(nodes[n].Free)
		for r, requested := range f.requests(s, h.ask.Queue, h.ask.Task) {
			nodes[n].Free[r] -= requested
		}
	}
	return nodes
}

// keptFrom returns a job without the pods that cannot be victims: all that are kept for other claimants, and more.
func (s *Session) keptFrom(c *claimant, job *losingJob, from victimsFrom) plan.Job {
	of := job.Job
	if !s.GivesNotice() {
		return of
	}
	of.Pods = slices.Clone(of.Pods)
	for i, task := range job.tasks {
		to := s.notices.kept[task.UID]
		if to != "" && to != c.job.UID || to == "" && from == dueVictims || from != anyVictims && s.hasNotice(task) {
			of.Pods[i].Fixed = true
		}
	}
	return of
}

// offers reports whether pods of a job may be evicted for a claimant at all.
func (s *Session) offers(c *claimant, job *losingJob) bool {
	if c.within {
		return job.queue == c.queue && job.info != c.job
	}
	return job.queue != c.queue && s.Volcano.Queues[job.info.Queue].Reclaimable()
}

// classOf is added to the classes of the pods of a queue. Queues above their soft quota lose first, then those that are
// nearer in the tree.
func (s *Session) classOf(c *claimant, f *field, q index.Queue) int {
	far := f.deepest
	if s.Index.Rooted() {
		far -= quota.LCADepth(s.Index, q, c.queue)
	}
	if !s.LoseFirst(q, c.queue) {
		far += f.deepest + 1
	}
	return far * f.classes
}

// holdFor keeps the room of a claimant that fits on idle resources. If allocate has looked at the claimant in this
// session and left it pending, something that plans do not see refuses it, and it holds nothing.
func (s *Session) holdFor(l *ledger, p plan.Plan) {
	if s.allocated {
		return
	}
	for i, node := range p.Nodes {
		s.holds = append(s.holds, hold{ask: l.ask(i, l.spotOf(i, node)), node: l.field.nodes[node].Name})
	}
}

// carryOut evicts the victims of a plan and gives each pod of the claimant its node, all or nothing. Where told, the
// victims get notice first. again: another plugin refuses a part of the plan, and a new one may succeed.
func (s *Session) carryOut(l *ledger, p plan.Plan, told bool) (done, again bool) {
	c := l.claimant
	var victims []*api.TaskInfo
	for _, v := range p.Victims {
		victims = append(victims, l.jobs[v.Job].tasks[v.Pod].Clone())
	}
	if !s.agreeOn(c, victims) {
		return false, true
	}
	if told {
		s.announce(l, p)
		return true, false
	}
	for i, task := range c.tasks {
		if !c.prepare(s, task, c.kindOf[i]) {
			return false, false
		}
	}

	s.evictions.evictor, s.evictions.named = c.tasks[0], victims
	statement := framework.NewStatement(s.Volcano)
	for _, victim := range victims {
		err := release.Evict(statement, victim, c.action())
		if err != nil {
			klog.Errorf("[%s] failed to evict task %s/%s: %v", s.Plugin, victim.Namespace, victim.Name, err)
			statement.Discard()
			return false, false
		}
	}
	for i, task := range c.tasks {
		node := l.field.nodes[p.Nodes[i]]
		err := s.Volcano.PredicateForPreemptAction(task, node) // again: pods of the claimant are there by now
		if err == nil {
			err = release.Pipeline(statement, task, node.Name, true)
		}
		if err != nil {
			klog.V(3).Infof("[%s] task %s/%s cannot wait for node %s: %v", s.Plugin, task.Namespace, task.Name, node.Name, err)
			statement.Discard()
			delete(c.suits[c.kindOf[i]], node.Name)
			return false, true
		}
	}

	if !s.Volcano.JobPipelined(c.job) {
		statement.Discard()
		return false, false
	}
	statement.Commit()
	s.field = nil
	return true, false
}

// action is the name of the action that evicts for a claimant.
func (c *claimant) action() string {
	if c.within {
		return "preempt"
	}
	return "reclaim"
}
