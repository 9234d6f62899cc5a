package card

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Milli is a number of cards in milli-cards: 1000 are one card. It is a float64
// because accounts of resources are (see package fastres). Whole numbers are exact
// up to 2^53.
type Milli float64

// MilliOf converts a quantity of cards. A negative quantity is 0, and a quantity
// above math.MaxInt64 milli-cards is math.MaxInt64.
func MilliOf(quantity resource.Quantity) Milli { return Milli(thousandths(quantity)) }

// Cards converts a number of whole cards, such as Entry.Cards.
func Cards(n int64) Milli { return Milli(n) * 1000 }

// Cards converts m to whole cards and fractions of a card.
func (m Milli) Cards() float64 { return float64(m) / 1000 }

// String formats m in whole cards, with at most three decimals: "2", "0.5".
func (m Milli) String() string { return FormatDecimal(m.Cards()) }

// FormatDecimal formats a number with at most three decimals and without
// trailing zeros.
func FormatDecimal(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 3, 64), "0"), ".")
}

// maxWhole is the largest whole number that fits in an int64 as thousandths.
const maxWhole = math.MaxInt64 / 1000

// thousandths returns a quantity in thousandths, from 0 to math.MaxInt64.
// Quantity.MilliValue wraps around where the result does not fit in an int64.
func thousandths(quantity resource.Quantity) int64 {
	if quantity.Sign() <= 0 {
		return 0
	}
	if whole, ok := quantity.AsInt64(); ok && whole <= maxWhole { // nearly every quantity
		return whole * 1000
	}

	// Quantity.Cmp writes out all digits of 1e2000000000.
	if quantity.AsApproximateFloat64() >= maxWhole {
		return math.MaxInt64
	}

	return quantity.MilliValue()
}

// Fits reports whether a quantity of 0 or more is at most math.MaxInt64. The first comparison keeps CmpInt64 from
// writing out all digits of 1e2000000000.
func Fits(quantity resource.Quantity) bool {
	return quantity.AsApproximateFloat64() <= math.MaxInt64 && quantity.CmpInt64(math.MaxInt64) <= 0
}
