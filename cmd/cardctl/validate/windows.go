package validate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index/override"
)

const (
	// mostTimes bounds the times at which jobs are tried that windows may let run.
	mostTimes = 40
	// mostChanges bounds the changes of windows that are looked at.
	mostChanges = 5000
	// aWeek is the time after which weekly windows hold as before, with a day for changes of the clock.
	aWeek = 8 * 24 * time.Hour
)

// jobName is the namespace and the name of the PodGroup of a job.
type jobName struct{ namespace, name string }

// namesOf returns the names of the jobs of findings.
func namesOf(findings []explain.Finding) sets.Set[jobName] {
	names := sets.New[jobName]()
	for _, f := range findings {
		names.Insert(jobName{f.Namespace, f.Name})
	}
	return names
}

// neverRun returns the findings on jobs that cannot run alone on the empty cluster, whatever windows of queues hold.
// The findings are of now, but each job is refused at all other times as well. tried is false if there are too many
// times to try all of them.
func (ck *checker) neverRun(
	ctx context.Context, c *engine.Configuration, world *engine.World,
) (findings []explain.Finding, tried bool, err error) {
	findings, err = explain.Alone(ctx, world, c)
	if err != nil || len(findings) == 0 {
		return findings, true, err
	}

	times, tried := ck.changeTimes()
	for _, at := range times {
		refused := namesOf(findings)
		world.Groups = slices.DeleteFunc(slices.Clone(world.Groups), func(g *engine.Group) bool {
			return !refused.Has(jobName{g.Namespace, g.Name})
		})

		then := *c
		then.At = at
		still, err := explain.Alone(ctx, world, &then)
		if err != nil {
			return nil, tried, err
		}

		refused = namesOf(still)
		findings = slices.DeleteFunc(findings, func(f explain.Finding) bool {
			return !refused.Has(jobName{f.Namespace, f.Name})
		})
		if len(findings) == 0 {
			break
		}
	}
	return findings, tried, nil
}

// windows are the windows of all queues that have some.
type windows []override.Overrides

// changeTimes returns times at which different windows of queues hold: each time has a combination that neither now nor
// an earlier time has. It looks at the next week, and at the week after each change of a window with a date. complete
// is false if there are too many times.
func (ck *checker) changeTimes() (times []time.Time, complete bool) {
	var all windows
	for _, q := range ck.objects.Queues {
		if w, _ := override.Parse(q.Annotations[override.Key]); len(w) > 0 {
			all = append(all, w)
		}
	}

	until := ck.now.Add(aWeek)
	seen := sets.New(all.holding(ck.now))
	changes := 0
	for at := all.next(ck.now); !at.IsZero(); at = all.next(at) {
		changes++
		if len(times) == mostTimes || changes > mostChanges {
			return times, false
		}

		// Weekly windows repeat. Continue at the next date.
		if at.After(until) {
			at = all.nextDate(until)
			if at.IsZero() {
				break
			}
			until = at.Add(aWeek)
		}
		if held := all.holding(at); !seen.Has(held) {
			seen.Insert(held)
			times = append(times, at)
		}
	}
	return times, true
}

// holding returns the windows that hold at a time, as a text that is equal for equal windows.
func (w windows) holding(at time.Time) string {
	text := ""
	for i, overrides := range w {
		if hold, _ := overrides.At(at); len(hold) > 0 {
			text += fmt.Sprint(i, hold)
		}
	}
	return text
}

// next returns the time of the next change of any window, zero for none.
func (w windows) next(after time.Time) (next time.Time) {
	for _, overrides := range w {
		_, change := overrides.At(after)
		next = earlier(next, change)
	}
	return next
}

// nextDate returns the time at which a window with a date begins or ends next, zero for none.
func (w windows) nextDate(after time.Time) (next time.Time) {
	for _, overrides := range w {
		for _, o := range overrides {
			if _, change := o.Change(after); o.Dated() {
				next = earlier(next, change)
			}
		}
	}
	return next
}

// earlier returns the earlier one of two times. A time that is zero does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
