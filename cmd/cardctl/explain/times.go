package explain

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/index/override"
)

// MostTimes bounds the times at which jobs are tried that windows may let run.
const MostTimes = 40

const (
	// mostSteps bounds the changes of windows that are looked at.
	mostSteps = 5000
	// aWeek is the time after which weekly windows hold as before, with a day for changes of the clock.
	aWeek = 8 * 24 * time.Hour
)

// windows are the windows of all queues that have some.
type windows []override.Overrides

// windowsOf returns the windows that are in force in the queues of a session.
func windowsOf(x *explainer) (all windows) {
	for _, a := range x.Quota.Accounts() {
		w, _ := override.Parse(x.Quota.Annotations(a.Queue)[override.Key])
		if len(w) > 0 {
			all = append(all, w)
		}
	}
	return all
}

// changeTimes returns times at which different windows of queues hold: each time has a combination that neither now nor
// an earlier time has. It looks at the next week, and at the week after each change of a window with a date. complete
// is false if there are too many times.
func (w windows) changeTimes(now time.Time) (times []time.Time, complete bool) {
	until := now.Add(aWeek)
	seen := sets.New(w.holding(now))
	steps := 0
	for at := w.next(now); !at.IsZero(); at = w.next(at) {
		steps++
		if len(times) == MostTimes || steps > mostSteps {
			return times, false
		}

		// Weekly windows repeat. Continue at the next date.
		if at.After(until) {
			at = w.nextDate(until)
			if at.IsZero() {
				break
			}
			until = at.Add(aWeek)
		}
		if held := w.holding(at); !seen.Has(held) {
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
