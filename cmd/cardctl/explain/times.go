package explain

import (
	"fmt"
	"slices"
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

// windowsOf returns the windows that are in force in the queues of a session.
func windowsOf(x *explainer) (all override.Overrides) {
	for _, a := range x.Quota.Accounts() {
		own, _ := override.Parse(x.Quota.Annotations(a.Queue)[override.Key])
		all = append(all, own...)
	}
	return all
}

// changeTimes returns times at which different windows of queues hold: each time has a combination that neither now nor
// an earlier time has. It looks at the next week, and at the week after each change of a window with a date. complete
// is false if there are too many times.
func changeTimes(windows override.Overrides, now time.Time) (times []time.Time, complete bool) {
	weekly := func(w override.Window) bool { return !w.Dated() }
	dated := slices.DeleteFunc(slices.Clone(windows), weekly)

	until := now.Add(aWeek)
	held, at := windows.At(now)
	seen := sets.New(fmt.Sprint(held))
	for steps := 1; !at.IsZero(); steps++ {
		if len(times) == MostTimes || steps > mostSteps {
			return times, false
		}

		// Weekly windows repeat. Continue at the next date.
		if at.After(until) {
			_, at = dated.At(until)
			if at.IsZero() {
				break
			}
			until = at.Add(aWeek)
		}

		hold, next := windows.At(at)
		if combination := fmt.Sprint(hold); !seen.Has(combination) {
			seen.Insert(combination)
			times = append(times, at)
		}
		at = next
	}
	return times, true
}
