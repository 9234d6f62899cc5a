package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestAllocatable(t *testing.T) {
	ix := session("root",
		queue{name: "root", bound: res{cpu: 100, memory: 1000, gpu: 8}, allocated: res{memory: 995}},
		queue{name: "eng", bound: res{cpu: 60, memory: 1000, gpu: 3}},
		queue{name: "prod<eng", bound: res{cpu: 50, memory: 10, gpu: 4}, allocated: res{cpu: 30, gpu: 1}},
		queue{name: "dev<eng", bound: res{cpu: 50, memory: 1000, gpu: 4, far: 0}, allocated: res{cpu: 20, gpu: 1}},
		queue{name: "over<eng", bound: res{cpu: 1, memory: 1000}, allocated: res{cpu: 5}})
	tests := []struct {
		name, queue string
		request     res
		want        string
	}{
		{"room everywhere", "prod", res{cpu: 1, memory: 1, gpu: 1}, "Admitted at prod"},
		{"exactly what is left", "prod", res{cpu: 5}, "Admitted at prod"},
		{"the tolerance does not apply", "prod", res{cpu: 5.05}, "OverQuota at eng"},
		{"the queue lacks room", "prod", res{cpu: 21}, "OverQuota at prod"},
		{"its parent lacks room", "prod", res{cpu: 20}, "OverQuota at eng"},
		{"the root lacks room", "dev", res{memory: 6}, "OverQuota at root"},
		{"exactly what the root has left", "dev", res{memory: 5}, "Admitted at dev"},
		{"its parent lacks room for a scalar", "prod", res{gpu: 2}, "OverQuota at eng"},
		{"exactly what is left of a scalar", "prod", res{gpu: 1}, "Admitted at prod"},
		{"a scalar that no bound names", "prod", res{far: 1}, "OverQuota at prod"},
		{"a scalar with the bound 0", "dev", res{far: 1}, "OverQuota at dev"},
		{"0 of a scalar that no bound names", "prod", res{cpu: 1, far: 0}, "Admitted at prod"},
		{"pods do not count", "prod", res{cpu: 1, pods: 1000}, "Admitted at prod"},
		{"a dimension over its bound that is not requested", "over", res{memory: 1}, "Admitted at over"},
		{"nothing requested", "over", res{}, "Admitted at over"},
		{"a dimension over its bound", "over", res{cpu: 0.01}, "OverQuota at over"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q, request := lookup(t, ix, test.queue), test.request.vector()
			assert.Equal(t, test.want, verdict(ix, quota.Allocatable(ix, &ix.RealCapability, q, request)))
			overlay := index.Over(ix.Version())
			assert.Equal(t, test.want, verdict(ix, quota.Allocatable(&overlay, &ix.RealCapability, q, request)), "what-if")
		})
	}
}

// TestAllocatableLimit compares with deserved, the limit under the name proportion.
func TestAllocatableLimit(t *testing.T) {
	ix := session("", queue{name: "a", bound: res{cpu: 100}, deserved: res{cpu: 10}, allocated: res{cpu: 9}})
	a := lookup(t, ix, "a")
	assert.True(t, quota.Allocatable(ix, &ix.RealCapability, a, res{cpu: 2}.vector()).OK())
	assert.False(t, quota.Allocatable(ix, &ix.Deserved, a, res{cpu: 2}.vector()).OK())
	assert.True(t, quota.Allocatable(ix, &ix.Deserved, a, res{cpu: 1}.vector()).OK())
}

// TestAllocatableWhatIf decides on an overlay with charges that the index does not have.
func TestAllocatableWhatIf(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{cpu: 10}}, queue{name: "a", bound: res{cpu: 10}},
		queue{name: "b", bound: res{cpu: 10}, allocated: res{cpu: 8}})
	a, b, request := lookup(t, ix, "a"), lookup(t, ix, "b"), res{cpu: 4}.vector()
	overlay := index.Over(ix.Version())
	assert.Equal(t, "OverQuota at root", verdict(ix, quota.Allocatable(&overlay, &ix.RealCapability, a, request)))
	quota.Refund(&overlay, b, res{cpu: 3}.vector(), res{}.vector())
	assert.Equal(t, "Admitted at a", verdict(ix, quota.Allocatable(&overlay, &ix.RealCapability, a, request)))
	quota.Charge(&overlay, a, request)
	assert.Equal(t, "OverQuota at root", verdict(ix, quota.Allocatable(&overlay, &ix.RealCapability, a, request)))
	assert.Equal(t, "OverQuota at root", verdict(ix, quota.Allocatable(ix, &ix.RealCapability, a, request)))
	requireAllocated(t, ix, ix, map[string]res{"root": {cpu: 8}, "a": {}, "b": {cpu: 8}})
}

func TestAllocatableAllocatesNothing(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{cpu: 9}}, queue{name: "a", bound: res{cpu: 9}}, queue{name: "b<a", bound: res{cpu: 9}})
	b, request := lookup(t, ix, "b"), res{cpu: 1, pods: 1}.vector()
	admitted := true
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		admitted = admitted && quota.Allocatable(ix, &ix.RealCapability, b, request).OK()
	}))
	assert.True(t, admitted)
}
