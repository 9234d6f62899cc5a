package oracle

import (
	"maps"
	"math"
	"slices"
)

// The dimensions that rules name.
const (
	CPU    = "cpu"
	Memory = "memory"
	Pods   = "pods"
)

// Unlimited is a bound that nothing reaches.
const Unlimited = math.MaxFloat64

// tolerance is how far upstream's older comparisons let two quantities differ
// and still be equal. The admission checks, which were written later, are exact.
const tolerance = 0.1

// Amounts is a quantity per dimension.
type Amounts map[string]float64

// has reports whether a dimension is present. cpu and memory always are.
func (a Amounts) has(d string) bool {
	_, named := a[d]
	return named || d == CPU || d == Memory
}

// dimensions returns what any of the amounts has, in alphabetical order.
func dimensions(all ...Amounts) []string {
	names := Amounts{CPU: 0, Memory: 0}
	for _, a := range all {
		maps.Copy(names, a)
	}
	return slices.Sorted(maps.Keys(names))
}

// requested returns the dimensions that admission looks at: what is asked for,
// and not pods, as every task asks for one.
func (a Amounts) requested() []string {
	return slices.DeleteFunc(dimensions(a), func(d string) bool { return d == Pods || a[d] <= 0 })
}

// Plus is a + b; what is present in either is present in the sum.
func (a Amounts) Plus(b Amounts) Amounts {
	sum := Amounts{CPU: 0, Memory: 0}
	for _, each := range []Amounts{a, b} {
		for d, quantity := range each {
			sum[d] += quantity
		}
	}
	return sum
}

// Minus is a − b, but never below 0.
func (a Amounts) Minus(b Amounts) Amounts {
	rest := Amounts{}
	for _, d := range dimensions(a, b) {
		rest[d] = max(0, a[d]-b[d])
	}
	return rest
}

// beyond is the part of a that exceeds b; what does not exceed is absent.
func (a Amounts) beyond(b Amounts) Amounts {
	excess := Amounts{}
	for _, d := range dimensions(a) {
		if a[d] > b[d] {
			excess[d] = a[d] - b[d]
		}
	}
	return excess
}

// within is a, lowered to limit where both have a dimension. What limit does
// not name is not limited by it.
func (a Amounts) within(limit Amounts) Amounts {
	capped := Amounts{}
	for _, d := range dimensions(a) {
		capped[d] = a[d]
		if limit.has(d) {
			capped[d] = min(a[d], limit[d])
		}
	}
	return capped
}

// atLeast is a, raised to floor.
func (a Amounts) atLeast(floor Amounts) Amounts {
	raised := Amounts{}
	for _, d := range dimensions(a, floor) {
		raised[d] = max(a[d], floor[d])
	}
	return raised
}

// empty reports whether nothing but pods reaches the tolerance.
func (a Amounts) empty() bool {
	return !slices.ContainsFunc(dimensions(a), func(d string) bool { return d != Pods && a[d] >= tolerance })
}

func atMost(x, y float64) bool { return x < y || math.Abs(x-y) < tolerance }

// covers reports whether b has at least a, with tolerance.
func (a Amounts) covers(b Amounts) bool {
	return !slices.ContainsFunc(dimensions(b), func(d string) bool { return !atMost(b[d], a[d]) })
}

// common reports whether some dimension reaches the tolerance in both.
func common(a, b Amounts, pods bool) bool {
	return slices.ContainsFunc(dimensions(a), func(d string) bool {
		return (pods || d != Pods) && a[d] >= tolerance && b[d] >= tolerance
	})
}
