package policy

import (
	"errors"
	"regexp"
	"strconv"
	"time"
)

// Every tells how windows follow one another.
type Every uint8

// The windows of the calendar in UTC, and windows of a fixed length.
const (
	EveryLength Every = iota // at the multiples of the length since 1970-01-01T00:00Z
	EveryDay
	EveryWeek // from Monday on
	EveryMonth
)

// Window is the period in which a budget counts. Windows follow one another, or the window slides. A sliding window
// ends now.
type Window struct {
	Every   Every
	Length  time.Duration // with EveryLength
	Sliding bool          // with EveryLength
}

// The bounds of window lengths.
const (
	leastWindow = time.Hour
	mostWindow  = 366 * 24 * time.Hour
)

// Parts is the number of parts of a sliding window in which usage is kept. Usage that is older than the window
// counts until its whole part is older.
const Parts = 48

var everyNames = map[string]Every{"day": EveryDay, "week": EveryWeek, "month": EveryMonth}

var windowLength = regexp.MustCompile(`^([1-9][0-9]{0,3})([dh])( sliding)?$`)

var errWindow = errors.New("is not day, week, month, or a length from 1h to 366d")

// ParseWindow parses a window such as month, 30d or "30d sliding".
func ParseWindow(text string) (Window, error) {
	if every, calendar := everyNames[text]; calendar {
		return Window{Every: every}, nil
	}

	parts := windowLength.FindStringSubmatch(text)
	if parts == nil {
		return Window{}, errWindow
	}

	n, _ := strconv.Atoi(parts[1])
	w := Window{Length: time.Duration(n) * time.Hour, Sliding: parts[3] != ""}
	if parts[2] == "d" {
		w.Length *= 24
	}

	if w.Length < leastWindow || w.Length > mostWindow {
		return Window{}, errWindow
	}

	return w, nil
}

// String formats the window as ParseWindow parses it. Equal windows have one text.
func (w Window) String() string {
	for text, every := range everyNames {
		if w.Every == every {
			return text
		}
	}

	const day = 24 * time.Hour
	text := strconv.Itoa(int(w.Length/time.Hour)) + "h"
	if w.Length%day == 0 {
		text = strconv.Itoa(int(w.Length/day)) + "d"
	}

	if w.Sliding {
		text += " sliding"
	}

	return text
}

// Buckets returns the number of parts in which usage is kept, and the length of each. Windows that follow one another
// have one part. Its length is 0.
func (w Window) Buckets() (n int, each time.Duration) {
	if !w.Sliding {
		return 1, 0
	}

	return Parts + 1, w.Length / Parts
}

// Begin returns the begin of the oldest part that counts at a time. It is the begin of the window itself, or for a
// sliding window, of the part that includes its begin.
func (w Window) Begin(at time.Time) time.Time {
	at = at.UTC()
	year, month, day := at.Date()
	switch w.Every {
	case EveryDay:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	case EveryWeek:
		return time.Date(year, month, day-(int(at.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	case EveryMonth:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	}

	if w.Sliding {
		return multiple(at, w.Length/Parts).Add(-w.Length)
	}

	return multiple(at, w.Length)
}

// End returns the end of the window that includes a time. A sliding window that begins now ends after its length.
func (w Window) End(at time.Time) time.Time {
	begin := w.Begin(at)
	switch w.Every {
	case EveryDay:
		return begin.AddDate(0, 0, 1)
	case EveryWeek:
		return begin.AddDate(0, 0, 7)
	case EveryMonth:
		return begin.AddDate(0, 1, 0)
	}

	if w.Sliding {
		return at.Add(w.Length)
	}

	return begin.Add(w.Length)
}

// multiple returns the latest multiple of a length since 1970 that is not after a time. Lengths are whole
// seconds, so the result is exact.
func multiple(at time.Time, length time.Duration) time.Time {
	seconds := int64(length / time.Second)
	unix := at.Unix()

	rest := unix % seconds
	if rest < 0 {
		rest += seconds
	}

	return time.Unix(unix-rest, 0).UTC()
}
