package plugin

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// reclaimable returns the tasks among reclaimees that reclaimer may evict. Tasks
// whose queue does not exist or does not reach the root are none. Volcano asks about
// the tasks of one node at a time.
func (s *session) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.asks(reclaimer) {
		return reclaimees, util.Permit
	}
	if s.books.Waits(reclaimer) {
		return nil, util.Permit
	}
	c := s.claimOf(reclaimer)
	if s.governs {
		if !s.mayTake(c.queue, reclaimer).OK() {
			return nil, util.Permit
		}
		c.class = s.classOf(reclaimer)
	}
	if s.settings.rules.OrderVictims && !s.variant.proportion && c.queue == index.None {
		return nil, util.Reject
	}
	var victims []*api.TaskInfo
	if s.settings.byWork {
		if c.few = len(reclaimees) > 0 && onOneNode(reclaimees); c.few && !s.takesFrom(&c, reclaimees[0].NodeName) {
			return nil, util.Permit
		}
		victims = s.victimsAmong(&c, s.workOrder(&c, reclaimees))
	} else if victims = s.firstVictims(&c, reclaimees); s.settings.rules.OrderVictims && len(victims) < len(reclaimees) && s.evictsForCards() {
		// DIVERGES: upstream names the first victims of the order, which gang may spare. Then nobody
		// is evicted, in no session. Before v1.15 the order is another one in each session.
		if agreed := s.agreedOn(reclaimer, reclaimees); len(agreed) < len(reclaimees) {
			victims = s.firstVictims(&c, agreed)
		}
	}
	victims = s.inOrder(&c, victims)
	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s may evict %d of %d tasks: %v",
			s.variant.name, reclaimer.Namespace, reclaimer.Name, len(victims), len(reclaimees), victims)
	}
	return victims, util.Permit
}

// firstVictims returns the tasks that a claim may evict, in the order of the release.
func (s *session) firstVictims(c *claim, tasks []*api.TaskInfo) []*api.TaskInfo {
	if s.settings.rules.OrderVictims && !s.variant.proportion {
		tasks = s.evictionOrder(c.task, tasks)
	}
	return s.victimsAmong(c, tasks)
}

// victimsAmong returns the tasks that a claim may evict, one after the other, node by node.
func (s *session) victimsAmong(c *claim, tasks []*api.TaskInfo) (victims []*api.TaskInfo) {
	s.memory.victims.Begin()
	c.most = len(tasks)
	if !c.hasCards {
		return s.appendVictims(nil, "", c, tasks)
	}
	for rest := tasks; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].NodeName == rest[0].NodeName {
			n++
		}
		victims = s.appendVictims(victims, rest[0].NodeName, c, rest[:n])
		rest = rest[n:]
	}
	return victims
}

// evictionOrder returns tasks in the order in which Volcano evicts them for a task. Volcano's
// own queue decides, with the comparisons of all plugins; it takes 1.5 allocations per task.
func (s *session) evictionOrder(reclaimer *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	queue := s.ssn.BuildVictimsPriorityQueue(tasks, reclaimer)
	ordered := make([]*api.TaskInfo, 0, len(tasks))
	for !queue.Empty() {
		ordered = append(ordered, queue.Pop().(*api.TaskInfo))
	}
	return ordered
}

// appendVictims appends the tasks among reclaimees that a claim may evict, none unless all
// of them together let it in at every level. node is where the claim gets its cards.
func (s *session) appendVictims(victims []*api.TaskInfo, node string, c *claim, reclaimees []*api.TaskInfo) []*api.TaskInfo {
	if !s.place(c, node) {
		return victims
	}
	v, before := &s.memory.vectors, len(victims)
	s.setClaim(v.claim, *c, node)
	job, q := api.JobID(""), index.None
	for _, task := range reclaimees {
		if task.Job != job { // tasks of one job often follow one another (BenchmarkReclaimable)
			job, q = task.Job, s.queueOf(task)
		}
		if q == index.None || s.ix.Broken(q) != nil || len(s.plans) > 0 && s.planned(task) {
			continue
		}
		terms := quota.ByDeserved
		if s.governs {
			if terms = s.terms(c.class, c.queue, q, task); terms == quota.Spared {
				continue
			}
		}
		if c.hasCards {
			s.cards.Read(task) // once: pods of queues without cards are not in the table of pods yet
		}
		s.intake.SetCharge(v.request, q, task, task.NodeName)
		if c.hasCards && !s.frees(c, q, task, v.request) || terms == quota.ByDeserved && s.protected(q, v.request) {
			continue
		}
		if s.take(q, v.request, c.queue, v.claim, terms) {
			if victims == nil {
				victims = make([]*api.TaskInfo, 0, c.most)
			}
			victims = append(victims, task)
			if c.few && s.suffice(c, task.NodeName, victims) {
				return s.fewest(c, victims)
			}
		}
	}
	if s.variant.proportion || c.queue == index.None {
		return victims
	}
	if !s.quotasAllow(c, victims) {
		return victims[:before]
	}
	return victims
}

// quotasAllow reports whether all quotas allow a claim without some victims, which count as
// gone in s.memory.victims.
func (s *session) quotasAllow(c *claim, victims []*api.TaskInfo) bool {
	return s.letsIn(c) && s.fitsClaimsWithout(c.queue, c.task, victims) && s.fitsNamespaceWithout(c, victims)
}

