package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Kind is the kind of a verdict.
type Kind string

// The kinds of verdicts about jobs that wait.
const (
	Now   Kind = "now"   // it can run when others leave the cards that it lacks
	Until Kind = "until" // it cannot run before a time, even alone
	Never Kind = "never" // it cannot run, even alone on the empty cluster
)

// Verdict says when a waiting job can run.
type Verdict struct {
	Kind  Kind       `json:"kind"`
	Until *time.Time `json:"until,omitempty"`

	fit int // the pods that have room on the empty cluster
}

// String is the verdict in words.
func (v Verdict) String() string {
	switch v.Kind {
	case Until:
		return "it cannot run before " + v.Until.UTC().Format("2006-01-02T15:04Z07:00")
	case Never:
		return "it can never run, even alone, with these settings and nodes"
	}
	return "it can run when others leave what it lacks"
}

// mostTimes bounds the times at which jobs are tried that windows may let run.
const mostTimes = 5

// Alone returns the findings on jobs that cannot run even alone on the empty cluster, or the error of ctx. No budget is
// used up there. It takes all pods of the world off their nodes.
func Alone(ctx context.Context, w *engine.World, c *engine.Configuration) ([]Finding, error) {
	var findings []Finding
	err := eachAlone(ctx, w, c, func(_ *explainer, _ *engine.Group, f *Finding) { findings = append(findings, *f) })
	return findings, err
}

// alone returns the finding on a job that cannot run alone, nil for any other job.
func (e *explainer) alone(g *engine.Group, job *api.JobInfo) *Finding {
	f := e.begin(g)
	f.State = Waiting
	e.explain(&f, job)

	// The plugin admits the job. The plugin that refuses it counts the other jobs.
	if f.Rule == OtherPlugin && f.Stage == Enqueue {
		f.Rule = ""
		f.Message = ""
		_ = e.tryToPlace(&f, job)
	}
	if f.Rule == "" || f.Rule == NotEnoughPods || f.Rule == Gated || f.Pods.Fit >= max(1, f.Pods.Minimum) {
		return nil
	}
	return &f
}

// verdicts are the verdicts about jobs that cannot run alone now.
type verdicts map[api.JobID]Verdict

// judge tries each job alone on an empty copy of the world, now and when windows of its queues change.
func judge(ctx context.Context, w *engine.World, c *engine.Configuration) (verdicts, error) {
	all := verdicts{}
	var times []time.Time
	err := eachAlone(ctx, w.Clone(), c, func(x *explainer, g *engine.Group, f *Finding) {
		all[g.ID()] = Verdict{Kind: Never, fit: f.Pods.Fit}
		for _, window := range x.changing(f.Queue) {
			if !slices.Contains(times, *window.Next) {
				times = append(times, *window.Next)
			}
		}
	})
	if err != nil {
		return nil, err
	}

	slices.SortFunc(times, time.Time.Compare)
	for _, at := range first(times, mostTimes) {
		then := *c
		then.At = at
		refused := map[api.JobID]bool{}
		note := func(_ *explainer, g *engine.Group, _ *Finding) { refused[g.ID()] = true }
		err := eachAlone(ctx, w.Clone(), &then, note)
		if err != nil {
			return nil, err
		}
		for id, v := range all {
			if v.Kind == Never && !refused[id] {
				all[id] = Verdict{Kind: Until, Until: &at}
			}
		}
	}
	return all, nil
}

// eachAlone visits the jobs that cannot run alone on the empty cluster. It takes all pods of the world off their nodes.
func eachAlone(
	ctx context.Context, w *engine.World, c *engine.Configuration, visit func(*explainer, *engine.Group, *Finding),
) error {
	w.Vacate()
	for _, g := range w.Groups {
		joborder.HoldsNobody(g.PodGroup) // each job waits as if it were alone
	}
	s, err := engine.Open(ctx, w, c.WithoutPast())
	if err != nil {
		return err
	}
	defer s.Close()

	x := newExplainer(s, w)
	for _, g := range w.Groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f := x.alone(g, s.Jobs[g.ID()]); f != nil {
			visit(x, g, f)
		}
	}
	return nil
}

// judgment returns the verdict about a waiting job, nil where jobs were not tried alone.
func (e *explainer) judgment(f *Finding, id api.JobID) *Verdict {
	if e.verdicts == nil {
		return nil
	}
	if v, refused := e.verdicts[id]; refused {
		return &v
	}

	if f.Rule == report.OverBudget && f.Reason != nil && len(f.Reason.Shortages) > 0 {
		at, err := time.Parse("2006-01-02T15:04Z", f.Reason.Shortages[0].Until)
		if err == nil {
			return &Verdict{Kind: Until, Until: &at}
		}
	}
	return &Verdict{Kind: Now}
}

// never begins the advice about a job that cannot run before a setting changes.
func (f *Finding) never(changes bool) string {
	switch {
	case f.Verdict != nil && f.Verdict.Kind == Until:
		return fmt.Sprintf("it cannot run in %s before %s: wait until then",
			f.Queue, f.Verdict.Until.UTC().Format("2006-01-02T15:04Z07:00"))
	case f.Verdict != nil && f.Verdict.Kind == Now, f.Verdict == nil && changes:
		return fmt.Sprintf("it cannot run in %s as it is now:", f.Queue)
	}
	return fmt.Sprintf("it can never run in %s as it is:", f.Queue)
}

// Fit returns the number of pods of a job that have room on the empty cluster, where the job cannot run alone.
func (v Verdict) Fit() int { return v.fit }

// SetRemedy records the change with which the next cycles start the job, and how many pods they evict for it.
func (f *Finding) SetRemedy(what string, evicted int) {
	f.Remedy = fmt.Sprintf("tried: with %s, it starts", what)
	if evicted > 0 {
		f.Remedy = fmt.Sprintf("tried: with %s, it starts, and pods are evicted for it: %d", what, evicted)
	}

	f.Advice = slices.DeleteFunc(f.Advice, isRoomAdvice)
	f.Advice = append(f.Advice, f.Remedy)
}
