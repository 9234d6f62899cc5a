package override

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are those of times. One without an offset is a time of the zone.
var layouts = []string{"2006-01-02T15:04Z07:00", time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05"}

// parseSpan parses when a window holds.
func parseSpan(when map[string]string) (s span, problem string) {
	zone := time.UTC
	if name, given := when[zoneKey]; given {
		var err error
		zone, err = time.LoadLocation(name)
		if err != nil || name == "" || name == "Local" {
			return nil, fmt.Sprintf(`zone: %s is not a time zone, such as "Europe/Berlin"`, quote(name))
		}
	}
	for _, key := range []string{fromKey, untilKey} {
		if _, given := when[key]; !given {
			return nil, fmt.Sprintf("it has no %q", key)
		}
	}
	from, isClock := parseClock(when[fromKey])
	until, untilClock := parseClock(when[untilKey])
	days, weeklyDays := when[daysKey]
	if isClock && untilClock {
		return parseWeekly(weekly{from: from, until: until, zone: zone}, days, weeklyDays)
	}
	var o once
	var ok, untilOK bool
	o.from, ok = ParseTime(when[fromKey], zone)
	o.until, untilOK = ParseTime(when[untilKey], zone)
	switch {
	case !ok || !untilOK:
		return nil, fmt.Sprintf(`%s and %s are not two times with a date, such as "2026-12-01T00:00Z", nor two of a day, such as "20:00"`,
			quote(when[fromKey]), quote(when[untilKey]))
	case weeklyDays:
		return nil, `with "days", "from" and "until" are times of a day, such as "20:00"`
	}
	if !o.from.Before(o.until) {
		return nil, fmt.Sprintf("it ends at %s, and begins at %s", minute(o.until), minute(o.from))
	}
	return o, ""
}

// ParseTime parses a time with a date. One without an offset is a time of the zone.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// parseClock parses a time of the day, in minutes after midnight.
func parseClock(text string) (minutes int, ok bool) {
	hour, minute, found := strings.Cut(text, ":")
	h, err := strconv.ParseUint(hour, 10, 8)
	m, err2 := strconv.ParseUint(minute, 10, 8)
	minutes = int(h)*60 + int(m)
	return minutes, found && len(hour) == 2 && len(minute) == 2 && err == nil && err2 == nil && m < 60 && minutes <= 24*60
}

func parseWeekly(w weekly, days string, given bool) (span, string) {
	switch {
	case w.from == 24*60:
		return nil, `from: "24:00" is the end of a day; use "00:00"`
	case w.from == w.until:
		return nil, `it ends when it begins; a whole day is from "00:00" until "24:00"`
	case !given:
		days = "Mon-Sun"
	}
	for _, part := range strings.Split(days, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, ok := parseDay(first)
		until := from
		if isRange && ok {
			until, ok = parseDay(last)
		}
		if !ok {
			return nil, fmt.Sprintf(`days: %s is not days, such as "Mon-Fri" or "Sat,Sun"`, quote(days))
		}
		for day := from; ; day = (day + 1) % 7 {
			w.days[day] = true
			if day == until {
				break
			}
		}
	}
	return w, ""
}

func parseDay(text string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := day.String(); strings.EqualFold(strings.TrimSpace(text), name[:3]) {
			return day, true
		}
	}
	return 0, false
}
