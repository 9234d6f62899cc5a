package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/quota"
)

// TestReserve reserves room in one queue, and compares what is left at every level.
func TestReserve(t *testing.T) {
	ix := session("root",
		queue{name: "root", bound: res{cpu: 10, gpu: 9}},
		queue{name: "eng", bound: res{cpu: 8, gpu: 9}},
		queue{name: "prod<eng", bound: res{cpu: 6, gpu: 4}, allocated: res{cpu: 1, gpu: 1}},
		queue{name: "dev<eng", bound: res{cpu: 9, gpu: 9}},
		queue{name: "sales", bound: res{cpu: 9, gpu: 9}})
	prod, dev, sales := lookup(t, ix, "prod"), lookup(t, ix, "dev"), lookup(t, ix, "sales")
	assert.Zero(t, ix.Reserved.Len(), "nothing is reserved")
	quota.Reserve(ix, prod, res{cpu: 3, gpu: 1, pods: 1}.vector())
	quota.Reserve(ix, sales, res{cpu: 1}.vector())
	for _, test := range []struct {
		name, queue string
		request     res
		want        string
	}{
		{"exactly what is left of the queue", "prod", res{cpu: 2}, "Admitted at prod"},
		{"the queue lacks room", "prod", res{cpu: 2.05}, "Reserved at prod"},
		{"exactly what is left of its parent", "dev", res{cpu: 4}, "Admitted at dev"},
		{"its parent lacks room", "dev", res{cpu: 4.5}, "Reserved at eng"},
		{"the root lacks room", "sales", res{cpu: 6}, "Reserved at root"},
		{"a scalar", "prod", res{gpu: 2}, "Admitted at prod"},
		{"too much of a scalar", "prod", res{gpu: 3}, "Reserved at prod"},
		{"nothing that is reserved", "prod", res{pods: 100}, "Admitted at prod"},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := lookup(t, ix, test.queue)
			assert.Equal(t, test.want, verdict(ix, quota.AllocatableBeside(ix, &ix.RealCapability, &ix.Reserved, q, test.request.vector())))
			overlay := ix.Snapshot()
			assert.Equal(t, test.want, verdict(ix, quota.AllocatableBeside(&overlay, &ix.RealCapability, &ix.Reserved, q, test.request.vector())), "what-if")
		})
	}
	assert.Equal(t, "Admitted at prod", verdict(ix, quota.CardFitsBeside(ix, &ix.RealCapability, &ix.Reserved, prod, gpu, 2)))
	assert.Equal(t, "Reserved at prod", verdict(ix, quota.CardFitsBeside(ix, &ix.RealCapability, &ix.Reserved, prod, gpu, 2.05)))
	assert.Equal(t, "Reserved at eng", verdict(ix, quota.CardFitsBeside(ix, &ix.RealCapability, &ix.Reserved, dev, gpu, 7.5)))
	quota.Release(ix, prod, res{cpu: 3, gpu: 1, pods: 1}.vector())
	assert.Equal(t, "Admitted at dev", verdict(ix, quota.AllocatableBeside(ix, &ix.RealCapability, &ix.Reserved, dev, res{cpu: 7}.vector())))
	ix.ResetUsage()
	assert.Zero(t, ix.Reserved.Len(), "nothing is reserved in the next session")
}
