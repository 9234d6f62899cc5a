package override

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the image of the scheduler has no files of time zones
)

// span is the period in which a window holds.
type span interface {
	// at reports whether the window holds at a time. next is the time of the next change, zero for never.
	at(now time.Time) (holds bool, next time.Time)
	// starts returns times at which the window begins to hold, for a week after a time. It includes the begin of a
	// period that holds at the time.
	starts(after time.Time) []time.Time
	String() string
}

// once is a period that occurs once.
type once struct{ from, until time.Time }

func (o once) at(now time.Time) (holds bool, next time.Time) {
	switch {
	case now.Before(o.from):
		return false, o.from
	case now.Before(o.until):
		return true, o.until
	}

	return false, time.Time{}
}

func (o once) starts(time.Time) []time.Time { return []time.Time{o.from} }

func (o once) String() string { return minute(o.from) + " to " + minute(o.until) }

// minute formats a time, without the seconds if they are 0.
func minute(t time.Time) string {
	if t.Second() == 0 {
		return t.Format("2006-01-02T15:04Z07:00")
	}

	return t.Format(time.RFC3339)
}

// weekly holds on some days of each week, from one time of the day until another. If the end is not later than the
// begin, it belongs to the next day.
type weekly struct {
	days        [7]bool // from Sunday
	from, until int     // minutes after midnight, at most endOfDay
	zone        *time.Location
}

// day returns the period that begins on a day: the day of a local time, plus a number of days.
func (w weekly) day(local time.Time, days int) (from, until time.Time, holds bool) {
	noon := time.Date(local.Year(), local.Month(), local.Day()+days, 12, 0, 0, 0, time.UTC)
	if !w.days[noon.Weekday()] {
		return time.Time{}, time.Time{}, false
	}

	end := w.until
	if end <= w.from {
		end += endOfDay
	}

	from = instant(noon, w.from, w.zone)
	until = instant(noon, end, w.zone)

	return from, until, from.Before(until)
}

func (w weekly) at(now time.Time) (holds bool, next time.Time) {
	local := now.In(w.zone)
	for i := -2; i <= 8; i++ {
		from, until, some := w.day(local, i)
		if !some {
			continue
		}

		holds = holds || !now.Before(from) && now.Before(until)

		// A day ends before the next one begins, so the first change in this order is the next one.
		for _, change := range []time.Time{from, until} {
			if now.Before(change) && next.IsZero() {
				next = change
			}
		}
	}

	return holds, next
}

func (w weekly) starts(after time.Time) (all []time.Time) {
	local := after.In(w.zone)
	for i := -2; i <= 8; i++ {
		from, _, some := w.day(local, i)
		if some {
			all = append(all, from)
		}
	}

	return all
}

func (w weekly) String() string {
	days := "daily"
	if slices.Contains(w.days[:], false) {
		var names []string
		for i := range 7 {
			day := time.Weekday((i + 1) % 7)
			if w.days[day] {
				names = append(names, day.String()[:3])
			}
		}
		days = strings.Join(names, ",")
	}

	return fmt.Sprintf("%s %s to %s %s", days, clock(w.from), clock(w.until), w.zone)
}

func clock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// instant returns the first instant at which the clocks of a zone show a time of a day, in minutes after midnight. If
// the clocks skip that time, it is the instant of the change.
func instant(day time.Time, minutes int, zone *time.Location) time.Time {
	shown := time.Date(day.Year(), day.Month(), day.Day(), 0, minutes, 0, 0, time.UTC)

	var first, skipping time.Time
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(near).In(zone).Zone()
		t := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if skipping.IsZero() {
			skipping = t // by the clock before the change, so after the change
		}

		_, shownOffset := t.Zone()
		if shownOffset == offset && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}

	if first.IsZero() {
		first, _ = skipping.ZoneBounds()
	}

	return first
}
