package intake

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// TestChoicesAreBounded has a pod with a claim of n devices, and each can be one of three cards.
func TestChoicesAreBounded(t *testing.T) {
	names := &index.Names{}
	three := &cards.Selector{}
	for _, name := range []string{"A", "B", "C"} {
		three.Dims = append(three.Dims, names.InternCard(name))
	}
	bound := fastres.NewVector(names.Len())
	for _, d := range three.Dims {
		bound.Set(d, 32000)
	}

	for n, want := range map[int]int{0: 1, 1: 3, 2: 9, 5: 243, 10: 678} {
		p := &Pending{names: names, request: fastres.NewVector(names.Len())}
		p.choices.Reset(0, names.Len())
		var requests []cards.Request
		for range n {
			requests = append(requests, cards.Request{Selector: three, Resource: cards.Devices, Amount: card.Cards(1)})
		}

		p.choose(bound, requests)
		assert.Equal(t, want, p.choices.Len(), "%d devices", n)
		assert.Zero(t, p.request.Get(three.Dims[0]), "%d devices", n)
	}
}
