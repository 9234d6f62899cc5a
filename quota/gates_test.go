package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestReserve reserves room in two queues, and compares the room that is left at every level.
func TestReserve(t *testing.T) {
	ix := session("root",
		queue{name: "root", bound: res{cpu: 12, gpu: 9}},
		queue{name: "eng", bound: res{cpu: 8, gpu: 9}},
		queue{name: "prod<eng", bound: res{cpu: 6, gpu: 4}, allocated: res{cpu: 1, gpu: 1}},
		queue{name: "dev<eng", bound: res{cpu: 9, gpu: 9}},
		queue{name: "full", bound: res{cpu: 1}, allocated: res{cpu: 2}},
		queue{name: "sales", bound: res{cpu: 9, gpu: 9}})
	prod, dev, sales := lookup(t, ix, "prod"), lookup(t, ix, "dev"), lookup(t, ix, "sales")
	assert.True(t, quota.FitsBeside(ix, ix, &ix.RealCapability, prod, cpu, 99).OK(), "only reservations are asked about")
	assert.Zero(t, ix.Reserved.Len(), "nothing is reserved")
	quota.Reserve(ix, prod, res{cpu: 3, gpu: 1, pods: 1}.vector())
	quota.Reserve(ix, sales, res{cpu: 1}.vector())
	for _, test := range []struct {
		name, queue string
		dim         fastres.Dim
		quantity    float64
		want        string
	}{
		{"exactly what is left of the queue", "prod", cpu, 2, "Admitted at prod"},
		{"the queue lacks room", "prod", cpu, 2.05, "Reserved at prod"},
		{"exactly what is left of its parent", "dev", cpu, 4, "Admitted at dev"},
		{"its parent lacks room", "dev", cpu, 4.5, "Reserved at eng"},
		{"the root lacks room", "sales", cpu, 6, "Reserved at root"},
		{"a scalar", "prod", gpu, 2, "Admitted at prod"},
		{"too much of a scalar", "prod", gpu, 2.05, "Reserved at prod"},
		{"all of it is reserved for the pod", "full", cpu, 0, "Admitted at full"},
		{"over the limit", "full", cpu, 1, "Reserved at full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := lookup(t, ix, test.queue)
			assert.Equal(t, test.want, verdict(ix, quota.FitsBeside(ix, ix, &ix.RealCapability, q, test.dim, test.quantity)))
			overlay := index.Over(ix.Version())
			assert.Equal(t, test.want, verdict(ix, quota.FitsBeside(ix, &overlay, &ix.RealCapability, q, test.dim, test.quantity)), "what-if")
		})
	}
	quota.Unreserve(ix, prod, res{cpu: 3, gpu: 1, pods: 1}.vector())
	assert.Equal(t, "Admitted at dev", verdict(ix, quota.FitsBeside(ix, ix, &ix.RealCapability, dev, cpu, 7)))
	ix.ResetUsage()
	assert.Zero(t, ix.Reserved.Len(), "nothing is reserved in the next session")
}
