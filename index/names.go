package index

import (
	"math"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/capacity-card/capacity-card/fastres"
)

// Names maps the names of resources, cards and devices to dimensions. A name keeps its
// dimension for the life of the Names, across sessions. To remove names, begin with new
// Names. A resource, a card and devices with the same name have three dimensions. The zero
// Names is ready for use.
type Names struct {
	resources, cards, devices map[string]fastres.Dim
	names                     []string // by dimension
	cardDims                  bitset.BitSet
	class                     []fastres.Dim // by dimension; 0 for resources and cards
	groups                    [][]Share     // by dimension; nil if it is in no group
	groupDims                 bitset.BitSet
	allGroups                 []fastres.Dim
}

// Share is the part of a group that one card has. A group of cards is a dimension of its own. Every
// account has
//
//	account(group) = Σ Weight · charge(card)
//
// Weight and the quantities of cards are multiples of 2^-20 above 0. Of rounds each product down to
// such a multiple. Therefore sums are exact below 2^33 milli-cards.
type Share struct {
	Group  fastres.Dim
	Weight float64
}

// grain is the unit of quantities of cards, in milli-cards.
const grain = 1.0 / (1 << 20)

// RoundDown rounds a quantity of a card down to a multiple of 2^-20 milli-cards.
func RoundDown(milli float64) float64 { return math.Floor(milli/grain) * grain }

// Of converts a quantity of the card to a quantity of the group. Of(-x) is -Of(x).
func (s Share) Of(milli float64) float64 { return math.Trunc(s.Weight*milli/grain) * grain }

// fixedNames are the names of the dimensions that fastres fixes.
var fixedNames = [fastres.FirstFree]string{fastres.CPU: "cpu", fastres.Memory: "memory", fastres.Pods: "pods"}

// Intern returns the dimension of a resource. A new resource gets the next dimension.
func (n *Names) Intern(resource string) fastres.Dim {
	n.init()
	d, _ := n.add(n.resources, resource)
	return d
}

// InternCard returns the dimension of a card. A new card gets the next dimension.
func (n *Names) InternCard(card string) fastres.Dim {
	n.init()
	d, added := n.add(n.cards, card)
	if added {
		n.cardDims.Set(uint(d))
	}
	return d
}

// InternClass returns the dimension that counts the devices of a class. name is the key of
// its quota, deviceclass/<class>. A new class gets the next dimension.
func (n *Names) InternClass(name string) fastres.Dim {
	n.init()
	d, added := n.add(n.devices, name)
	if added {
		n.class[d] = d
	}
	return d
}

// InternCapacity returns the dimension of a capacity of the devices of a class, which
// InternClass has returned. name is the key of its quota, <dimension>.deviceclass/<class>. A
// new capacity gets the next dimension.
func (n *Names) InternCapacity(name string, class fastres.Dim) fastres.Dim {
	d, added := n.add(n.devices, name)
	if added {
		n.class[d] = class
	}
	return d
}

func (n *Names) init() {
	if n.resources != nil {
		return
	}

	n.resources = map[string]fastres.Dim{}
	n.cards = map[string]fastres.Dim{}
	n.devices = map[string]fastres.Dim{}

	for _, fixed := range fixedNames {
		n.add(n.resources, fixed)
	}
}

// add returns the dimension of a name. added says that the name is new, and got the next dimension.
func (n *Names) add(to map[string]fastres.Dim, name string) (d fastres.Dim, added bool) {
	d, known := to[name]
	if known {
		return d, false
	}

	d = fastres.Dim(len(n.names))
	to[name] = d
	n.names = append(n.names, name)
	n.class = append(n.class, 0)
	return d, true
}

// Lookup returns the dimension of a resource, and whether the resource has one. It is safe
// for concurrent use while nothing calls Intern or InternCard.
func (n *Names) Lookup(resource string) (fastres.Dim, bool) {
	if n.resources == nil {
		d := slices.Index(fixedNames[:], resource)
		return fastres.Dim(d), d >= 0
	}
	d, ok := n.resources[resource]
	return d, ok
}

