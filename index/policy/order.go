package policy

import (
	"strings"
	"time"
)

// OrderRule is the order of the jobs of a queue.
type OrderRule uint8

// The orders.
const (
	BestEffort   OrderRule = iota // the order of Volcano's plugins: a later job may pass an earlier one
	FIFO                          // by creation
	PriorityFIFO                  // by priority, then by creation
)

// String returns the name of the order in the annotation.
func (r OrderRule) String() string {
	return [...]string{BestEffort: "best-effort", FIFO: "fifo", PriorityFIFO: "priority-fifo"}[r]
}

// Order is the order of the jobs of a queue. The zero Order is BestEffort.
type Order struct {
	Rule OrderRule
	Hold time.Duration // how long a job that waits for quota holds back later ones, 0 for never
}

// DefaultHold bounds the time for which a job holds back later ones, if the annotation has no hold=.
const DefaultHold = time.Hour

const wantOrder = "best-effort, fifo or priority-fifo, the latter two also with a duration of 0 or more, " +
	"such as fifo,hold=30m"

// parseOrder parses the order of jobs, and how long a job holds back later ones.
func parseOrder(v *Value, text string) (ok bool) {
	rule, hold, bounded := strings.Cut(text, ",")
	switch rule {
	case "best-effort":
		return !bounded
	case "fifo":
		v.Order = Order{FIFO, DefaultHold}
	case "priority-fifo":
		v.Order = Order{PriorityFIFO, DefaultHold}
	default:
		return false
	}

	if !bounded {
		return true
	}

	text, given := strings.CutPrefix(hold, "hold=")
	v.Order.Hold, ok = ParseDuration(text)
	return given && ok
}

// JobOrder returns the order of the jobs of the queue.
func (v *Values) JobOrder() Order { return v[JobOrder].Order }
