package arguments

import "github.com/capacity-card/capacity-card/plugin/cards"

// Variant holds the differences between the names of a plugin.
type Variant struct {
	Name string
	// Scalars: every scalar resource counts, not only cpu and memory.
	Scalars bool
	// Proportion: deserved follows from weights and requests, and bounds allocation.
	Proportion bool
	// UnlimitedCPUMemory: cardUnlimitedCpuMemory is on by default.
	UnlimitedCPUMemory bool
	// AdmitReclaimable: admitReclaimable is on by default.
	AdmitReclaimable bool
	Cards            cards.Scope
}

// The names of the plugins.
const (
	CapacityCard = "capacity-card"
	Capacity     = "capacity"
	Proportion   = "proportion"
)

// Variants are the variants of all names.
var Variants = []Variant{
	{Name: CapacityCard, UnlimitedCPUMemory: true, AdmitReclaimable: true, Cards: cards.Everywhere},
	{Name: Capacity, Scalars: true, Cards: cards.Annotated},
	{Name: Proportion, Scalars: true, Proportion: true},
}

// VariantOf returns the variant of a name, false for the name of another plugin.
func VariantOf(name string) (Variant, bool) {
	for _, v := range Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}
