package quota_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestDraftOfManyQueues begins drafts of up to 30 queues in the same memory, in a new order each
// time. A change is seen in its queue alone, once the draft has few queues or many.
func TestDraftOfManyQueues(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var queues []queue
	for i := range 30 {
		queues = append(queues, queue{name: fmt.Sprintf("q%d", i), allocated: res{gpu: float64(i)}})
	}
	ix := session("", queues...)
	var draft quota.Draft
	for range 50 {
		draft.Begin(ix)
		require.Empty(t, draft.Changed())
		want := map[index.Queue]float64{}
		var changed []index.Queue
		for range 1 + r.IntN(60) {
			q := index.Queue(r.IntN(ix.Len()))
			if _, again := want[q]; !again {
				want[q] = ix.Allocated(q).Get(gpu)
				changed = append(changed, q)
			}
			want[q]++
			draft.Mutable(q).Increase(gpu, 1)
			require.Equal(t, changed, draft.Changed())
			for q := range index.Queue(ix.Len()) {
				now, is := want[q]
				if !is {
					now = ix.Allocated(q).Get(gpu)
				}
				require.Equal(t, now, draft.Allocated(q).Get(gpu), "%s of %d", ix.Name(q), len(changed))
			}
		}
	}
}

// TestDraftOfClaims refunds and charges resource claims in a draft. The next one in the same memory
// has those of the accounts below.
func TestDraftOfClaims(t *testing.T) {
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
	var draft quota.Draft
	for range 2 {
		draft.Begin(ix)
		require.Equal(t, below, has(&draft))
		quota.ChargeDeviceClaims(&draft, other, claims)
		assert.Equal(t, []float64{2, 1, 2, 1, 2, 2}, has(&draft), "the root is charged once")
		quota.RefundDeviceClaims(&draft, q, claims)
		assert.Equal(t, []float64{0, 0, 2, 1, 2, 1}, has(&draft))
		assert.Equal(t, below, has(ix))
	}
}

// TestFutureFollowsClaims charges claims while a pod of the queue ends. Each level has its own
// devices in the future: that of a parent counts a shared claim once.
func TestFutureFollowsClaims(t *testing.T) {
	_, gpus, _, _ := deviceNames()
	ix := session("root", queue{name: "root", allocated: res{}}, queue{name: "q", allocated: res{cpu: 2}}, queue{name: "other"})
	q, other := lookup(t, ix, "q"), lookup(t, ix, "other")
	terminating(t, ix, "q", res{cpu: 1})
	var future quota.Future
	future.Reset(ix)
	shared := []index.DeviceClaim{{Name: "ns/a", Devices: []index.Devices{{Dim: gpus, Quantity: 2}}}}
	own := []index.DeviceClaim{{Name: "ns/b", Devices: []index.Devices{{Dim: gpus, Quantity: 3}}}}
	for _, step := range []struct {
		q      index.Queue
		claims []index.DeviceClaim
		change func(quota.Accounts, index.Queue, []index.DeviceClaim)
		want   []float64
	}{
		{other, own, quota.ChargeDeviceClaims, []float64{0, 3, 3}},
		{q, shared, quota.ChargeDeviceClaims, []float64{2, 3, 5}},
		{other, shared, quota.ChargeDeviceClaims, []float64{2, 5, 5}},
		{q, shared, quota.RefundDeviceClaims, []float64{0, 5, 5}},
		{other, slices.Concat(own, shared), quota.RefundDeviceClaims, []float64{0, 0, 0}},
	} {
		step.change(ix, step.q, step.claims)
		future.CopyDevices(step.q, step.claims)
		var has []float64
		for _, q := range []index.Queue{q, other, ix.Root()} {
			has = append(has, future.Allocated(q).Get(gpus))
		}
		assert.Equal(t, step.want, has)
		assert.Equal(t, 1.0, future.Allocated(q).Get(cpu))
	}
}
