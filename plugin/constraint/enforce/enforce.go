// Package enforce evicts pods above the bounds of queues after a delay (the annotation volcano.sh/enforce-quota).
// Package quota/evict has the bounds over time, and the order of pods.
package enforce

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// rule evicts pods above the bounds of the queues with the policy.
type rule struct {
	session  *constraint.Session
	ledger   *evict.Ledger
	recorder *record.Recorder
	loads    bool // since when queues are above their bounds is being read

	excesses []excess // with a delay that is over
}

// excess is the quantity of one dimension that a queue has above a bound.
type excess struct {
	queue           index.Queue
	dim             fastres.Dim
	has, bound, due float64 // bound of allocation, 0 where spent; due may stay now
	spent           bool    // the budget of card-hours is used up
}

// Open returns the rule, nil where no queue has the policy. loads says that what was stored is still being read.
func Open(s *constraint.Session, ledger *evict.Ledger, recorder *record.Recorder, loads bool) *constraint.Hooks {
	if !s.Intake.AnyPolicy((*policy.Values).EnforcesQuota) {
		ledger.Above.Keep(func(string, string) bool { return false })
		return nil
	}
	return (&rule{session: s, ledger: ledger, recorder: recorder, loads: loads}).hooks()
}

// hooks returns the hooks of quotas that are enforced. Pods are evicted when a session opens, before its hooks are
// registered with Volcano.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // the victims stay in the accounts of now, so that no job gets their room
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // the accounts of the future are without the victims
		Lacks:         nil, // for the same reason
		MayTake:       nil, // for the same reason
		Charge:        nil, // a simulation begins with the accounts of now
		Charged:       nil, // the handler of events is registered later
		CompareQueues: nil, // shares are of now
		EvictExcess:   r.evictExcess,
	}
}

// evictExcess evicts the smallest set of pods in the order of evict.Choose, as far as the budgets of evictions have
// room.
func (r *rule) evictExcess() {
	if r.loads {
		return
	}

	r.readExcesses()
	if len(r.excesses) == 0 {
		return
	}

	jobs, tasks := r.jobs()
	left := make([]float64, len(r.excesses))
	for i, e := range r.excesses {
		left[i] = e.has - e.due
	}

	r.session.BeginVictims()
	for _, u := range evict.Choose(left, jobs) {
		first := tasks[u.Job][u.Pods[0]]
		if now, _ := r.session.EvictionRoom(r.session.QueueOf(first)); now < len(u.Pods) {
			continue // in a later session
		}
		if r.session.GivesNotice() && r.waits(tasks[u.Job], u.Pods) {
			continue
		}

		for _, pod := range u.Pods {
			r.evict(tasks[u.Job][pod], jobs[u.Job].Pods[pod].Frees)
		}
	}
}

// waits gives notice to pods of a job, and reports whether they may not be evicted yet. Then the budgets of evictions
// leave room for them in this session.
func (r *rule) waits(tasks []*api.TaskInfo, pods []int) (waits bool) {
	s := r.session
	for _, pod := range pods {
		q := s.QueueOf(tasks[pod])
		if s.NoticeOf(q, tasks[pod]).After(s.Now) {
			waits = true
			s.GiveNotice(q, tasks[pod], policy.Short(policy.EnforceQuotaKey))
		}
	}

	if waits {
		s.CountVictim(s.QueueOf(tasks[pods[0]]), index.None, len(pods))
	}
	return waits
}

// evict evicts a pod, with the reason that Volcano writes to its events.
func (r *rule) evict(task *api.TaskInfo, frees []float64) {
	reason := policy.Short(policy.EnforceQuotaKey)
	if i := slices.IndexFunc(frees, func(amount float64) bool { return amount > 0 }); i >= 0 {
		reason += ": " + r.describe(r.excesses[i])
	} else {
		reason += ": its job falls below its minimum"
	}

	if err := r.session.EvictForNobody(task, reason); err != nil {
		klog.Errorf("[%s] failed to evict task %s/%s: %v", r.session.Plugin, task.Namespace, task.Name, err)
	}
}

// describe formats an excess.
func (r *rule) describe(e excess) string {
	queue := r.session.Index.Name(e.queue)
	name := r.session.Names.Name(e.dim)
	has := r.quantityText(e.dim, e.has)
	if e.spent {
		return fmt.Sprintf("queue <%s> has used up its budget of <%s>, and has <%s>", queue, name, has)
	}

	bound := r.quantityText(e.dim, e.bound)
	return fmt.Sprintf("queue <%s> has more <%s> than it may: <%s>, and its bound is <%s>", queue, name, has, bound)
}

func (r *rule) quantityText(d fastres.Dim, quantity float64) string {
	return format.Amount(r.session.Names.Name(d), format.Readable(d, quantity), format.Mi)
}

