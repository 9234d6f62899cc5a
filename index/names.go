package index

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Names gives every resource name and every card name a dimension, which the name
// keeps for the life of the Names, across sessions; to forget some is to start
// with new Names. A resource and a card may have one name, and have a dimension
// each. The zero Names is ready for use.
type Names struct {
	resources, cards map[string]fastres.Dim
	names            []string // by dimension
	card             []bool   // by dimension
}

// The names of the dimensions that fastres fixes, in their order.
var fixedNames = [fastres.FirstFree]string{fastres.CPU: "cpu", fastres.Memory: "memory", fastres.Pods: "pods"}

// Intern returns the dimension of a resource, a new one if it was never seen.
func (n *Names) Intern(resource string) fastres.Dim {
	n.init()
	if d, ok := n.resources[resource]; ok {
		return d
	}
	return n.add(n.resources, resource, false)
}

// InternCard returns the dimension of a card, a new one if it was never seen.
func (n *Names) InternCard(card string) fastres.Dim {
	n.init()
	if d, ok := n.cards[card]; ok {
		return d
	}
	return n.add(n.cards, card, true)
}

func (n *Names) init() {
	if n.resources != nil {
		return
	}
	n.resources, n.cards = map[string]fastres.Dim{}, map[string]fastres.Dim{}
	for _, fixed := range fixedNames {
		n.add(n.resources, fixed, false)
	}
}

func (n *Names) add(to map[string]fastres.Dim, name string, card bool) fastres.Dim {
	d := fastres.Dim(len(n.names))
	to[name] = d
	n.names = append(n.names, name)
	n.card = append(n.card, card)
	return d
}

// Lookup returns the dimension of a resource, and whether it was ever seen. It
// is safe for many goroutines as long as nobody interns.
func (n *Names) Lookup(resource string) (fastres.Dim, bool) {
	if n.resources == nil {
		d := slices.Index(fixedNames[:], resource)
		return fastres.Dim(d), d >= 0
	}
	d, ok := n.resources[resource]
	return d, ok
}

// LookupCard is Lookup for a card.
func (n *Names) LookupCard(card string) (fastres.Dim, bool) {
	d, ok := n.cards[card]
	return d, ok
}

// Name returns the name of a dimension that is fixed or that was handed out.
func (n *Names) Name(d fastres.Dim) string {
	if d < fastres.FirstFree {
		return fixedNames[d]
	}
	return n.names[d]
}

// IsCard reports whether a dimension is that of a card.
func (n *Names) IsCard(d fastres.Dim) bool { return int(d) < len(n.card) && n.card[d] }

// Len is the number of dimensions handed out, those that fastres fixes included.
func (n *Names) Len() int { return max(len(n.names), int(fastres.FirstFree)) }
