package oracle

import (
	"cmp"
	"time"
)

// InLine is a job in the order of its queue (docs/policies.md, order).
type InLine struct {
	Priority int32
	Created  time.Time
	Name     string // namespace/name

	Admitted   bool
	NeedsQuota bool // it waits for quota, as the page says
	// Since is when it began to hold back others, and Spent that it has done so for its time.
	Since time.Time
	Spent bool

	Minimum, Pods int  // the pods of its minimum, and those that it has
	Promised      bool // what it lacks of its minimum is reserved for it
}

// Before reports whether a job goes before another one.
func (j InLine) Before(other InLine, byPriority bool) bool {
	order := j.Created.Compare(other.Created)
	if byPriority {
		order = cmp.Or(cmp.Compare(other.Priority, j.Priority), order)
	}
	return cmp.Or(order, cmp.Compare(j.Name, other.Name)) < 0
}

// Waits reports whether a job of a queue waits for an earlier one, with its admission or, if it is admitted, with its
// next pod.
func Waits(queue []InLine, j InLine, byPriority bool, now time.Time, hold time.Duration) bool {
	var first *InLine
	for i, e := range queue {
		holds := e.NeedsQuota && !e.Spent && hold > 0 && (e.Since.IsZero() || now.Sub(e.Since) < hold)
		if holds && (first == nil || e.Before(*first, byPriority)) {
			first = &queue[i]
		}
	}
	if first == nil || !first.Before(j, byPriority) {
		return false
	}
	switch {
	case !j.Admitted, j.Pods >= j.Minimum:
		return true
	case j.Pods > 0: // a gang that has lost a pod gets it back
		return false
	}
	return first.Admitted || !j.Promised
}
