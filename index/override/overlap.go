package override

import (
	"slices"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
)

// Overlaps returns pairs of windows that set the same key at the same time. The later window of the list counts. For
// weekly windows, Overlaps checks one week after now, or after the start of a window with a date.
func (o Overrides) Overlaps(now time.Time) (all []card.Problem) {
	const most = 10 // the rest shows when these are corrected
	for i := range o {
		for j := range i {
			keys := o.commonKeys(i, j)
			if len(keys) == 0 || len(all) == most {
				continue
			}

			at, overlap := o.firstOverlap(i, j, now)
			if !overlap {
				continue
			}
			all = append(all, problem("windows %d and %d set %s at the same time, such as at %s; window %d counts",
				j+1, i+1, strings.Join(keys, ", "), minute(at.UTC()), i+1)...)
		}
	}

	return all
}

// commonKeys returns the keys that two windows set.
func (o Overrides) commonKeys(i, j int) (keys []string) {
	for _, key := range o[i].Keys() {
		if _, sets := o[j].sets[key]; sets {
			keys = append(keys, key)
		}
	}

	return keys
}

// firstOverlap returns the first time from now on at which two windows hold. It is now, or the begin of one of them.
func (o Overrides) firstOverlap(i, j int, now time.Time) (first time.Time, overlap bool) {
	after := now
	for _, w := range []Window{o[i], o[j]} {
		dated, isDated := w.span.(once)
		if isDated && after.Before(dated.from) {
			after = dated.from
		}
	}

	starts := slices.Concat(o[i].starts(after), o[j].starts(after), []time.Time{after})
	for _, start := range starts {
		one, _ := o[i].at(start)
		other, _ := o[j].at(start)
		if one && other && !start.Before(now) && (!overlap || start.Before(first)) {
			first, overlap = start, true
		}
	}

	return first, overlap
}
