package arguments

import "github.com/capacity-card/capacity-card/plugin/cards"

// Variant holds the differences between the names of a plugin.
type Variant struct {
	Name string
	// Scalars: every scalar resource counts, not cpu and memory alone.
	Scalars bool
	// Proportion: deserved follows from weights and requests, and bounds allocation.
	Proportion bool
	// ZeroUnset: unsetCapability is zero by default.
	ZeroUnset bool
	// AdmitReclaimable: admitReclaimable is on by default.
	AdmitReclaimable bool
	Cards            cards.Scope
}

// The names of the plugins. Variants has what they stand for.
const (
	CapacityCard = "capacity-card"
	Capacity     = "capacity"
	Proportion   = "proportion"
)

// Variants are all variants.
var Variants = []Variant{
	{Name: CapacityCard, ZeroUnset: true, AdmitReclaimable: true, Cards: cards.Everywhere},
	{Name: Capacity, Scalars: true, Cards: cards.Annotated},
	{Name: Proportion, Scalars: true, Proportion: true},
}

// VariantOf returns what the name of a plugin stands for, false for the name of another plugin.
func VariantOf(name string) (Variant, bool) {
	for _, v := range Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}
