// Package format formats quantities and times for people: in messages, events and tables.
package format

import (
	"math"
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// Readable converts a quantity of a dimension to readable units: cpu in cores, memory in bytes, everything else in
// whole units.
func Readable(d fastres.Dim, quantity float64) float64 {
	if d == fastres.Memory || d == fastres.Pods {
		return quantity
	}
	return quantity / 1000
}

// CardHours formats card-hours: to a tenth, below 1 to a thousandth.
func CardHours(hours float64) string {
	unit := 10.0
	if hours < 1 {
		unit = 1000
	}

	return card.FormatDecimal(math.Round(hours*unit) / unit)
}

// Minute formats a time in UTC, rounded up to the minute. The zero time is "".
func Minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}

	return t.UTC().Add(time.Minute - 1).Truncate(time.Minute).Format("2006-01-02T15:04Z")
}

// Unit is a unit of memory.
type Unit struct {
	Name  string
	bytes float64
}

// Mi is the unit of memory in messages, Gi in tables.
var (
	Mi = Unit{"Mi", 1 << 20}
	Gi = Unit{"Gi", 1 << 30}
)

// Amount formats a quantity that Readable returns.
func Amount(resource string, quantity float64, memory Unit) string {
	if resource == "memory" {
		return card.FormatDecimal(quantity/memory.bytes) + memory.Name
	}

	return card.FormatDecimal(quantity)
}
