package check

import (
	"slices"
	"strings"
	"time"
)

// Lag bounds the time until the scheduler knows a change, if there is no fault. It usually takes milliseconds. The rest
// is for a busy machine.
const Lag = 5 * time.Second

// The words of marks.
const (
	// Configured has a Configuration as text, which is in force from now on.
	Configured = "configured"
	// Fault begins a fault, and FaultEnds ends it. Between, the scheduler may see and do everything late.
	Fault, FaultEnds = "fault", "fault ends"
	// Restart is the end of a scheduler. It loses all knowledge that it did not store.
	Restart = "restart"
	// Fenced begins a period in which a scheduler acts although another one leads. It was stopped for longer than its
	// lease, and nothing prevents it from acting. FenceEnds ends the period.
	Fenced, FenceEnds = "two leaders", "one leader"
	// Replaced begins a period in which another program schedules. Its decisions are not judged. ReplacedEnds ends the
	// period.
	Replaced, ReplacedEnds = "replaced", "replaced ends"
	// Note is a change that the scheduler sees.
	Note = "note"
	// Quiet is a cluster in which nothing has changed for some cycles.
	Quiet = "quiet"
	// Metrics has the metrics of the leader as text, at a time that is quiet.
	Metrics = "metrics"
)

// interval is a period. until is zero while it lasts.
type interval struct {
	what        string
	from, until time.Time
}

// windows knows which changes a decision may not have seen.
type windows struct {
	faults   []interval
	restarts []time.Time
	// others are the periods in which the scheduler is not the only one. Their name is the excuse.
	others []interval
}

// The excuses for decisions of other schedulers than the one under test.
const (
	noFence  = "a scheduler that was stopped for longer than its lease went on, and the API server has no fence"
	replaced = "another program scheduled"
)

// mark records a mark of a fault, a restart or another scheduler, and reports whether it is one.
func (w *windows) mark(what, name string, at time.Time) bool {
	switch what {
	case Fault:
		w.faults = append(w.faults, interval{what: name, from: at})
	case FaultEnds:
		end(w.faults, name, at)
	case Fenced:
		w.others = append(w.others, interval{what: noFence, from: at})
	case FenceEnds:
		end(w.others, noFence, at)
	case Replaced:
		w.others = append(w.others, interval{what: replaced, from: at})
	case ReplacedEnds:
		end(w.others, replaced, at)
	case Restart:
		w.restarts = append(w.restarts, at)
	default:
		return false
	}
	return true
}

// end ends the last open interval with a name.
func end(all []interval, name string, at time.Time) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].what == name && all[i].until.IsZero() {
			all[i].until = at
			return
		}
	}
}

// view returns the earliest time that a decision at t may be based on. It is Lag before t, and Lag before each fault
// that lasts into this period.
func (w *windows) view(t time.Time) time.Time {
	oldest := t.Add(-Lag)
	for _, fault := range slices.Backward(w.faults) {
		if fault.from.After(t) || !fault.until.IsZero() && fault.until.Before(oldest) {
			continue
		}

		before := fault.from.Add(-Lag)
		if before.Before(oldest) {
			oldest = before
		}
	}

	return oldest
}

// another returns an excuse for a decision at t if another scheduler may have made it, or "".
func (w *windows) another(t time.Time) string {
	for _, each := range w.others {
		if !t.Before(each.from) && (each.until.IsZero() || t.Before(each.until.Add(Lag))) {
			return each.what
		}
	}

	return ""
}

// restarted reports whether a scheduler ended between two times.
func (w *windows) restarted(from, until time.Time) bool {
	return slices.ContainsFunc(w.restarts, func(at time.Time) bool { return !at.Before(from) && !at.After(until) })
}

// faulty returns the name of a fault between two times, or "".
func (w *windows) faulty(from, until time.Time) string {
	for _, fault := range w.faults {
		if !fault.from.After(until) && (fault.until.IsZero() || !fault.until.Before(from)) {
			name, _, _ := strings.Cut(fault.what, " ")
			return name
		}
	}

	return ""
}

// versions are the values of an object over time.
type versions[T any] []version[T]

type version[T any] struct {
	from  time.Time
	value T
}

// since returns the values that were in force at some time from then on. The last one is the present value.
func (v versions[T]) since(then time.Time) []version[T] {
	first := len(v) - 1
	for first > 0 && v[first].from.After(then) {
		first--
	}

	return v[max(first, 0):]
}

// now returns the value in force, or the zero value if there never was one.
func (v versions[T]) now() (value T) {
	if len(v) == 0 {
		return value
	}

	return v[len(v)-1].value
}
