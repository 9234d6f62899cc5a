package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
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

func TestRefreshShare(t *testing.T) {
	ix := session("root",
		queue{name: "root", deserved: res{cpu: 100}, share: 9},
		queue{name: "a", deserved: res{cpu: 50}, share: 9},
		queue{name: "b<a", deserved: res{cpu: 20}, allocated: res{cpu: 10}, share: 9},
		queue{name: "c<a", deserved: res{cpu: 20}, allocated: res{cpu: 5}, share: 9},
		queue{name: "d", share: 9})
	quota.RefreshShare(ix, lookup(t, ix, "b"), quota.Share)
	want := map[string]float64{"b": 0.5, "a": 0.3, "root": 0.15, "c": 9, "d": 9}
	for name, share := range want {
		assert.Equal(t, share, ix.Share(lookup(t, ix, name)), name)
	}

	d := lookup(t, ix, "d")
	quota.RefreshShare(ix, d, quota.Share)
	assert.Equal(t, 1.0, ix.Share(d))
	quota.RefreshShare(ix, d, quota.WeightedShare)
	assert.Equal(t, 0.0, ix.Share(d))
	quota.RefreshShare(ix, d, func(_, _ fastres.Vector) float64 { return 7 })
	assert.Equal(t, 7.0, ix.Share(d))
	assert.Equal(t, 7.0, ix.Share(ix.Root()))
}
