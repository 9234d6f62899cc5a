package oracle

import (
	"cmp"
	"time"
)

// InLine is a job in the order of its queue (docs/spec/policies.md, order).
type InLine struct {
	Priority int32
	Created  time.Time
	Name     string // namespace/name

	Admitted   bool
	NeedsQuota bool // it waits for quota, as the page says

	Since time.Time // when it began to hold back others
	Spent bool      // it has held back others for its time

	Minimum, Pods int  // the number of pods of its minimum, and of its present pods
	Promised      bool // the missing part of its minimum is reserved for it
}

// Before reports whether a job goes before another one.
func (j InLine) Before(other InLine, byPriority bool) bool {
	order := j.Created.Compare(other.Created)
	if byPriority {
		order = cmp.Or(cmp.Compare(other.Priority, j.Priority), order)
	}
	return cmp.Or(order, cmp.Compare(j.Name, other.Name)) < 0
}

// Waits reports whether a job of a queue waits for an earlier job. The job waits with its admission. If it is
// admitted, it waits with its next pod.
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
	case j.Pods > 0:
		// A gang that has lost a pod gets it back.
		return false
	}

	return first.Admitted || !j.Promised
}
