package override

import (
	"fmt"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
)

// Overlaps returns pairs of windows that set a key at the same time. The later window of the list counts. Of windows of
// each week, the week after a time is looked at, and that after the beginning of a window with a date.
func (o Overrides) Overlaps(now time.Time) (all []card.Problem) {
	const most = 10 // the others are shown when these are mended
	for i := range o {
		for j := range i {
			keys := o.both(i, j)
			if len(keys) == 0 || len(all) == most {
				continue
			}
			if at, some := o.meet(i, j, now); some {
				all = append(all, card.Problem{Key: Key,
					Reason: fmt.Sprintf("windows %d and %d set %s at the same time, such as at %s; window %d counts",
						j+1, i+1, strings.Join(keys, ", "), minute(at.UTC()), i+1)})
			}
		}
	}
	return all
}

// both returns the keys that two windows set.
func (o Overrides) both(i, j int) (keys []string) {
	for _, key := range o[i].Keys() {
		if _, sets := o[j].sets[key]; sets {
			keys = append(keys, key)
		}
	}
	return keys
}

// meet returns the first time at which two windows hold. They begin to do so when one of them begins to hold.
func (o Overrides) meet(i, j int, now time.Time) (first time.Time, some bool) {
	after := now
	for _, w := range []Window{o[i], o[j]} {
		if dated, is := w.span.(once); is && after.Before(dated.from) {
			after = dated.from
		}
	}
	for _, start := range append(append(o[i].starts(after), o[j].starts(after)...), after) {
		one, _ := o[i].at(start)
		other, _ := o[j].at(start)
		if one && other && !start.Before(now) && (!some || start.Before(first)) {
			first, some = start, true
		}
	}
	return first, some
}
