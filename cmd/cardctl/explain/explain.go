package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// Options select what to explain.
type Options struct {
	// Wanted selects jobs; nil selects all.
	Wanted func(*Finding) bool

	// Ahead runs the next cycles on a copy of the world. Findings then have victims and verdicts.
	Ahead    bool
	Events   func([]engine.Event) // is called with the events of engine.Ahead, nil for nothing
	Progress func(done, all int)
}

// Jobs explains jobs, in the order of their names, or returns the error of ctx. It changes the world: the jobs that its
// next enqueue action admits get their pods.
func Jobs(ctx context.Context, w *engine.World, c *engine.Configuration, o Options) ([]Finding, error) {
	var t *trial
	var alone verdicts
	if o.Ahead {
		var err error
		t, err = try(ctx, w, c)
		if err != nil {
			return nil, err
		}
		if o.Events != nil {
			o.Events(t.events)
		}
		alone, err = judge(ctx, w, c)
		if err != nil {
			return nil, err
		}
	}

	return jobsIn(ctx, w, c, o, t, alone)
}

// jobsIn explains jobs with the outcome of the next cycles, nil where they were not tried.
func jobsIn(
	ctx context.Context, w *engine.World, c *engine.Configuration, o Options, t *trial, alone verdicts,
) ([]Finding, error) {
	s, displaced, err := enqueue(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()

	x := newExplainer(s, w)
	x.displaced = displaced
	x.trial = t
	x.verdicts = alone

	var findings []Finding
	for i, g := range w.Groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		f := x.begin(g)
		if o.Wanted != nil && !o.Wanted(&f) {
			continue
		}

		x.explain(&f, s.Jobs[g.ID()])
		f.Broken = broken(&f, s.Jobs[g.ID()])
		if t != nil && f.Pods.Placed > 0 {
			x.reclaimers(&f, s.Jobs[g.ID()])
		}
		findings = append(findings, f)

		if o.Progress != nil {
			o.Progress(i+1, len(w.Groups))
		}
	}
	return findings, nil
}

