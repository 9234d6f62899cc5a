package cards

import "github.com/capacity-card/capacity-card/index/card"

// Scope tells in which queues cards count.
type Scope int

const (
	Nowhere   Scope = iota
	Annotated       // queues with a card annotation, and the queues below them
	Everywhere
)

// UntypedCards is the argument untypedCards: how to treat untyped pods.
type UntypedCards string

const (
	UntypedCharge UntypedCards = "charge" // charge them to the card of their node
	UntypedReject UntypedCards = "reject" // refuse them
	UntypedIgnore UntypedCards = "ignore" // do not count them
)

// TerminatingCards is the argument terminatingCards: how to treat pods that are being deleted.
type TerminatingCards string

const (
	TerminatingHold    TerminatingCards = "hold"    // their cards count until the pod is gone
	TerminatingRelease TerminatingCards = "release" // their cards do not count
)

// Settings are the arguments of a plugin that concern cards.
type Settings struct {
	Untyped     UntypedCards
	Terminating TerminatingCards
	// UnlimitedCPUMemory exempts pods with cards: their cpu and memory are neither checked nor counted.
	UnlimitedCPUMemory bool
	NodeOrderWeight    float64 // > 0
	// Labels are the labels of nodes that name cards, for resources that do not use the label of the vendor.
	Labels card.Labels
	// Attributes are the attributes of devices that name cards, for drivers that do not use the one of the vendor.
	Attributes card.Attributes
	// Groups are groups of cards. A group that is nil is wrong: the Registry keeps its last good value.
	Groups card.Groups
	// Fractions tells how a fraction of a card counts.
	Fractions card.FractionsBy
}
