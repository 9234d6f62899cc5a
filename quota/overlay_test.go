package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestOverlayOfClaims refunds and charges resource claims in an overlay. The next overlay in the same memory has the
// claims of the accounts below. Undo restores claims that the overlay had before the mark, and forgets later claims.
func TestOverlayOfClaims(t *testing.T) {
	_, gpus, _, _ := deviceNames()
	ix := session("root", queue{name: "root"}, queue{name: "q"}, queue{name: "other"})
	q, other, root := lookup(t, ix, "q"), lookup(t, ix, "other"), ix.Root()
	claims := []index.DeviceClaim{{Name: "ns/a", Devices: []index.Devices{{Dim: gpus, Quantity: 2}}}}
	quota.ChargeDeviceClaims(ix, q, claims)
	has := func(a quota.Accounts) (has []float64) {
		for _, q := range []index.Queue{q, other, root} {
			has = append(has, a.Allocated(q).Get(gpus), float64(a.DeviceClaim(q, "ns/a").References))
		}
		return has
	}
	below := []float64{2, 1, 0, 0, 2, 1}
	var draft index.Overlay
	for range 2 {
		draft.Begin(ix)
		require.Equal(t, below, has(&draft))
		quota.ChargeDeviceClaims(&draft, other, claims)
		charged := []float64{2, 1, 2, 1, 2, 2}
		assert.Equal(t, charged, has(&draft), "the root is charged once")

		mark := draft.Mark()
		quota.RefundDeviceClaims(&draft, q, claims)
		draft.Undo(mark)
		assert.Equal(t, charged, has(&draft))

		quota.RefundDeviceClaims(&draft, q, claims)
		assert.Equal(t, []float64{0, 0, 2, 1, 2, 1}, has(&draft))
		assert.Equal(t, below, has(ix))

		draft.Undo(mark)
		assert.Equal(t, charged, has(&draft))
		draft.Begin(ix)
		mark = draft.Mark()
		quota.ChargeDeviceClaims(&draft, other, claims)
		draft.Undo(mark)
		assert.Equal(t, below, has(&draft), "a claim that is new since the mark")
	}
}