// WaitingIn returns the waiting jobs: one for each finding of Jobs that Waits, without the reason. It is cheap: it
// tries no pod on a node. It changes the world as Jobs does.
func WaitingIn(ctx context.Context, w *engine.World, c *engine.Configuration) ([]Finding, error) {
	s, _, err := enqueue(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()

	x := &explainer{Session: s}
	var all []Finding
	for _, g := range w.Groups {
		if f := x.begin(g); f.State == Waiting {
			f.setSince(g)
			all = append(all, f)
		}
	}
	return all, nil
}

// begin returns the finding of a job with its state and the number of its pods.
func (e *explainer) begin(g *engine.Group) Finding {
	f := Finding{Namespace: g.Namespace, Name: g.Name, Owner: g.Owner, Ended: g.Ended}
	if g.Over() {
		f.Queue = g.Spec.Queue
		f.Phase = string(g.Status.Phase)
		f.State = Finished
		f.Pods = Pods{Total: len(g.Pods), Minimum: int(g.Spec.MinMember)}
		return f
	}

	job := e.Session.Jobs[g.ID()]
	phase := job.PodGroup.Status.Phase
	f.Queue = string(job.Queue)
	f.Phase = string(phase)
	f.Pods = Pods{Total: len(job.Tasks) + len(g.Coming), Minimum: int(job.MinAvailable), Waiting: len(g.Coming)}

	finished := 0
	for status, tasks := range job.TaskStatusIndex {
		switch {
		case status == api.Pending:
			f.Pods.Waiting += len(tasks)
		case api.AllocatedStatus(status) || status == api.Releasing:
			f.Pods.Placed += len(tasks)
		case status == api.Succeeded || status == api.Failed:
			finished += len(tasks)
		}
	}

	switch {
	case phase == scheduling.PodGroupCompleted:
		f.State = Finished
	case phase == scheduling.PodGroupPending && conf.EnabledActionMap["enqueue"], f.Pods.Waiting > 0:
		f.State = Waiting
	case f.Pods.Total == 0:
		f.State = Startable // such as a Deployment without replicas
	case finished == f.Pods.Total:
		f.State = Finished
	default:
		f.State = Running
	}
	return f
}

// noQueue is the message about a job in a queue that does not exist. Its pods run on, and no other pod of it starts.
const noQueue = "Queue <%s> does not exist"

// explain finds the reason why a job waits, and the advice about it.
func (e *explainer) explain(f *Finding, job *api.JobInfo) {
	if f.State == Running && e.Session.Queues[job.Queue] == nil {
		f.Rule = report.UnknownQueue
		f.Message = fmt.Sprintf(noQueue, job.Queue)
	}
	if f.State != Waiting {
		return
	}

	f.setSince(e.groups[job.UID])
	f.Place = e.places[job.UID]
	f.Cards = e.cardsOf(job)

	refused := e.findReason(f, job)
	if f.Rule == "" {
		f.State = Startable
		f.Stage = ""
	}

	if f.State == Waiting {
		f.Verdict = e.judgment(f, job.UID)
	}
	f.Behind = e.behind(f, job)
	if f.Reason != nil && f.Rule == report.OverQuota {
		f.Bounds = e.bounds(f, job, refused)
		f.Level = e.bounding(f)
	}

	f.Advice = e.advise(f)
	if f.Stage == Allocate && f.Rule == report.OverQuota && e.tooLarge(e.waiting(job)[0]) {
		f.Advice = slices.Insert(f.Advice, 0, adviceOf(NodesTooSmall))
	}
	e.explainReclaim(f, job)
	e.explainWindows(f)
	e.explainPromise(f, job)
}

// findReason asks the hooks of the stages for the reason why a job waits. It returns the refusals of tryToPlace.
func (e *explainer) findReason(f *Finding, job *api.JobInfo) (refused []*report.Reason) {
	switch {
	case e.Session.Queues[job.Queue] == nil:
		f.Stage = Enqueue
		e.refuse(f, &report.Reason{Rule: report.UnknownQueue, Queue: string(job.Queue)})
		f.Message = fmt.Sprintf(noQueue, job.Queue)
	case job.IsPending() && conf.EnabledActionMap["enqueue"]:
		f.Stage = Enqueue
		if why := e.Quota.Enqueue(job); why != nil {
			e.refuse(f, why)
		} else {
			e.refuseOther(f, "enqueue", "overcommit", "proportion", "capacity")
		}
	default:
		return e.tryToPlace(f, job)
	}
	return nil
}

// explainPromise adds the advice about a job that lost its admission, or the resources that are reserved for it.
func (e *explainer) explainPromise(f *Finding, job *api.JobInfo) {
	if e.displaced[job.UID] {
		f.Advice = append(f.Advice,
			"a job of its queue with a higher priority is admitted in its place (displace in the order of the queue)")
	}

	f.TimedOut = reserve.PromiseOf(job).Over && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue
	if f.TimedOut {
		f.Advice = append(f.Advice, "its minimum is not reserved any more, since it was Inqueue for too long ("+
			policy.InqueueTimeoutKey+"): other jobs may go first")
	}
}

// bounds returns all bounds of the queue of a job and its ancestors that refuse the pods it lacks to start. refused are
// the refusals of other kinds of its pods. It returns nil for a list of cards: such a sum belongs to no single bound.
func (e *explainer) bounds(f *Finding, job *api.JobInfo, refused []*report.Reason) (all []report.Shortage) {
	var shortages []report.Shortage
	for _, why := range append([]*report.Reason{f.Reason}, refused...) {
		if strings.Contains(why.Cards, "|") {
			return nil
		}
		shortages = append(shortages, why.Shortages...)
	}

	for _, s := range shortages {
		requested := s.Requested
		if f.Stage == Allocate {
			requested = max(requested, e.lacking(f, job, s.Resource))
		}
		for _, level := range e.Quota.Levels(f.Queue, s.Resource, requested, f.Stage == Enqueue) {
			known := func(s report.Shortage) bool { return s.Queue == level.Queue && s.Resource == level.Resource }
			if !slices.ContainsFunc(all, known) {
				all = append(all, level)
			}
		}
	}
	return all
}

// bounding returns the queue that sets the bound which refuses a job: its own queue may have room, and inherit the
// bound of an ancestor.
func (e *explainer) bounding(f *Finding) string {
	if len(f.Reason.Shortages) == 0 {
		return f.Level
	}
	s := f.Reason.Shortages[0]
	most, configured := e.configured(s.Queue, s.Resource)
	if above := e.boundAbove(s); s.Against == "capability" && configured && most > s.Bound && above != "" {
		return above
	}
	return f.Level
}

// lacks returns the number of pods that a job lacks to start, or 1 for the next pod of a job that runs.
func lacks(f *Finding) int { return max(1, f.Pods.Minimum-f.Pods.Placed) }

// broken says that a job has lost pods of its minimum, "" for other jobs. The scheduler starts a minimum as a whole.
func broken(f *Finding, job *api.JobInfo) string {
	if f.State == Finished || f.Pods.Placed == 0 || job.ReadyTaskNum() >= job.MinAvailable {
		return ""
	}
	left := job.ReadyTaskNum()
	return fmt.Sprintf("its gang is broken: %d of the %d pods that it needs are left", left, job.MinAvailable)
}

// lacking returns the amount of a resource that the pods request which a job lacks to start.
func (e *explainer) lacking(f *Finding, job *api.JobInfo, resource string) (total float64) {
	for _, task := range first(e.waiting(job), lacks(f)) {
		total += e.requestOf(task, resource)
	}
	return total
}

// cardsOf returns the cards that the pending pods of a job name or that their resource claims admit. For a job without
// pods, it returns the cards of its annotation card.request.
func (e *explainer) cardsOf(job *api.JobInfo) card.List {
	var names card.List
	for _, task := range job.TaskStatusIndex[api.Pending] {
		names = append(names, card.NameOf(task.Pod.Annotations)...)
		for _, claimed := range e.Quota.Claimed(task) {
			names = append(names, card.ParseList(claimed.Card)...)
		}
	}

	if len(job.Tasks) == 0 && job.PodGroup != nil {
		requests, _ := card.ParseRequest(job.PodGroup.Annotations[card.RequestKey])
		for _, r := range requests {
			names = append(names, r.List...)
		}
	}

	slices.Sort(names)
	return slices.Compact(names)
}

// refuse records a refusal of the quota plugin.
func (e *explainer) refuse(f *Finding, why *report.Reason) {
	f.Rule = why.Rule
	f.Reason = why
	f.Message = why.In(format.Gi)
	f.Level = why.Queue
	if len(why.Shortages) > 0 {
		f.Level = why.Shortages[0].Queue
	}
}

// refuseOther records a refusal of another plugin, and names the candidates that the configuration has.
func (e *explainer) refuseOther(f *Finding, what string, candidates ...string) {
	f.Rule = OtherPlugin
	f.Level = ""
	f.Message = fmt.Sprintf("The quota allows it, but another plugin refuses to %s it", what)

	others := slices.DeleteFunc(candidates, func(name string) bool { return name == e.Plugin || !e.Has(name) })
	if len(others) > 0 {
		f.Message += " (" + strings.Join(others, ", ") + ")"
	}
}

// setSince sets the time when the job was created. A manifest has none.
func (f *Finding) setSince(g *engine.Group) {
	if created := &g.CreationTimestamp; !created.IsZero() {
		f.Since = created
	}
}
