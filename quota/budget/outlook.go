package budget

import (
	"math"
	"time"

	"github.com/capacity-card/capacity-card/index/policy"
)

// Total is the sum of the parts of a window.
func Total(parts []float64) (sum float64) {
	for _, x := range parts {
		sum += x
	}
	return sum
}

// Limit converts the hours of a budget to card-milli × seconds, and Hours converts back.
func Limit(hours float64) float64 { return hours * 3600 * 1000 }

// Hours returns card-hours.
func Hours(milliSeconds float64) float64 { return milliSeconds / 3600 / 1000 }

// Need returns the use of the window by a quantity of a card that is held for some time from now on.
func Need(w policy.Window, now time.Time, milli float64, length time.Duration) float64 {
	return milli * max(0, min(length, w.End(now).Sub(now))).Seconds()
}

// Next returns the time when more of a budget is left, if nothing more is used: when the next window begins, or when
// the oldest use, and all that exceeds the limit, has left a sliding window. It returns the zero time for a sliding
// window without use.
func Next(w policy.Window, now time.Time, parts []float64, limit float64) time.Time {
	if !w.Sliding {
		return w.End(now)
	}

	// A budget has nothing left at its limit, so more has to leave than is above it.
	above := max(0, Total(parts)-limit)
	gone := 0.0
	_, each := w.Buckets()
	for i, x := range parts {
		gone += x
		if gone > above {
			return w.Begin(now).Add(time.Duration(i+1)*each + w.Length)
		}
	}
	return time.Time{}
}

// Never is the time until something that does not happen.
const Never time.Duration = math.MaxInt64

// UntilSpent returns the time until a budget is used up if a queue keeps its present quantity. It returns 0 if the
// budget is used up already. It returns Never if the window ends before that, or if as much use leaves a sliding
// window as the queue adds.
func UntilSpent(w policy.Window, now time.Time, parts []float64, limit, milli float64) time.Duration {
	used := Total(parts)
	switch {
	case used >= limit:
		return 0
	case milli <= 0:
		return Never
	case !w.Sliding:
		return within(limit-used, milli, w.End(now).Sub(now))
	}

	_, each := w.Buckets()
	at := now
	first := w.Begin(now)
	for i, part := range parts {
		leaves := first.Add(time.Duration(i+1)*each + w.Length)
		if t := within(limit-used, milli, leaves.Sub(at)); t != Never {
			return at.Sub(now) + t
		}

		used += milli*leaves.Sub(at).Seconds() - part
		at = leaves
	}

	// From now on, as much use leaves the window as the queue adds.
	return Never
}

// within returns the time until an amount is used, Never if it takes longer than most.
func within(left, milli float64, most time.Duration) time.Duration {
	if t := left / milli; t <= most.Seconds() {
		return time.Duration(t * float64(time.Second))
	}
	return Never
}