// letsIn reports whether the victims so far let a claim in at every level, and leave what is
// guaranteed to other queues.
//
// DIVERGES: upstream evicts pods for a task that has no room beside what is reserved for others.
func (s *session) letsIn(c *claim) bool {
	victims, charge := &s.memory.victims, s.memory.vectors.charge
	return victims.Suffice(s.limit, c.queue, charge) && keepsGuarantees(s.books.Future.Guarantees, victims, c.queue, charge).OK() &&
		s.fitsBeside(victims, c.queue, c.task, charge).OK()
}

// setClaim makes x what a reclaimer requests, with the cards that it would have on
// a node. With damping it need not deserve cpu and memory that it is exempt from.
func (s *session) setClaim(x fastres.Vector, c claim, node string) {
	s.intake.Dims.Set(x, c.task.InitResreq)
	if !c.hasCards {
		return
	}
	if s.damped() && s.settings.cards.UnlimitedCPUMemory {
		x.Set(fastres.CPU, 0)
		x.Set(fastres.Memory, 0)
	}
	s.cards.AddTo(x, c.pod, node)
}

// protected reports whether a task that q is charged for has a card of which q has no more
// than it deserves.
func (s *session) protected(q index.Queue, charge fastres.Vector) bool {
	if !s.cards.Counted(q) {
		return false
	}
	for d := range charge.Requested() {
		if s.memory.names.IsCard(d) && s.memory.victims.KeepsCard(q, d) {
			return true
		}
	}
	return false
}

// take applies the rule of reclaim to one victim of q, for a claim of queue to.
func (s *session) take(q index.Queue, victim fastres.Vector, to index.Queue, claim fastres.Vector, terms quota.Terms) bool {
	victims := &s.memory.victims
	switch {
	case s.variant.proportion:
		return victims.TakeOverused(q, victim)
	case terms == quota.ByGuarantee && to != index.None:
		return victims.TakeByGuarantee(q, victim, to, claim, s.settings.damping)
	case s.damped() && to != index.None:
		return victims.TakeDamped(q, victim, to, claim, s.settings.damping)
	case s.settings.levels > 0 && to != index.None:
		deserves := s.memory.vectors.charge.Intersects(s.ix.Deserved.Row(to))
		return victims.TakeContended(q, victim, to, claim, deserves, s.settings.levels)
	}
	return victims.Take(q, victim, to, claim)
}

// preemptive reports whether a queue may reclaim for tasks.
func (s *session) preemptive(queue *api.QueueInfo, tasks []*api.TaskInfo) bool {
	v := s.eligible(queue)
	for i := 0; s.governs && i < len(tasks) && v.OK(); i++ {
		v = s.mayTake(v.Queue, tasks[i])
	}
	outcome, request := cards.Outcome{Verdict: v}, s.memory.vectors.request
	if v.OK() {
		outcome = s.preemption(v.Queue, request, tasks)
		if !s.variant.proportion && !s.settings.rules.OverusedByShare {
			s.memory.metrics.SetOverused(v.Queue, !outcome.Verdict.OK())
		}
	}
	if s.settings.byWork {
		s.choice.permit(tasks, outcome.Verdict.OK())
	}
	if !outcome.Verdict.OK() && klog.V(3).Enabled() {
		klog.Infof("[%s] nothing may be evicted for %d tasks: %s", s.variant.name, len(tasks),
			s.explain.Explain(report.Refusal{Request: request}.With(outcome)))
	}
	return outcome.Verdict.OK()
}

// preemption applies the rule of preemption to tasks of q. It sets request to the request
// of all of them. Tasks with cards take cards from other queues, so q must have less of one
// of them than it deserves.
func (s *session) preemption(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome {
	pods, complete := s.requestAll(q, request, tasks)
	switch {
	case s.variant.proportion:
		return cards.Outcome{Verdict: s.fits(&s.books.Now, q, request, complete)}
	case !complete:
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	case len(pods) == 0:
		return cards.Outcome{Verdict: quota.Preemptive(s.ix, s.books.Future.Queues, s.limit, q, request, s.settings.levels)}
	case !fastres.Fits(s.books.Future.Queues.Allocated(q), request, s.limit.Row(q)):
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	}
	for i, pod := range pods {
		if slices.Contains(pods[:i], pod) {
			continue
		}
		equal := 0
		for _, other := range pods[i:] {
			if other == pod {
				equal++
			}
		}
		if outcome := s.cards.Fit(q, pod, func(d fastres.Dim, milli float64) quota.Verdict {
			return quota.PreemptiveCard(s.ix, s.books.Future.Queues, s.limit, q, d, milli*float64(equal), s.settings.levels)
		}); !outcome.Verdict.OK() {
			return outcome
		}
	}
	return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: q}}
}

// requestAll sets request to what tasks of q request together, without cards. It returns the
// requests of those that have cards, in memory of the session.
func (s *session) requestAll(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) (pods []*cards.PodRequest, complete bool) {
	v := &s.memory.vectors
	pods, complete = s.memory.pods[:0], true
	into, counted := request, 0 // the first task needs no sum
	for _, task := range tasks {
		if task == nil {
			continue
		}
		pod, known := s.intake.SetTask(into, q, task)
		if counted > 0 {
			request.Add(into)
		}
		into, counted = v.charge, counted+1
		complete = complete && known
		if !pod.None() && s.cards.Uses(pod) {
			pods = append(pods, pod)
		}
	}
	if counted == 0 {
		request.Reset()
	}
	s.memory.pods = pods[:0]
	return pods, complete
}
