package card

import (
	"math"

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

// thousandths returns a quantity in thousandths, from 0 to math.MaxInt64.
// Quantity.MilliValue wraps around where the result does not fit in an int64.
func thousandths(quantity resource.Quantity) int64 {
	if quantity.Sign() <= 0 {
		return 0
	}
	// Quantity.Cmp writes out all digits of 1e2000000000.
	if quantity.AsApproximateFloat64() >= MaxCards {
		return math.MaxInt64
	}
	return quantity.MilliValue()
}
