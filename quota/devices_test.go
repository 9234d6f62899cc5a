package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// deviceNames returns names with the class gpu, the capacity memory of its devices, and the
// class nic.
func deviceNames() (names *index.Names, gpus, gpuMemory, nics fastres.Dim) {
	names = &index.Names{}
	gpus = names.InternClass("deviceclass/gpu")
	gpuMemory = names.InternCapacity("memory.deviceclass/gpu", gpus)
	return names, gpus, gpuMemory, names.InternClass("deviceclass/nic")
}

// TestClaims charges claims that queues share, and compares the accounts and the requests that still fit at every
// level.
func TestClaims(t *testing.T) {
	names, gpus, _, nics := deviceNames()
	ix := session("root",
		queue{name: "root", bound: res{gpus: 8}},
		queue{name: "eng", bound: res{gpus: 5}},
		queue{name: "prod<eng", bound: res{gpus: 4}},
		queue{name: "dev<eng"})
	root, eng, prod, dev := ix.Root(), lookup(t, ix, "eng"), lookup(t, ix, "prod"), lookup(t, ix, "dev")
	claim := func(name string, quantity float64) index.DeviceClaim {
		return index.DeviceClaim{Name: name, Devices: []index.Devices{{Dim: gpus, Quantity: quantity}}}
	}
	shared, own := claim("ns/shared", 3), claim("ns/own", 1)
	fits := func(a quota.Accounts, q index.Queue, claims ...index.DeviceClaim) string {
		return verdict(ix, quota.DeviceClaimsFit(a, &ix.RealCapability, names, q, claims))
	}
	allocated := func(a quota.View, queues ...index.Queue) (quantities []float64) {
		for _, q := range queues {
			quantities = append(quantities, a.Allocated(q).Get(gpus))
		}
		return quantities
	}

	quota.ChargeDeviceClaims(ix, prod, []index.DeviceClaim{shared, own})
	quota.ChargeDeviceClaims(ix, prod, []index.DeviceClaim{shared})
	assert.Equal(t, []float64{4, 0, 4, 4}, allocated(ix, prod, dev, eng, root), "a shared claim counts once")
	before := index.Over(ix.Version())

	assert.Equal(t, "Admitted at prod", fits(ix, prod, shared), "the queue holds it")
	assert.Equal(t, "OverQuota at prod", fits(ix, prod, shared, claim("ns/new", 1)))
	assert.Equal(t, "Admitted at dev", fits(ix, dev, claim("ns/new", 1)))
	assert.Equal(t, "OverQuota at eng", fits(ix, dev, claim("ns/new", 1), claim("ns/newer", 1)), "claims of one pod add up")
	assert.Equal(t, "Admitted at dev", fits(ix, dev, shared, claim("ns/new", 1)), "the parent holds the shared one")
	assert.Equal(t, "Admitted at prod", fits(ix, prod, index.DeviceClaim{Name: "ns/nic", Devices: []index.Devices{{Dim: nics, Quantity: 99}}}), "no queue names the class")

	quota.ChargeDeviceClaims(ix, dev, []index.DeviceClaim{shared})
	ix.Check()
	assert.Equal(t, []float64{4, 3, 4, 4}, allocated(ix, prod, dev, eng, root), "each queue is charged, and ancestors once")
	quota.RefundDeviceClaims(ix, prod, []index.DeviceClaim{shared, own})
	ix.Check()
	assert.Equal(t, []float64{3, 3, 3, 3}, allocated(ix, prod, dev, eng, root), "another pod of prod has it")
	quota.RefundDeviceClaims(ix, prod, []index.DeviceClaim{shared})
	assert.Equal(t, []float64{0, 3, 3, 3}, allocated(ix, prod, dev, eng, root), "a pod of dev has it")
	quota.RefundDeviceClaims(ix, prod, []index.DeviceClaim{shared})
	assert.Equal(t, []float64{0, 3, 3, 3}, allocated(ix, prod, dev, eng, root), "a refund without its charge")
	quota.RefundDeviceClaims(ix, dev, []index.DeviceClaim{claim("ns/shared", 2)})
	ix.Check()
	assert.Equal(t, []float64{0, 0, 0, 0}, allocated(ix, prod, dev, eng, root), "what was charged is refunded")

	assert.Equal(t, []float64{4, 0, 4, 4}, allocated(&before, prod, dev, eng, root), "the snapshot")
	clone := before.Clone()
	quota.RefundDeviceClaims(&before, prod, []index.DeviceClaim{shared})
	quota.RefundDeviceClaims(&before, prod, []index.DeviceClaim{shared})
	quota.ChargeDeviceClaims(&clone, dev, []index.DeviceClaim{shared, claim("ns/new", 1)})
	assert.Equal(t, []float64{1, 0, 1, 1}, allocated(&before, prod, dev, eng, root), "the snapshot knows the references")
	assert.Equal(t, []float64{4, 4, 5, 5}, allocated(&clone, prod, dev, eng, root), "clones are independent")
	assert.Equal(t, "Admitted at dev", fits(&before, dev, claim("ns/new", 4)))
	assert.Equal(t, "OverQuota at eng", fits(&clone, dev, claim("ns/newer", 1)))
	ix.ResetUsage()
	assert.Equal(t, []float64{0, 0, 0, 0}, allocated(ix, prod, dev, eng, root))
	assert.Zero(t, ix.DeviceClaim(prod, "ns/shared").References, "nothing is held in the next session")
}

