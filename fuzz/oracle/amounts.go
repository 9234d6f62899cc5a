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

// Unlimited stands for "no bound".
const Unlimited = math.MaxFloat64

// tolerance is the difference up to which upstream's older comparisons treat two quantities
// as equal. The comparisons of admission have no tolerance.
const tolerance = 0.1

// Amounts holds a quantity for each dimension that is present.
type Amounts map[string]float64

// has reports whether a dimension is present. cpu and memory always are.
func (a Amounts) has(d string) bool {
	_, named := a[d]
	return named || d == CPU || d == Memory
}

// dimensions returns the dimensions that any of the amounts has, in alphabetical order.
func dimensions(all ...Amounts) []string {
	names := Amounts{CPU: 0, Memory: 0}
	for _, a := range all {
		maps.Copy(names, a)
	}
	return slices.Sorted(maps.Keys(names))
}

// requested returns the dimensions that admission compares: all dimensions above 0 except pods,
// because every task requests one pod.
func (a Amounts) requested() []string {
	return slices.DeleteFunc(dimensions(a), func(d string) bool { return d == Pods || a[d] <= 0 })
}

// Plus returns a + b. A dimension that is present in a or b is present in the sum.
func (a Amounts) Plus(b Amounts) Amounts {
	sum := Amounts{CPU: 0, Memory: 0}
	for _, each := range []Amounts{a, b} {
		for d, quantity := range each {
			sum[d] += quantity
		}
	}

	return sum
}

// Minus returns max(0, a − b).
func (a Amounts) Minus(b Amounts) Amounts {
	rest := Amounts{}
	for _, d := range dimensions(a, b) {
		rest[d] = max(0, a[d]-b[d])
	}
	return rest
}

// difference returns |a − b|.
func (a Amounts) difference(b Amounts) Amounts { return a.Minus(b).Plus(b.Minus(a)) }

// beyond returns the part of a that exceeds b. Other dimensions are absent.
func (a Amounts) beyond(b Amounts) Amounts {
	excess := Amounts{}
	for _, d := range dimensions(a) {
		if a[d] > b[d] {
			excess[d] = a[d] - b[d]
		}
	}

	return excess
}

// within returns a, lowered to limit in the dimensions that both have.
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

// atLeast returns a, raised to floor.
func (a Amounts) atLeast(floor Amounts) Amounts {
	raised := Amounts{}
	for _, d := range dimensions(a, floor) {
		raised[d] = max(a[d], floor[d])
	}
	return raised
}

// Empty reports whether every dimension except pods is below the tolerance.
func (a Amounts) Empty() bool {
	return !slices.ContainsFunc(dimensions(a), func(d string) bool { return d != Pods && a[d] >= tolerance })
}

func atMost(x, y float64) bool { return x < y || math.Abs(x-y) < tolerance }

// covers reports whether a is at least b, with tolerance.
func (a Amounts) covers(b Amounts) bool {
	return !slices.ContainsFunc(dimensions(b), func(d string) bool { return !atMost(b[d], a[d]) })
}

// common reports whether some dimension is at least the tolerance in both.
func common(a, b Amounts, pods bool) bool {
	return slices.ContainsFunc(dimensions(a), func(d string) bool {
		return (pods || d != Pods) && a[d] >= tolerance && b[d] >= tolerance
	})
}