// readExcesses compares queues with their bounds. It announces new excesses, and collects those with a delay that is
// over.
func (r *rule) readExcesses() {
	s := r.session
	all := map[[2]string]bool{}

	for q := range index.Queue(s.Index.Len()) {
		after, on := s.Intake.Policies(q).EnforceQuota()
		if !on || s.Index.Broken(q) != nil {
			continue
		}

		var news []excess
		queue := s.Index.Name(q)
		for d := range s.Index.Allocated(q).Requested() {
			e := r.excessOf(q, d)
			if _, device := s.Names.Class(d); device || e.has-e.bound < fastres.MinResource {
				continue
			}

			resource := r.resource(d)
			all[[2]string{queue, resource}] = true
			if r.ledger.Above.Note(queue, resource, s.Now, e.bound) {
				news = append(news, e)
				r.ledger.Changed = true
			}

			e.due = r.ledger.Above.Allowed(queue, resource, s.Now, after)
			if e.has-e.due >= fastres.MinResource {
				r.excesses = append(r.excesses, e)
			}
		}
		if len(news) > 0 {
			r.announce(q, after, news)
		}
	}
	r.ledger.Above.Keep(func(queue, resource string) bool { return all[[2]string{queue, resource}] })
}

// excessOf compares the allocated quantity of one dimension with the bound of allocation.
func (r *rule) excessOf(q index.Queue, d fastres.Dim) excess {
	s := r.session
	e := excess{
		queue: q,
		dim:   d,
		has:   s.Index.AllocatedAt(q, d) - s.Index.Terminating.Row(q).Get(d),
		bound: s.Index.LargestBound(q, d),
		spent: s.Intake.Policies(q).EnforceBudgets() && s.HasSpent(q, d),
	}

	if e.spent {
		e.bound = 0
	}
	return e
}

// resource is the name of a dimension in the store: a card and a resource can have the same name.
func (r *rule) resource(d fastres.Dim) string {
	if r.session.Names.IsCard(d) {
		return "card " + r.session.Names.Name(d)
	}
	return r.session.Names.Name(d)
}

// announce records an event on a queue that is above lower bounds than before.
func (r *rule) announce(q index.Queue, after time.Duration, news []excess) {
	queue := r.session.Intake.Queues[q]
	if queue == nil {
		return
	}

	var each []string
	for _, e := range news {
		text := fmt.Sprintf("<%s> of <%s>, ", r.quantityText(e.dim, e.has), r.session.Names.Name(e.dim))
		if e.spent {
			text += "of which the budget is used up"
		} else {
			text += fmt.Sprintf("<%s> are allowed", r.quantityText(e.dim, e.bound))
		}
		each = append(each, text)
	}

	slices.Sort(each)

	const message = "queue <%s> is above its bounds: %s; pods above them are evicted from %s on (%s: after=%s)"
	from := format.Minute(r.session.Now.Add(after))
	text := fmt.Sprintf(message, queue.UID, strings.Join(each, "; "), from, policy.Short(policy.EnforceQuotaKey), after)
	r.recorder.WarnQueue(r.session.Volcano, r.session.Plugin, queue.Queue, record.QuotaEnforced, text)
}

// jobs returns the jobs with pods that free something of an excess, and their tasks.
func (r *rule) jobs() (jobs []evict.Job, tasks [][]*api.TaskInfo) {
	s := r.session
	below := make([]bool, s.Index.Len()) // in the queue of an excess, or below
	for q := range below {
		path := s.Index.Path(index.Queue(q))
		below[q] = slices.ContainsFunc(r.excesses, func(e excess) bool { return slices.Contains(path, e.queue) })
	}

	frame := s.Frames.Open()
	defer frame.Close()
	charge := frame.Vector()

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || !below[q] || s.Volcano.Queues[job.Queue] == nil {
			continue
		}

		_, most := s.EvictionRoom(q)
		own := constraint.Placed(job)
		loser := evict.Job{
			QueuePriority: s.Volcano.Queues[job.Queue].Queue.Spec.Priority,
			Priority:      job.Priority,
			Spare:         int(job.ReadyTaskNum() - job.MinAvailable),
			Roles:         constraint.SpareRoles(job),
			Kept:          len(own) > most,
		}

		useful := false
		for _, task := range own {
			s.Intake.SetCharge(charge, q, task, task.NodeName)
			pod := evict.Pod{
				Name:     task.Namespace + "/" + task.Name,
				Role:     task.TaskRole,
				Priority: task.Priority,
				Ran:      int64(constraint.Unsaved(task, job, s.Now) / time.Second),
				Fixed:    !task.Preemptable || !api.PreemptableStatus(task.Status),
				Frees:    r.reliefOf(q, charge),
			}
			if s.HasNotice(q, task) {
				pod.Ran = evict.Told
			}

			useful = useful || pod.Frees != nil
			loser.Pods = append(loser.Pods, pod)
		}

		if useful {
			jobs = append(jobs, loser)
			tasks = append(tasks, own)
		}
	}
	return jobs, tasks
}

// reliefOf returns how much of each excess a task of a queue frees, nil for nothing.
func (r *rule) reliefOf(q index.Queue, charge fastres.Vector) (frees []float64) {
	for i, e := range r.excesses {
		if amount := charge.Get(e.dim); amount > 0 && slices.Contains(r.session.Index.Path(q), e.queue) {
			if frees == nil {
				frees = make([]float64, len(r.excesses))
			}
			frees[i] = amount
		}
	}
	return frees
}