// TestBound compares the bounds of devices for each way to name a class.
func TestBound(t *testing.T) {
	names, gpus, gpuMemory, nics := deviceNames()
	ix := session("",
		queue{name: "counts", bound: res{cpu: 7, gpus: 2}},
		queue{name: "capacities", bound: res{gpus: noBound, gpuMemory: 80}},
		queue{name: "both", bound: res{gpus: 2, gpuMemory: 80}})
	for name, want := range map[string][]float64{
		"counts": {2, 0, noBound}, "capacities": {noBound, 80, noBound}, "both": {2, 80, noBound},
	} {
		q := lookup(t, ix, name)
		for i, d := range []fastres.Dim{gpus, gpuMemory, nics} {
			assert.Equal(t, want[i], quota.Bound(&ix.RealCapability, names, q, d), "%s of %s", names.Name(d), name)
		}
	}
	assert.Equal(t, 7.0, quota.Bound(&ix.RealCapability, names, lookup(t, ix, "counts"), cpu), "a resource")
}

// TestEnqueueableDevices admits jobs. Their devices count in inqueue at every level.
func TestEnqueueableDevices(t *testing.T) {
	names, gpus, _, nics := deviceNames()
	ix := session("root",
		queue{name: "root", bound: res{gpus: 5}},
		queue{name: "prod", bound: res{gpus: 4}, allocated: res{gpus: 1}, elastic: res{gpus: 1}},
		queue{name: "dev"})
	prod, dev := lookup(t, ix, "prod"), lookup(t, ix, "dev")
	asked := func(q index.Queue, min res) string {
		return verdict(ix, quota.EnqueueableDevices(ix, names, q, min.vector()))
	}
	assert.Equal(t, "Admitted at prod", asked(prod, res{gpus: 3, nics: 99}))
	assert.Equal(t, "OverQuota at prod", asked(prod, res{gpus: 4}), "what is elastic counts")
	quota.PromiseDevices(ix, prod, res{gpus: 2}.vector())
	assert.Equal(t, "Admitted at prod", asked(prod, res{gpus: 1}))
	assert.Equal(t, "OverQuota at prod", asked(prod, res{gpus: 2}))
	assert.Equal(t, "Admitted at dev", asked(dev, res{gpus: 2}))
	assert.Equal(t, "OverQuota at root", asked(dev, res{gpus: 3}))
	assert.Equal(t, "OverQuota at root", asked(dev, res{gpus: fastres.MaxQuantity}), "a sum saturates")
}
