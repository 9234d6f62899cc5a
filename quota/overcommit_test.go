package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestBoundAdmission computes bounds from the factor of each queue, in thousandths.
func TestBoundAdmission(t *testing.T) {
	tests := []struct {
		name   string
		queue  queue
		factor int64
		want   res
	}{
		{"the example", queue{bound: res{gpu: 16000}, deserved: res{gpu: 4000}}, 1500, res{gpu: 6000}},
		{"realCapability is less", queue{bound: res{gpu: 16000}, deserved: res{gpu: 4000}}, 8000, res{gpu: 16000}},
		{"no factor", queue{bound: res{gpu: 16000}, deserved: res{gpu: 4000}}, 0, res{gpu: 16000}},
		{"the guarantee is more than deserved", queue{bound: res{gpu: 16000}, deserved: res{gpu: 4000}, guarantee: res{gpu: 6000}}, 1500, res{gpu: 9000}},
		{"dimensions that deserved does not name", queue{bound: res{cpu: 10, memory: 20, far: 30}, deserved: res{cpu: 0}, guarantee: res{far: 1}}, 1500, res{cpu: 10, memory: 20, far: 30}},
		{"deserved of 0 names a scalar", queue{bound: res{gpu: 16000, cpu: 10}, deserved: res{gpu: 0, cpu: 4}}, 1500, res{gpu: 0, cpu: 6}},
		{"less than deserved", queue{bound: res{cpu: 10000}, deserved: res{cpu: 4000}}, 250, res{cpu: 1000}},
		{"a decimal that has no exact binary form", queue{bound: res{gpu: 1 << 40}, deserved: res{gpu: 3000}}, 1100, res{gpu: 3300}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name = "q"
			ix := session("", test.queue)
			quota.BoundAdmission(ix, func(index.Queue) int64 { return test.factor })
			assert.Equal(t, test.want, resOf(ix.AdmissionBounds(0).Row(0)))
			assert.Equal(t, test.queue.bound, resOf(ix.RealCapability.Row(0)))
		})
	}
}

// TestOvercommitLevels admits jobs of q, which deserves 4 and may use 20, below a parent that
// deserves 10. The factor of both is 1.5: q admits 6 cards, and the parent 15. Allocation and
// promises do not depend on it.
func TestOvercommitLevels(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{gpu: 100}},
		queue{name: "team", bound: res{gpu: 20}, deserved: res{gpu: 10}},
		queue{name: "q<team", bound: res{gpu: 20}, deserved: res{gpu: 4}, allocated: res{gpu: 3}, inqueue: res{gpu: 2}, elastic: res{gpu: 1}},
		queue{name: "other<team", bound: res{gpu: 20}, allocated: res{gpu: 9}})
	q, other := lookup(t, ix, "q"), lookup(t, ix, "other")
	quota.BoundAdmission(ix, func(p index.Queue) int64 {
		if ix.Rooted() && p == ix.Root() {
			return 0
		}
		return 1500
	})
	for _, one := range []func(n float64) quota.Verdict{
		func(n float64) quota.Verdict { return quota.Enqueueable(ix, q, res{gpu: n}.vector()) },
		func(n float64) quota.Verdict { return quota.EnqueueableCard(ix, q, gpu, n) },
	} {
		assert.Equal(t, "Admitted at q", verdict(ix, one(2)))
		assert.Equal(t, "OverQuota at q", verdict(ix, one(3)))
	}
	assert.Equal(t, "Admitted at other", verdict(ix, quota.Enqueueable(ix, other, res{gpu: 2}.vector())))
	assert.Equal(t, "OverQuota at team", verdict(ix, quota.Enqueueable(ix, other, res{gpu: 3}.vector())))
	require.True(t, quota.Allocatable(ix, &ix.RealCapability, q, res{gpu: 8}.vector()).OK(), "pods may borrow")
	ix.ResetUsage()
	assert.Same(t, &ix.RealCapability, ix.AdmissionBounds(0), "the next session has no bounds of its own")
}
