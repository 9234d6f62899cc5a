package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Preemptive reports whether a queue may reclaim for tasks.
func (s *Rules) Preemptive(q index.Queue, tasks []*api.TaskInfo) bool {
	frame := s.Frames.Open()
	defer frame.Close()
	request := frame.Vector()

	outcome := cards.Outcome{Verdict: s.mayTakeAll(q, tasks)}
	if outcome.Verdict.OK() {
		outcome = s.preemptive(q, request, tasks)
		if s.rules.overused {
			s.Metrics.SetOverused(q, !outcome.Verdict.OK())
		}
	}

	if !outcome.Verdict.OK() && klog.V(3).Enabled() {
		refusal := constraint.Refusal{Request: request, Task: firstOf(tasks), Queue: q, Books: &s.Books.Future}
		klog.Infof("[%s] nothing may be evicted for %d tasks: %s", s.Plugin, len(tasks),
			s.Explain.Explain(s.Refused(frame, refusal, outcome)))
	}
	return outcome.Verdict.OK()
}

// mayReclaim decides whether q may take from other queues for some tasks together. It sets request to their request,
// without cards.
func (s *Rules) mayReclaim(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome {
	v := s.mayTakeAll(q, tasks)
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}
	return s.preemptive(q, request, tasks)
}

// mayTakeAll decides whether q takes jobs, and the policies allow each of some tasks to take from
// other queues.
func (s *Rules) mayTakeAll(q index.Queue, tasks []*api.TaskInfo) quota.Verdict {
	v := s.Intake.Eligible(q)
	for i := 0; i < len(tasks) && v.OK(); i++ {
		v = s.MayTake(q, tasks[i])
	}
	return v
}

// preemptive decides whether the quotas allow q to take from other queues for tasks. It sets request to their request
// together, without cards.
func (s *Rules) preemptive(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome {
	pods, complete := s.requestAll(q, request, tasks)
	if s.rules.proportion { // the tasks fit under deserved
		a := &constraint.Ask{Task: firstOf(tasks), Queue: q, Request: request, Complete: complete}
		return cards.Outcome{Verdict: s.Fits(&s.Books.Now, a)}
	}

	if !complete {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	}

	a := &constraint.Ask{Task: firstOf(tasks), Queue: q}
	v := s.deservesRequest(q, request, len(pods) > 0)
	if v.OK() {
		v = s.FitsOwnRequest(&s.Books.Future, a, request) // no victim of another queue makes room there
	}
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}

	return s.mayTakeCards(a, pods)
}

// deservesRequest decides whether q deserves some of a request. Tasks with cards take cards from other queues, so q has
// to deserve one of the cards instead (mayTakeCards).
func (s *Rules) deservesRequest(q index.Queue, request fastres.Vector, withCards bool) quota.Verdict {
	future := s.Books.Future.Queues
	if !withCards {
		p := quota.Preemption{Index: s.Index, Allocated: future, Bound: s.LimitOf(q), Levels: s.settings.Levels}
		return p.Preemptive(q, request)
	}
	if !fastres.Fits(future.Allocated(q), request, s.LimitOf(q).Row(q)) {
		return quota.Verdict{Reason: quota.OverQuota, Queue: q}
	}
	return constraint.Admitted(q)
}

// mayTakeCards decides whether the queue of a may take the cards of pods from other queues. Equal pods are decided
// together.
func (s *Rules) mayTakeCards(a *constraint.Ask, pods []*cards.PodRequest) cards.Outcome {
	var all fastres.Vector // of all pods together, as far as it is certain
	if len(pods) > 1 || len(pods) == 1 && !pods[0].OnlyWhole() {
		frame := s.Frames.Open()
		defer frame.Close()
		all = frame.Vector()
		all.Reset()
		s.addCertain(all, pods)
	}

	var request cards.Request
	for i, pod := range pods {
		if slices.Contains(pods[:i], pod) {
			continue
		}

		equal := count(pods[i:], pod)
		v := s.Cards.Fit(a.Queue, pod, &request, func(d fastres.Dim, milli float64) quota.Verdict {
			v := s.mayTakeCard(a.Queue, d, milli*float64(equal), all)
			if !v.OK() {
				return v
			}
			return s.FitsOwn(&s.Books.Future, a, d, milli*float64(equal))
		})
		if !v.OK() {
			request.Amount *= card.Milli(equal) // the reason is about the pods together
			return cards.Outcome{Verdict: v, Request: request}
		}
	}

	return cards.Outcome{Verdict: constraint.Admitted(a.Queue)}
}

// count returns how often a request is among pods.
func count(pods []*cards.PodRequest, pod *cards.PodRequest) (n int) {
	for _, other := range pods {
		if other == pod {
			n++
		}
	}
	return n
}

// addCertain adds the requests of pods that one card alone serves to x.
func (s *Rules) addCertain(x fastres.Vector, pods []*cards.PodRequest) {
	for _, pod := range pods {
		for r := range s.Cards.Requests(pod) {
			dims := r.Selector.Dims
			if len(dims) == 1 {
				s.Names.AddCard(x, dims[0], float64(r.Of(dims[0])))
			}
		}
	}
}

// firstOf returns a task, nil for none. All tasks of one question are of one job.
func firstOf(tasks []*api.TaskInfo) *api.TaskInfo {
	for _, task := range tasks {
		if task != nil {
			return task
		}
	}
	return nil
}

// requestAll sets request to the request of tasks of q together, without cards. It returns the
// requests of those that have cards, in memory of the session, and whether all resources are known.
func (s *Rules) requestAll(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) (
	pods []*cards.PodRequest, complete bool) {
	frame := s.Frames.Open()
	defer frame.Close()
	pods = s.memory.pods[:0]
	complete = true

	into := request // the first task needs no sum
	counted := 0
	for _, task := range tasks {
		if task == nil {
			continue
		}

		if counted == 1 {
			into = frame.Vector()
		}
		pod, known := s.Intake.SetTask(into, q, task)
		if counted > 0 {
			request.Add(into)
		}
		counted++

		complete = complete && known
		if !pod.None() && s.Cards.Uses(pod) {
			pods = append(pods, pod)
		}
	}

	if counted == 0 {
		request.Reset()
	}
	s.memory.pods = pods[:0]
	return pods, complete
}
