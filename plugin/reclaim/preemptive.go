package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Preemptive reports whether a queue may reclaim for tasks.
func (s *Session) Preemptive(q index.Queue, tasks []*api.TaskInfo) bool {
	frame := s.Frames.Open()
	defer frame.Close()
	request := frame.Vector()
	outcome := cards.Outcome{Verdict: s.mayTakeAll(q, tasks)}
	if outcome.Verdict.OK() {
		outcome = s.rules.preemptive(s, q, request, tasks)
		if s.rules.overused {
			s.Metrics.SetOverused(q, !outcome.Verdict.OK())
		}
	}
	if !outcome.Verdict.OK() && klog.V(3).Enabled() {
		klog.Infof("[%s] nothing may be evicted for %d tasks: %s", s.Plugin, len(tasks),
			s.Explain.Explain(s.Refused(frame,
				constraint.Refusal{Request: request, Task: firstOf(tasks), Queue: q, Books: &s.Books.Future}, outcome)))
	}
	return outcome.Verdict.OK()
}

// MayReclaim decides whether q may take from other queues for a task. It sets request to what the
// task requests, without cards.
func (s *Session) MayReclaim(q index.Queue, request fastres.Vector, task *api.TaskInfo) cards.Outcome {
	one := []*api.TaskInfo{task}
	if v := s.mayTakeAll(q, one); !v.OK() {
		return cards.Outcome{Verdict: v}
	}
	return s.rules.preemptive(s, q, request, one)
}

// mayReclaim reports whether q may take from other queues for some tasks together.
func (s *Session) mayReclaim(q index.Queue, tasks []*api.TaskInfo) bool {
	frame := s.Frames.Open()
	defer frame.Close()
	return s.mayTakeAll(q, tasks).OK() && s.rules.preemptive(s, q, frame.Vector(), tasks).Verdict.OK()
}

// mayTakeAll decides whether q takes jobs, and the policies allow each of some tasks to take from
// other queues.
func (s *Session) mayTakeAll(q index.Queue, tasks []*api.TaskInfo) quota.Verdict {
	v := s.Intake.Eligible(q)
	for i := 0; i < len(tasks) && v.OK(); i++ {
		v = s.MayTake(q, tasks[i])
	}
	return v
}

// fitNow is the rule under the name proportion: the tasks fit under deserved.
func (s *Session) fitNow(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome {
	_, complete := s.requestAll(q, request, tasks)
	return cards.Outcome{Verdict: s.Fits(&s.Books.Now,
		&constraint.Ask{Task: firstOf(tasks), Queue: q, Request: request, Complete: complete})}
}

// takeDeserved applies the rule of preemption to tasks of q. Tasks with cards take cards from other
// queues, so q must have less of one of them than it deserves.
func (s *Session) takeDeserved(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome {
	pods, complete := s.requestAll(q, request, tasks)
	v := quota.Verdict{Reason: quota.OverQuota, Queue: q}
	switch future := s.Books.Future.Queues; {
	case !complete:
		return cards.Outcome{Verdict: v}
	case len(pods) == 0:
		v = quota.Preemptive(s.Index, future, s.LimitOf(q), q, request, s.settings.Levels)
	case fastres.Fits(future.Allocated(q), request, s.LimitOf(q).Row(q)):
		v.Reason = quota.Admitted
	}
	a := &constraint.Ask{Task: firstOf(tasks), Queue: q}
	if v.OK() {
		v = s.FitsOwnRequest(&s.Books.Future, a, request) // no victim of another queue makes room there
	}
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}
	var all fastres.Vector // what the tasks take together, as far as it is certain
	if len(pods) > 1 || len(pods) == 1 && !pods[0].OnlyWhole() {
		frame := s.Frames.Open()
		defer frame.Close()
		all = frame.Vector()
		all.Reset()
		s.addCertain(all, pods)
	}
	var refused cards.Request
	for i, pod := range pods {
		if slices.Contains(pods[:i], pod) {
			continue
		}
		equal := 0.0
		for _, other := range pods[i:] {
			if other == pod {
				equal++
			}
		}
		if v := s.Cards.Fit(q, pod, &refused, func(d fastres.Dim, milli float64) quota.Verdict {
			if v := s.mayTakeCard(q, d, milli*equal, all); !v.OK() {
				return v
			}
			return s.FitsOwn(&s.Books.Future, a, d, milli*equal)
		}); !v.OK() {
			return cards.Outcome{Verdict: v, Request: refused}
		}
	}
	return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: q}}
}

// addCertain adds the requests of pods that one card alone serves to x.
func (s *Session) addCertain(x fastres.Vector, pods []*cards.PodRequest) {
	for _, pod := range pods {
		for r := range s.Cards.Requests(pod) {
			if dims := r.Selector.Dims; len(dims) == 1 {
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

// requestAll sets request to what tasks of q request together, without cards. It returns the
// requests of those that have cards, in memory of the session.
func (s *Session) requestAll(q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) (pods []*cards.PodRequest, complete bool) {
	frame := s.Frames.Open()
	defer frame.Close()
	pods, complete = s.memory.pods[:0], true
	into, counted := request, 0 // the first task needs no sum
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
