package cards

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// refusalOf returns what refuses a pod of a claim on a node, "" if it fits.
func (f *fixture) refusalOf(claim, node string) string {
	q, p := f.read("q", claiming("", claim))
	fit := f.FitNode(q, p, node, permit)
	if fit.Reason != NodeFits && fit.Text == "" {
		return fmt.Sprint(fit.Reason)
	}
	return fit.Text
}

// TestClaimsThatTakeLong has claims with as many alternatives as Kubernetes allows, 12,800 devices, and a simple claim.
// A session looks at a part of the devices, and the simple claim goes first.
func TestClaimsThatTakeLong(t *testing.T) {
	const perSlice = 128
	f, o := deviceFixture()
	for i := range 100 {
		node := fmt.Sprint("node-", i)
		f.Nodes = append(f.Nodes, workload.Node{Name: node})
		var devices []resourcev1.Device
		for j := range perSlice {
			devices = append(devices, gpuDevice(fmt.Sprint("gpu-", j), "H100"))
		}
		o.Slices = append(o.Slices, sliceOf(node, 1, devices...))
	}

	const claims = 20
	for i := range claims {
		var requests []resourcev1.DeviceRequest
		for j := range resourcev1.DeviceRequestsMaxSize {
			var alternatives []resourcev1.DeviceSubRequest
			for k := range resourcev1.FirstAvailableDeviceRequestMaxSize {
				alternatives = append(alternatives, or(fmt.Sprint("a", k), int64(i+1)))
			}
			requests = append(requests, first(fmt.Sprint("r", j), alternatives...))
		}
		o.Claims = append(o.Claims, claimOf(fmt.Sprint("long-", i), requests...))
	}
	o.Claims = append(o.Claims, claimOf("simple", exactly("r", 1)))

	sessions := 0
	for served := 0; served < claims; sessions++ {
		require.Less(t, sessions, 20)
		f.open(t)
		assert.Less(t, f.registry.devices.looks, mostLooks+perSlice*256+2*perSlice)
		assert.Empty(t, f.refusalOf("simple", "node-0"))

		served = 0
		for i := range claims {
			claim := fmt.Sprint("long-", i)
			refusal := f.refusalOf(claim, "node-0")
			if refusal == "" {
				served++
			} else {
				require.Equal(t, fmt.Sprintf("<default/%s>: %s", claim, unfinished), refusal)
			}
		}
	}
	assert.Greater(t, sessions, 1)

	f.open(t)
	assert.Zero(t, f.registry.devices.looks, "the devices are the same")
	on := f.registry.devices.claims["default/long-0"].shape.on
	assert.Same(t, on["node-0"].shape, on["node-99"].shape, "nodes with equal devices share a result")

	last := len(o.Slices) - 1
	o.Slices[last] = o.Slices[last].DeepCopy()
	f.open(t)
	assert.Equal(t, (claims*(256+1)+2)*perSlice, f.registry.devices.looks, "other nodes are not searched again")
	assert.Empty(t, f.refusalOf("long-9", "node-99"))
}

// TestClaimsOfOneNamespace has more different claims that wait for devices than a namespace may have.
func TestClaimsOfOneNamespace(t *testing.T) {
	f, o := deviceFixture()
	different := func(name string, i int) *resourcev1.ResourceClaim {
		return claimOf(name, first("r", or("many", int64(100+i)), or("one", 1)))
	}
	for i := range mostShapes + 6 {
		o.Claims = append(o.Claims, different(fmt.Sprint("own-", i), i))
	}
	elsewhere := different("other", 1000)
	elsewhere.Namespace = "elsewhere"
	o.Claims = append(o.Claims, elsewhere)

	served := func() (names []string) {
		f.open(t)
		for i := range mostShapes + 6 {
			claim := fmt.Sprint("own-", i)
			if refusal := f.refusalOf(claim, "mixed"); refusal == "" {
				names = append(names, claim)
			} else if refusal != "default/"+claim { // of a claim that is gone
				require.Equal(t, fmt.Sprintf("<default/%s>: %s", claim, crowded), refusal)
			}
		}
		assert.Empty(t, f.registry.devices.claims["elsewhere/other"].shape.problem)
		return names
	}

	before := served()
	assert.Len(t, before, mostShapes)
	o.Slices = append(o.Slices, sliceOf("bare", 1, gpuDevice("gpu-0", "H100")))
	assert.Equal(t, before, served(), "other devices change nothing")

	// Claims that are equal count once.
	again := slices.IndexFunc(o.Claims, func(c *resourcev1.ResourceClaim) bool { return c.Name == before[0] })
	same := o.Claims[again].DeepCopy()
	same.Name = "same"
	same.UID = "same"
	o.Claims = append(o.Claims, same)
	assert.Equal(t, before, served())
	assert.Empty(t, f.refusalOf("same", "mixed"))

	// One is allocated, and the others of the first ten are gone: the rest gets in.
	o.Claims[0] = with(o.Claims[0], "mixed", "gpu-0")
	o.Claims = append(o.Claims[:1], o.Claims[10:]...)
	assert.Len(t, served(), mostShapes+6-9)
}

// TestOtherClass has a device class that admits fewer devices in the second session. The nodes are searched again,
// although they have the same devices.
func TestOtherClass(t *testing.T) {
	f, o := deviceFixture()
	o.Claims = []*resourcev1.ResourceClaim{claimOf("own", exactly("r", 1))}
	f.open(t)
	assert.Empty(t, f.refusalOf("own", "parts"))

	o.Classes = []*resourcev1.DeviceClass{classOf(nvidia, product("A100"))}
	f.open(t)
	assert.Empty(t, f.refusalOf("own", "mixed"))
	assert.Equal(t, "default/own", f.refusalOf("own", "parts"), "it has too few devices")
}