// LookupCard returns the dimension of a card, and whether the card has one. See Lookup.
func (n *Names) LookupCard(card string) (fastres.Dim, bool) {
	d, ok := n.cards[card]
	return d, ok
}

// LookupClass returns the dimension that counts the devices of a class, and whether the class
// has one. See Lookup.
func (n *Names) LookupClass(name string) (fastres.Dim, bool) {
	d, ok := n.devices[name]
	return d, ok
}

// Name returns the name of a dimension of these Names.
func (n *Names) Name(d fastres.Dim) string {
	if d < fastres.FirstFree {
		return fixedNames[d]
	}
	return n.names[d]
}

// IsCard reports whether d is the dimension of a card.
func (n *Names) IsCard(d fastres.Dim) bool { return n.cardDims.Test(uint(d)) }

// SetGroups replaces all groups. dims are the dimensions of the groups. Each is the dimension of a card with the
// name of the group, such as "@hopper". groupsOf returns the groups of a card.
func (n *Names) SetGroups(dims []fastres.Dim, groupsOf func(card fastres.Dim) []Share) {
	n.groups = nil
	n.groupDims = bitset.BitSet{}
	n.allGroups = dims
	if len(dims) == 0 {
		return
	}

	for _, d := range dims {
		n.groupDims.Set(uint(d))
	}

	n.groups = make([][]Share, len(n.names))
	for d := range n.cardDims.EachSet() {
		if !n.groupDims.Test(d) {
			n.groups[d] = groupsOf(fastres.Dim(d))
		}
	}
}

// Groups returns the groups of a card, and nil for another dimension or nil Names.
func (n *Names) Groups(d fastres.Dim) []Share {
	if n == nil || int(d) >= len(n.groups) {
		return nil
	}

	return n.groups[d]
}

// AllGroups returns the dimensions of all groups.
func (n *Names) AllGroups() []fastres.Dim { return n.allGroups }

// HasGroups reports whether there are groups of cards.
func (n *Names) HasGroups() bool { return len(n.groups) > 0 }

// Weight returns the weight of a card in a group. It is 0 if the group does not have the card, or for nil Names.
func (n *Names) Weight(card, group fastres.Dim) float64 {
	for _, s := range n.Groups(card) {
		if s.Group == group {
			return s.Weight
		}
	}

	return 0
}

// IsGroup reports whether d is the dimension of a group of cards. IsCard holds for it, too.
func (n *Names) IsGroup(d fastres.Dim) bool { return n.groupDims.Test(uint(d)) }

// AddCard adds a quantity of a card to x, and the corresponding quantities of its groups. A negative quantity
// subtracts.
func (n *Names) AddCard(x fastres.Vector, d fastres.Dim, quantity float64) {
	x.Increase(d, quantity)
	for _, s := range n.Groups(d) {
		x.Increase(s.Group, s.Of(quantity))
	}
}

// Regroup sets the quantities of card groups in x to the weighted sums of their cards. Nil Names have no groups.
func (n *Names) Regroup(x fastres.Vector) {
	if n == nil || !n.HasGroups() {
		return
	}

	for _, group := range n.allGroups {
		if int(group) < x.Len() && x.Has(group) {
			x.Set(group, 0)
		}
	}

	for d := range min(fastres.Dim(x.Len()), fastres.Dim(len(n.groups))) {
		quantity := x.Get(d)
		if quantity <= 0 {
			continue
		}
		for _, s := range n.groups[d] {
			x.Increase(s.Group, s.Of(quantity))
		}
	}
}

// Class returns the dimension that counts the devices of the class that d belongs to, and
// whether d is a dimension of devices: their count, or a capacity.
func (n *Names) Class(d fastres.Dim) (class fastres.Dim, ok bool) {
	if int(d) >= len(n.class) {
		return 0, false
	}

	return n.class[d], n.class[d] != 0
}

// Len returns the number of dimensions, which includes those that fastres fixes.
func (n *Names) Len() int { return max(len(n.names), int(fastres.FirstFree)) }
