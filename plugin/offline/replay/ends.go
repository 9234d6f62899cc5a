package replay

import (
	"slices"
	"sort"
	"time"
)

// end is the end of a pod, in one of its lives.
type end struct {
	at   time.Duration
	pod  *pod
	life int
}

// ends are the ends in the future, in their order. Of two ends at one time, the pod that started first ends first.
type ends []end

func (e *ends) push(next end) {
	later := sort.Search(len(*e), func(i int) bool { return (*e)[i].at > next.at })
	*e = slices.Insert(*e, later, next)
}

func (e *ends) pop() end {
	first := (*e)[0]
	*e = (*e)[1:]
	return first
}

// next returns the time of the next end, never for none.
func (e ends) next() time.Duration {
	if len(e) == 0 {
		return never
	}
	return e[0].at
}
