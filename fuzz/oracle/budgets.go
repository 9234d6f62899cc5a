package oracle

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Use records the use of a card by one queue (docs/spec/budgets.md). It keeps every step and adds them up again for
// every answer.
type Use struct{ steps []held }

type held struct {
	from, to time.Time
	cards    float64
}

// Had adds the cards of the queue between two times.
func (u *Use) Had(from, to time.Time, cards float64) {
	u.steps = append(u.steps, held{from, to, cards})
}

// Add adds the steps of another queue.
func (u *Use) Add(other *Use) { u.steps = append(u.steps, other.steps...) }

// Used returns bounds of the card-hours that count in a window now. Use in a sliding window may count for 1/48 of the
// length too long.
func (u *Use) Used(window string, now time.Time) (least, most float64) {
	begin, part := windowBegin(window, now)
	return u.since(begin), u.since(begin.Add(-part))
}

func (u *Use) since(begin time.Time) (hours float64) {
	for _, s := range u.steps {
		from := s.from
		if begin.After(from) {
			from = begin
		}
		if s.to.After(from) {
			hours += s.cards * s.to.Sub(from).Hours()
		}
	}

	return hours
}

// windowBegin returns the time when the present window began, and the length of a part of a sliding window.
func windowBegin(window string, now time.Time) (begin time.Time, part time.Duration) {
	midnight := time.Date(now.UTC().Year(), now.UTC().Month(), now.UTC().Day(), 0, 0, 0, 0, time.UTC)
	switch window {
	case "day":
		return midnight, 0
	case "week":
		for midnight.Weekday() != time.Monday {
			midnight = midnight.AddDate(0, 0, -1)
		}

		return midnight, 0
	case "month":
		return midnight.AddDate(0, 0, 1-midnight.Day()), 0
	}

	// A number of hours or days, such as 12h or 30d sliding.
	text, slides := strings.CutSuffix(window, " sliding")
	n, _ := strconv.Atoi(text[:len(text)-1])
	length := time.Duration(n) * time.Hour
	if strings.HasSuffix(text, "d") {
		length *= 24
	}
	if slides {
		return now.Add(-length), length / 48
	}

	// Windows that do not slide begin at multiples of their length since 1970.
	windows := math.Floor(now.Sub(time.Unix(0, 0)).Hours() / length.Hours())
	return time.Unix(int64(windows*length.Seconds()), 0), 0
}

// BudgetOf reads a valid value of a budget.
func BudgetOf(value string) (hours float64, window string) {
	amount, window, _ := strings.Cut(value, "h/")
	hours, _ = strconv.ParseFloat(amount, 64)
	return hours, window
}
