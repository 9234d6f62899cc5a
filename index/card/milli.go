package card

import (
	"bytes"
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

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// LongExponent reports whether a text has a number with an exponent of more than three digits, such as 1e-2000000000.
// Package resource writes out all its digits already when it parses the number. A hash such as 7e1234f has none.
func LongExponent(text []byte) bool {
	for i, c := range text {
		if c != 'e' && c != 'E' {
			continue
		}

		exponent := text[i+1:]
		if len(exponent) > 0 && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		after := bytes.TrimLeft(exponent, digits)
		if len(exponent)-len(after) <= 3 || bytes.ContainsAny(after[:min(1, len(after))], letters+"-") {
			continue
		}

		before := bytes.TrimRight(text[:i], digits+".")
		if len(before) < i && !bytes.ContainsAny(before[max(0, len(before)-1):], letters) {
			return true
		}
	}
	return false
}
