package override

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are the layouts of times with a date. A time without an offset is in the zone of the window.
var layouts = []string{"2006-01-02T15:04Z07:00", time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05"}

// parseSpan parses the period in which a window holds.
func parseSpan(when map[string]string) (s span, problem string) {
	zone := time.UTC
	name, given := when[zoneKey]
	if given {
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

	from, fromIsClock := parseClock(when[fromKey])
	until, untilIsClock := parseClock(when[untilKey])
	if fromIsClock && untilIsClock {
		days, hasDays := when[daysKey]
		return parseWeekly(weekly{from: from, until: until, zone: zone}, days, hasDays)
	}

	return parseOnce(when, zone)
}

// parseOnce parses the period of a window that holds once, between two dates.
func parseOnce(when map[string]string, zone *time.Location) (s span, problem string) {
	from, fromOK := ParseTime(when[fromKey], zone)
	until, untilOK := ParseTime(when[untilKey], zone)
	_, hasDays := when[daysKey]
	switch {
	case !fromOK || !untilOK:
		return nil, fmt.Sprintf(
			`%s and %s are not two times with a date, such as "2026-12-01T00:00Z", nor two of a day, such as "20:00"`,
			quote(when[fromKey]), quote(when[untilKey]))
	case hasDays:
		return nil, `with "days", "from" and "until" are times of a day, such as "20:00"`
	case !from.Before(until):
		return nil, fmt.Sprintf("it ends at %s, and begins at %s", minute(until), minute(from))
	}

	return once{from, until}, ""
}

// ParseTime parses a time with a date. A time without an offset is in the given zone.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, text, zone)
		if err == nil {
			return t, true
		}
	}

	return time.Time{}, false
}

// endOfDay is 24:00 in minutes after midnight.
const endOfDay = 24 * 60

// parseClock parses a time of the day, in minutes after midnight.
func parseClock(text string) (minutes int, ok bool) {
	hour, minute, found := strings.Cut(text, ":")
	h, hourErr := strconv.ParseUint(hour, 10, 8)
	m, minuteErr := strconv.ParseUint(minute, 10, 8)
	minutes = int(h)*60 + int(m)

	wellFormed := found && len(hour) == 2 && len(minute) == 2 && hourErr == nil && minuteErr == nil
	return minutes, wellFormed && m < 60 && minutes <= endOfDay
}

// parseWeekly adds days to a weekly period. Without days, it holds every day.
func parseWeekly(w weekly, days string, hasDays bool) (span, string) {
	switch {
	case w.from == endOfDay:
		return nil, `from: "24:00" is the end of a day; use "00:00"`
	case w.from == w.until:
		return nil, `it ends when it begins; a whole day is from "00:00" until "24:00"`
	case !hasDays:
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
		name := day.String()
		if strings.EqualFold(strings.TrimSpace(text), name[:3]) {
			return day, true
		}
	}

	return 0, false
}
