package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/format"
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

	// Fit is the number of its pods that have room on the empty cluster, for a job that can never run.
	Fit int `json:"-"`
}

// String is the verdict in words.
func (v Verdict) String() string {
	switch v.Kind {
	case Until:
		return "it cannot run before " + format.Minute(*v.Until)
	case Never:
		return "it can never run, even alone, with these settings and nodes"
	}
	return "it can run when others leave what it lacks"
}

// Alone tries each job alone on the empty cluster, now and at each time at which other windows of queues hold. It
// returns the findings on the jobs that cannot run now, or the error of ctx. The verdict of a job is Until if it can
// run at another time, otherwise Never. It is nil if there are too many times to try. No budget is used up on the
// empty cluster. The world is of no use afterwards.
func Alone(ctx context.Context, w *engine.World, c *engine.Configuration) ([]Finding, error) {
	w.Vacate()
	for _, g := range w.Groups {
		joborder.HoldsNobody(g.PodGroup) // each job waits as if it were alone
	}
	findings, windows, err := refusedAlone(ctx, w, c)
	if err != nil {
		return nil, err
	}

	open := map[api.JobID]*Finding{} // the jobs that no time lets run
	for i := range findings {
		open[findings[i].id()] = &findings[i]
	}
	times, complete := changeTimes(windows, c.Now())
	for _, at := range times {
		if len(open) == 0 {
			break
		}
		err := tryAt(ctx, w, c, at, open)
		if err != nil {
			return nil, err
		}
	}

	for _, f := range open {
		if complete {
			f.Verdict = &Verdict{Kind: Never, Fit: f.Pods.Fit}
		}
	}
	return findings, nil
}

// tryAt tries the open jobs alone at a time. It gives a verdict to the jobs that can run then, and removes them from
// open.
func tryAt(
	ctx context.Context, w *engine.World, c *engine.Configuration, at time.Time, open map[api.JobID]*Finding,
) error {
	w.Groups = slices.DeleteFunc(w.Groups, func(g *engine.Group) bool { return open[g.ID()] == nil })
	then := *c
	then.At = at
	findings, _, err := refusedAlone(ctx, w, &then)
	if err != nil {
		return err
	}

	refused := sets.New[api.JobID]()
	for i := range findings {
		refused.Insert(findings[i].id())
	}
	for id, f := range open {
		if !refused.Has(id) {
			f.Verdict = &Verdict{Kind: Until, Until: &at}
			delete(open, id)
		}
	}
	return nil
}

// refusedAlone returns the findings on jobs of an empty world that cannot run alone, and the windows of the queues.
func refusedAlone(
	ctx context.Context, w *engine.World, c *engine.Configuration,
) (findings []Finding, windows override.Overrides, err error) {
	s, err := engine.Open(ctx, w, c.WithoutPast())
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()

	x := newExplainer(s, w)
	for _, g := range w.Groups {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if f := x.alone(g, s.Jobs[g.ID()]); f != nil {
			findings = append(findings, *f)
		}
	}
	return findings, windowsOf(x), nil
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

// verdicts are the verdicts about jobs that cannot run alone now, nil for a job with too many times to try.
type verdicts map[api.JobID]*Verdict

// judge tries each job alone on an empty copy of the world.
func judge(ctx context.Context, w *engine.World, c *engine.Configuration) (verdicts, error) {
	findings, err := Alone(ctx, w.Clone(), c)
	if err != nil {
		return nil, err
	}

	all := verdicts{}
	for i := range findings {
		all[findings[i].id()] = findings[i].Verdict
	}
	return all, nil
}

// judgment returns the verdict about a waiting job, nil if it is not known.
func (e *explainer) judgment(f *Finding, id api.JobID) *Verdict {
	if e.verdicts == nil {
		return nil
	}
	if v, refused := e.verdicts[id]; refused {
		return v
	}

	if f.Rule == report.OverBudget && f.Reason != nil && len(f.Reason.Shortages) > 0 {
		at := f.Reason.Shortages[0].Until
		if !at.IsZero() {
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
			f.Queue, format.Minute(*f.Verdict.Until))
	case f.Verdict != nil && f.Verdict.Kind == Now, f.Verdict == nil && changes:
		return fmt.Sprintf("it cannot run in %s as it is now:", f.Queue)
	}
	return fmt.Sprintf("it can never run in %s as it is:", f.Queue)
}

// SetRemedy records the change with which the next cycles start the job, and how many pods they evict for it.
func (f *Finding) SetRemedy(what string, evicted int) {
	f.Remedy = fmt.Sprintf("tried: with %s, it starts", what)
	if evicted > 0 {
		f.Remedy = fmt.Sprintf("tried: with %s, it starts, and pods are evicted for it: %d", what, evicted)
	}

	f.Advice = slices.DeleteFunc(f.Advice, isRoomAdvice)
	f.Advice = append(f.Advice, f.Remedy)
}
