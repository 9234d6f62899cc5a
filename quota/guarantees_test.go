package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestGuaranteesFollowCharges charges and refunds random queues. The answers are those of
// Guarantees that read the same accounts anew.
func TestGuaranteesFollowCharges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 200 {
		ix := randomTree(r, 6)
		if r.IntN(4) == 0 {
			ix = session("", queue{name: "x"}, queue{name: "y"}, queue{name: "z"})
		}
		for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
			ix.Guarantee.Row(q).Set(gpu, float64(r.IntN(4)))
			for _, child := range ix.Children(q) {
				ix.ChildGuarantees.Row(q).Add(ix.Guarantee.Row(child))
			}
			ix.Guarantee.Row(q).RaiseTo(ix.ChildGuarantees.Row(q))
			ix.RealCapability.Row(q).Set(gpu, 12)
		}
		available := res{gpu: 9}.vector()
		var follows, fresh quota.Guarantees
		follows.Reset(ix, ix, available)
		scratch := fastres.NewVector(dims)
		for range 20 {
			q, amount := index.Queue(r.IntN(ix.Len())), res{gpu: float64(1 + r.IntN(4))}.vector()
			if r.IntN(3) == 0 {
				quota.Refund(ix, q, amount, scratch)
				follows.Update(q, scratch, -1)
			} else {
				quota.Charge(ix, q, amount)
				follows.Update(q, amount, 1)
			}
			fresh.Reset(ix, ix, available)
			for q := range index.Queue(ix.Len()) {
				want := fresh.Fits(ix, q, gpu, 2)
				require.Equal(t, verdict(ix, want), verdict(ix, follows.Fits(ix, q, gpu, 2)), ix.Name(q))
				if !want.OK() {
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 1000)
}
