package policy

import (
	"regexp"
	"strconv"
	"time"
)

// Rate bounds the number of evictions in any period of a length. The zero Rate is no bound.
type Rate struct {
	Most   int // 1 to mostEvictions
	Length time.Duration
}

// String formats a rate as the annotation has it, such as 10/1h.
func (r Rate) String() string {
	n := int(r.Length / time.Minute)
	unit := "m"
	switch {
	case n%(24*60) == 0:
		n, unit = n/(24*60), "d"
	case n%60 == 0:
		n, unit = n/60, "h"
	}

	return strconv.Itoa(r.Most) + "/" + strconv.Itoa(n) + unit
}

// The bounds of rates.
const (
	leastRateLength = time.Minute
	mostRateLength  = 31 * 24 * time.Hour
	mostEvictions   = 10000
)

var (
	rateText  = regexp.MustCompile(`^([1-9][0-9]{0,4})/([1-9][0-9]{0,4})([mhd])$`)
	rateUnits = map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
)

// parseRate parses a number of evictions from 1 to 10000 and a length from 1m to 31d, such as 10/1h.
func parseRate(v *Value, text string) bool {
	parts := rateText.FindStringSubmatch(text)
	if parts == nil {
		return false
	}

	most, _ := strconv.Atoi(parts[1]) // at most 5 digits
	n, _ := strconv.Atoi(parts[2])
	v.Rate = Rate{Most: most, Length: time.Duration(n) * rateUnits[parts[3]]}

	inBounds := v.Rate.Length >= leastRateLength && v.Rate.Length <= mostRateLength
	return most <= mostEvictions && inBounds
}

// parseAfter parses how long pods may run on above a bound before they are evicted.
func parseAfter(v *Value, text string) (ok bool) {
	v.Duration, ok = ParseDuration(text)
	v.Flag = true
	return ok
}

func parseBudgeted(v *Value, rest string) bool {
	v.Budgeted = true
	return rest == ""
}

func parseOff(_ *Value, text string) bool { return text == "off" }

// checkEnforce expects off alone, or after= with or without budgets.
func checkEnforce(_ *Values, given map[string]string) string {
	after, enforced := given["after="]
	off, ends := given[""]
	switch {
	case ends && enforced:
		return after
	case !enforced:
		return given["budgets"]
	}
	return off
}

// EvictionBudget bounds the evictions of pods in the queue and below.
func (v *Values) EvictionBudget() Rate { return v[EvictionBudget].Rate }

// ReclaimBudget bounds the evictions of pods in other queues for pods in this queue and below.
func (v *Values) ReclaimBudget() Rate { return v[ReclaimBudget].Rate }

// EnforceQuota returns how long pods may run on above the bounds of the queue, and whether they are evicted afterwards.
func (v *Values) EnforceQuota() (after time.Duration, on bool) {
	return v[EnforceQuota].Duration, v[EnforceQuota].Flag
}

// EnforcesQuota reports whether pods above the bounds of the queue are evicted.
func (v *Values) EnforcesQuota() bool { return v[EnforceQuota].Flag }

// EnforceBudgets reports whether an exhausted budget of card-hours is such a bound.
func (v *Values) EnforceBudgets() bool { return v[EnforceQuota].Budgeted }
