package check

import (
	"strings"
	"time"
)

// Lag is how long after a change the scheduler knows it, as long as there is no fault. It takes milliseconds; the rest
// is for a machine that is busy with other things.
const Lag = 5 * time.Second

// What the marks of a history say.
const (
	// Configured has a Configuration as text: it is in force from now on.
	Configured = "configured"
	// Fault begins a fault, and FaultEnds ends it. Between, the scheduler may see and do everything late.
	Fault, FaultEnds = "fault", "fault ends"
	// Restart is a scheduler that has ended. What it knew and did not store is lost.
	Restart = "restart"
	// Fenced begins the time in which a scheduler acts although another one leads, since nothing keeps it from that: it
	// was stopped for longer than its lease. FenceEnds ends it.
	Fenced, FenceEnds = "two leaders", "one leader"
	// Replaced begins the time in which another program schedules, whose decisions are not judged. ReplacedEnds ends
	// it.
	Replaced, ReplacedEnds = "replaced", "replaced ends"
	// Note is a change that the scheduler sees.
	Note = "note"
	// Quiet is a cluster in which nothing has changed for some cycles.
	Quiet = "quiet"
	// Metrics has the metrics of the leader as text, at a time that is quiet.
	Metrics = "metrics"
)

// interval is a time; until is zero while it lasts.
type interval struct {
	what        string
	from, until time.Time
}

// windows knows which changes a decision may not have seen.
type windows struct {
	faults   []interval
	restarts []time.Time
	// others are the times in which the scheduler is not the only one; what they are called is the excuse.
	others []interval
}

// What excuses decisions that are not those of the scheduler under test.
const (
	noFence  = "a scheduler that was stopped for longer than its lease went on, and the API server has no fence"
	replaced = "another program scheduled"
)

// mark notes a fault or a restart, and reports whether it is one.
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

// end ends the last interval of a name that has not ended.
func end(all []interval, name string, at time.Time) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].what == name && all[i].until.IsZero() {
			all[i].until = at
			return
		}
	}
}

// view is the oldest time of which a decision that shows at t may have been: Lag before, and before each fault that is
// less than Lag older than that.
func (w *windows) view(t time.Time) time.Time {
	oldest := t.Add(-Lag)
	for i := len(w.faults) - 1; i >= 0; i-- {
		fault := w.faults[i]
		if fault.from.After(t) || !fault.until.IsZero() && fault.until.Before(oldest) {
			continue
		}
		if before := fault.from.Add(-Lag); before.Before(oldest) {
			oldest = before
		}
	}
	return oldest
}

// another returns what excuses a decision that shows at t, since another scheduler may have made it, or "".
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
	for _, at := range w.restarts {
		if !at.Before(from) && !at.After(until) {
			return true
		}
	}
	return false
}

// faulty names the fault that there was between two times, or "".
func (w *windows) faulty(from, until time.Time) string {
	for _, fault := range w.faults {
		if !fault.from.After(until) && (fault.until.IsZero() || !fault.until.Before(from)) {
			name, _, _ := strings.Cut(fault.what, " ")
			return name
		}
	}
	return ""
}

// versions are the values of something over time.
type versions[T any] []version[T]

type version[T any] struct {
	from  time.Time
	value T
}

// put adds the value from now on.
func (v *versions[T]) put(at time.Time, value T) { *v = append(*v, version[T]{at, value}) }

// since returns the values that were in force at some time from then on; the last one is that of now.
func (v versions[T]) since(then time.Time) []version[T] {
	first := len(v) - 1
	for first > 0 && v[first].from.After(then) {
		first--
	}
	return v[max(first, 0):]
}

// now is the value in force, or the zero value if there never was one.
func (v versions[T]) now() (value T) {
	if len(v) == 0 {
		return value
	}
	return v[len(v)-1].value
}
