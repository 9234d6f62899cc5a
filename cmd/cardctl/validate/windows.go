package validate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index/override"
)

// mostTimes bounds the times at which jobs that windows may let run are tried, and mostChanges those that are looked
// at.
const (
	mostTimes   = 40
	mostChanges = 5000
)

// neverRun returns the findings on jobs that cannot run alone on the empty cluster, whatever windows of queues hold:
// those of now, if a job is refused at all other times as well. tried is false where there are too many times to try
// all of them.
func (ck *checker) neverRun(ctx context.Context, c *engine.Configuration, world *engine.World) (findings []explain.Finding, tried bool, err error) {
	findings, err = explain.Alone(ctx, world, c)
	if err != nil || len(findings) == 0 {
		return findings, true, err
	}
	times, tried := ck.changeTimes()
	for _, at := range times {
		refused := map[[2]string]bool{}
		for _, f := range findings {
			refused[[2]string{f.Namespace, f.Name}] = true
		}
		isRefused := func(g *engine.Group) bool { return refused[[2]string{g.Namespace, g.Name}] }
		world.Groups = slices.DeleteFunc(slices.Clone(world.Groups), func(g *engine.Group) bool { return !isRefused(g) })
		then := *c
		then.At = at
		still, err := explain.Alone(ctx, world, &then)
		if err != nil {
			return nil, tried, err
		}
		clear(refused)
		for _, f := range still {
			refused[[2]string{f.Namespace, f.Name}] = true
		}
		findings = slices.DeleteFunc(findings, func(f explain.Finding) bool { return !refused[[2]string{f.Namespace, f.Name}] })
		if len(findings) == 0 {
			break
		}
	}
	return findings, tried, nil
}

// aWeek is the time after which weekly windows hold as before, with a day for changes of the clock.
const aWeek = 8 * 24 * time.Hour

// changeTimes returns times at which other windows of queues hold than now, and than at each other one of them: those
// of the next week, and of the week after each change of a window with a date. complete is false where there are too
// many.
func (ck *checker) changeTimes() (times []time.Time, complete bool) {
	var all []override.Overrides
	for _, q := range ck.objects.Queues {
		if windows, _ := override.Parse(q.Annotations[override.Key]); len(windows) > 0 {
			all = append(all, windows)
		}
	}
	next := func(after time.Time) (first time.Time) {
		for _, windows := range all {
			if _, change := windows.At(after); !change.IsZero() && (first.IsZero() || change.Before(first)) {
				first = change
			}
		}
		return first
	}
	until := ck.now.Add(aWeek)
	seen := map[string]bool{holding(all, ck.now): true}
	changes := 0
	for at := next(ck.now); !at.IsZero(); at = next(at) {
		changes++
		if len(times) == mostTimes || changes > mostChanges {
			return times, false
		}
		if at.After(until) {
			date := nextDate(all, until)
			if date.IsZero() {
				break
			}
			at, until = date, date.Add(aWeek)
		}
		if hold := holding(all, at); !seen[hold] {
			seen[hold] = true
			times = append(times, at)
		}
	}
	return times, true
}

// holding returns which windows hold at a time, as a text that is the same for the same windows.
func holding(all []override.Overrides, at time.Time) string {
	text := ""
	for i, windows := range all {
		if hold, _ := windows.At(at); len(hold) > 0 {
			text += fmt.Sprint(i, hold)
		}
	}
	return text
}

// nextDate returns when a window with a date begins or ends next, zero for never.
func nextDate(all []override.Overrides, after time.Time) (first time.Time) {
	for _, windows := range all {
		for _, w := range windows {
			if _, change := w.Change(after); w.Dated() && !change.IsZero() && (first.IsZero() || change.Before(first)) {
				first = change
			}
		}
	}
	return first
}
