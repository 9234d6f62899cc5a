package inspect

import (
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// StatedShare is a share of the cards that nodes give, which an annotation of a queue states.
type StatedShare struct {
	Annotation string  `json:"annotation"`
	Card       string  `json:"card"`  // or a group of cards
	Share      string  `json:"share"` // as it is set
	Cards      float64 `json:"cards"` // now
}

// String describes for readers the share and its present number, such as 25% = 64.
func (s StatedShare) String() string { return s.Share + " = " + card.FormatDecimal(s.Cards) }

// Shares returns the shares that a queue states, by annotation and card.
func (i Inspection) Shares(queue string) (all []StatedShare) {
	q := i.s.Index.Lookup(queue)
	if q == index.None {
		return nil
	}

	for _, s := range i.s.Cards.Shares(q) {
		all = append(all, StatedShare{s.Annotation, s.Card, s.Share.String(), s.Amount.Cards()})
	}
	return all
}
