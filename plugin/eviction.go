package plugin

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// claim is a task that others would be evicted for.
type claim struct {
	task     *api.TaskInfo
	pod      cards.Pod
	hasCards bool // it requests cards
}

func (s *session) claimOf(task *api.TaskInfo) claim {
	q := s.queueOf(task)
	request := s.cards.PodRequest(q, task.Pod)
	return claim{task, cards.Pod{Queue: q, Request: request}, !request.None() && s.cards.Uses(request)}
}

// frees reports whether the eviction of a task of q, which states pod, frees a card
// that a claim can use.
func (s *session) frees(c claim, q index.Queue, task *api.TaskInfo, pod *cards.PodRequest) bool {
	return s.cards.Frees(s.ix, c.pod, cards.Pod{Queue: q, Request: pod, Node: task.NodeName})
}

// protected reports whether a task of q has a card of which q has no more than it
// deserves.
func (s *session) protected(q index.Queue, task *api.TaskInfo) bool {
	if !s.cards.Counted(q) {
		return false
	}
	pod := cards.Pod{Queue: q, Request: s.cards.PodRequest(q, task.Pod), Node: task.NodeName}
	return s.cards.Protected(&s.memory.victims, pod)
}

// reclaimable returns the tasks among reclaimees that reclaimer may evict. Tasks
// whose queue does not exist or does not reach the root are none.
func (s *session) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	c, v := s.claimOf(reclaimer), &s.memory.vectors
	s.setClaim(v.claim, c, "")
	s.memory.victims.Begin()
	var victims []*api.TaskInfo
	for _, task := range reclaimees {
		q := s.queueOf(task)
		if q == index.None || s.ix.Broken(q) != nil {
			continue
		}
		if c.hasCards {
			if !s.frees(c, q, task, s.cards.Read(task.Pod)) {
				continue
			}
			s.setClaim(v.claim, c, task.NodeName)
		}
		s.intake.SetCharge(v.request, q, task, task.NodeName)
		if s.protected(q, task) {
			continue
		}
		if s.take(q, v.request, c.pod.Queue, v.claim) {
			if victims == nil {
				victims = make([]*api.TaskInfo, 0, len(reclaimees))
			}
			victims = append(victims, task)
		}
	}
	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s may evict %d of %d tasks: %v",
			s.variant.name, reclaimer.Namespace, reclaimer.Name, len(victims), len(reclaimees), victims)
	}
	return victims, util.Permit
}

// setClaim makes x what a reclaimer requests, with the cards that it would have on
// a node. With damping it need not deserve cpu and memory that it is exempt from.
func (s *session) setClaim(x fastres.Vector, c claim, node string) {
	s.intake.Dims.Set(x, c.task.InitResreq)
	if !c.hasCards || node == "" {
		return
	}
	if s.damped() && s.settings.cards.UnlimitedCPUMemory {
		x.Set(fastres.CPU, 0)
		x.Set(fastres.Memory, 0)
	}
	s.cards.AddTo(x, c.pod.Request, node)
}

// take applies the rule of reclaim to one victim of q, for a claim of queue to.
func (s *session) take(q index.Queue, victim fastres.Vector, to index.Queue, claim fastres.Vector) bool {
	victims := &s.memory.victims
	switch {
	case s.variant.proportion:
		return victims.TakeOverused(q, victim)
	case s.damped() && to != index.None:
		return victims.TakeDamped(q, victim, to, claim, s.settings.damping)
	}
	return victims.Take(q, victim, claim)
}

// preemptive reports whether a queue may reclaim for a task.
func (s *session) preemptive(queue *api.QueueInfo, task *api.TaskInfo) bool {
	v := s.eligible(queue)
	outcome, request := cards.Outcome{Verdict: v}, s.memory.vectors.request
	if v.OK() {
		outcome = s.preemption(v.Queue, request, task)
		if !s.variant.proportion {
			s.memory.metrics.SetOverused(v.Queue, !outcome.Verdict.OK())
		}
	}
	if !outcome.Verdict.OK() && klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s may evict nothing: %s", s.variant.name, task.Namespace, task.Name,
			s.explain.Explain(report.Refusal{Request: request}.With(outcome)))
	}
	return outcome.Verdict.OK()
}

// preemption applies the rule of preemption to a task of q. It sets request to
// the request of the task. A task with cards takes cards from other queues, so q
// must have less of one of them than it deserves.
func (s *session) preemption(q index.Queue, request fastres.Vector, task *api.TaskInfo) cards.Outcome {
	pod, complete := s.intake.SetTask(request, q, task)
	switch {
	case s.variant.proportion:
		return cards.Outcome{Verdict: s.fits(s.ix, q, request, complete)}
	case !complete:
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	case pod.None() || !s.cards.Uses(pod):
		return cards.Outcome{Verdict: quota.Preemptive(s.ix, q, request)}
	case !fastres.Fits(s.ix.Allocated(q), request, s.ix.RealCapability.Row(q)):
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	}
	return s.cards.Fit(q, pod, func(d fastres.Dim, milli float64) quota.Verdict {
		return quota.PreemptiveCard(s.ix, q, d, milli)
	})
}

// preemptable keeps, of the victims that all other plugins agree on, those that
// free a card for a preemptor that requests one. It calls the other plugins
// itself: Volcano takes the victims of the first tier that names any, so an
// answer from a tier in which no other plugin has one would overrule them.
func (s *session) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	c := s.claimOf(preemptor)
	if _, own := s.asking.Load(preemptor); own || !c.hasCards {
		return nil, util.Abstain
	}
	var useful []*api.TaskInfo
	for _, task := range preemptees {
		if from := s.queueOf(task); from != index.None && s.frees(c, from, task, s.cards.Stated(task.Pod)) {
			useful = append(useful, task)
		}
	}
	if len(useful) == 0 {
		return nil, util.Reject
	}
	question := *preemptor
	s.asking.Store(&question, true)
	defer s.asking.Delete(&question)
	return s.ssn.Preemptable(&question, useful), util.Permit
}
