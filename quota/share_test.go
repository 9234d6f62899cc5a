package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestShare(t *testing.T) {
	tests := []struct {
		name                string
		allocated, deserved res
		share, weighted     float64
	}{
		{"nothing used", res{}, res{cpu: 10}, 0, 0},
		{"one dimension", res{cpu: 5}, res{cpu: 10}, 0.5, 0.5},
		{"the greatest of several", res{cpu: 5, memory: 90, gpu: 1}, res{cpu: 10, memory: 100, gpu: 4}, 0.9, 0.9},
		{"the greatest is a scalar", res{cpu: 5, far: 3}, res{cpu: 10, far: 4}, 0.75, 0.75},
		{"more than deserved", res{cpu: 25}, res{cpu: 10}, 2.5, 2.5},
		{"a dimension without deserved does not count", res{cpu: 5, memory: 1e9, gpu: 8}, res{cpu: 10}, 0.5, 0.5},
		{"a deserved of 0 does not count", res{cpu: 5, gpu: 8}, res{cpu: 10, gpu: 0}, 0.5, 0.5},
		{"best effort, unused", res{}, res{}, 1, 0},
		{"best effort, used", res{cpu: 25}, res{}, 1, 0},
		{"best effort with a scalar of 0", res{gpu: 25}, res{gpu: 0}, 1, 0},
		{"best effort with pods alone", res{pods: 5}, res{pods: 10}, 1, 0.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.share, quota.Share(test.allocated.vector(), test.deserved.vector()))
			assert.Equal(t, test.weighted, quota.WeightedShare(test.allocated.vector(), test.deserved.vector()))
		})
	}
}

func TestSharesFollowAccounts(t *testing.T) {
	ix := session("root",
		queue{name: "root", deserved: res{cpu: 100}},
		queue{name: "a", deserved: res{cpu: 50}},
		queue{name: "b<a", deserved: res{cpu: 20}, allocated: res{cpu: 10}},
		queue{name: "c<a", deserved: res{cpu: 20}, allocated: res{cpu: 5}})
	b, request, scratch := lookup(t, ix, "b"), res{cpu: 5}.vector(), fastres.NewVector(dims)
	shares := func() map[string]float64 {
		all := map[string]float64{}
		for q := range index.Queue(ix.Len()) {
			all[ix.Name(q)] = ix.Share(q)
		}
		return all
	}
	setShares(ix, quota.Share)
	before := shares()
	assert.Equal(t, map[string]float64{"b": 0.5, "a": 0.3, "root": 0.15, "c": 0.25}, before)
	quota.Charge(ix, b, request)
	quota.RaiseShare(ix, b, request, quota.Share)
	assert.Equal(t, map[string]float64{"b": 0.75, "a": 0.4, "root": 0.2, "c": 0.25}, shares())
	quota.LowerShare(ix, b, quota.Refund(ix, b, request, scratch), quota.Share)
	assert.Equal(t, before, shares())
}

func setShares(ix *index.Index, rule quota.ShareRule) {
	for q := range index.Queue(ix.Len()) {
		ix.SetShare(q, rule(ix.Allocated(q), ix.Deserved.Row(q)))
	}
}

// TestSharesAreExact charges and refunds at random. The shares equal, to the bit, those computed from all dimensions: also where only
// pods are deserved, where nothing is, and where a queue gives back more than it has.
func TestSharesAreExact(t *testing.T) {
	for name, rule := range map[string]quota.ShareRule{"capacity": quota.Share, "proportion": quota.WeightedShare} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 9))
			for range 50 {
				queues := []queue{{name: "root"}, {name: "a"}, {name: "b<a"}, {name: "c<a"}, {name: "d<a", deserved: res{pods: 3}}, {name: "e"}}
				for i := range queues {
					if deserved := randomRequest(r, 30); r.IntN(4) > 0 && queues[i].deserved == nil {
						queues[i].deserved = resOf(deserved)
					}
				}
				ix, scratch := session("root", queues...), fastres.NewVector(dims)
				setShares(ix, rule)
				for range 100 {
					q, x := index.Queue(r.IntN(ix.Len())), randomRequest(r, 10)
					x.Scale(1 / float64(1+r.IntN(7)))
					ix.NoteOwnJobs(q)
					if r.IntN(2) == 0 {
						quota.Charge(ix, q, x)
						quota.RaiseShare(ix, q, x, rule)
					} else {
						quota.LowerShare(ix, q, quota.Refund(ix, q, x, scratch), rule)
					}
					for q := range index.Queue(ix.Len()) {
						require.Equal(t, rule(ix.Allocated(q), ix.Deserved.Row(q)), ix.Share(q), ix.Name(q))
					}
				}
			}
		})
	}
}
