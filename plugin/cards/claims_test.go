package cards

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

// nvidia is the driver of the devices of tests, and the class that admits all of them.
const nvidia = "gpu.nvidia.com"

func text(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

// gpuDevice returns a device that is a whole card.
func gpuDevice(name, product string) resourcev1.Device {
	return resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"type": text("gpu"), "productName": text(product)}}
}

// migDevice returns a device that is a MIG slice.
func migDevice(name, product, profile string) resourcev1.Device {
	d := gpuDevice(name, product)
	d.Attributes["type"], d.Attributes["profile"] = text("mig"), text(profile)
	return d
}

// sliceOf returns the slice of a node's devices.
func sliceOf(node string, generation int64, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{Driver: nvidia, NodeName: &node, Devices: devices,
			Pool: resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1}}}
}

func classOf(name, expression string) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if expression != "" {
		c.Spec.Selectors = selectors(expression)
	}
	return c
}

func selectors(expressions ...string) (all []resourcev1.DeviceSelector) {
	for _, e := range expressions {
		all = append(all, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return all
}

// exactly returns a request for a number of devices of the class.
func exactly(name string, count int64, expressions ...string) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: nvidia, Count: count,
		AllocationMode: resourcev1.DeviceAllocationModeExactCount, Selectors: selectors(expressions...)}}
}

// first returns a request with alternatives: number and expression.
func first(name string, alternatives ...resourcev1.DeviceSubRequest) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: name, FirstAvailable: alternatives}
}

func or(name string, count int64, expressions ...string) resourcev1.DeviceSubRequest {
	return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: nvidia, Count: count, Selectors: selectors(expressions...),
		AllocationMode: resourcev1.DeviceAllocationModeExactCount}
}

func product(name string) string {
	return fmt.Sprintf(`device.attributes["gpu.nvidia.com"].productName == %q`, name)
}

func typed(name string) string {
	return fmt.Sprintf(`device.attributes["gpu.nvidia.com"].type == %q`, name)
}

// claimOf returns a claim that is not allocated.
func claimOf(name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}
}

// with returns the claim once it is allocated: pool/device of a request.
func with(c *resourcev1.ResourceClaim, pool string, devices ...string) *resourcev1.ResourceClaim {
	c = c.DeepCopy()
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, device := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: c.Spec.Devices.Requests[0].Name, Driver: nvidia, Pool: pool, Device: device})
	}
	return c
}

// claiming returns a pod with claims that were made for it, or that it names where they begin with "shared".
func claiming(list string, claims ...string) *v1.Pod {
	p := pod(list, workload.Resources{})
	p.Namespace = "default"
	for _, name := range claims {
		own := v1.PodResourceClaim{Name: name, ResourceClaimName: &name}
		if len(name) < 6 || name[:6] != "shared" {
			own = v1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name}
			p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name})
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, own)
	}
	return p
}

// deviceFixture has a node with three models of cards, and one with MIG slices.
func deviceFixture() (f *fixture, o *release.DeviceObjects) {
	f = newFixture().queue("q", "", `{"H100":8,"A100":8,"H100/mig-1g.10gb-mixed":8}`)
	f.Nodes = []workload.Node{{Name: "mixed"}, {Name: "parts"}, {Name: "bare"}}
	f.devices = &release.DeviceObjects{
		Classes: []*resourcev1.DeviceClass{classOf(nvidia, `device.driver == "gpu.nvidia.com"`)},
		Slices: []*resourcev1.ResourceSlice{
			sliceOf("mixed", 1, gpuDevice("gpu-0", "H100"), gpuDevice("gpu-1", "H100"), gpuDevice("gpu-2", "H100"), gpuDevice("gpu-3", "A100")),
			sliceOf("parts", 1, migDevice("mig-0", "H100", "1g.10gb"), migDevice("mig-1", "H100", "1g.10gb"), gpuDevice("gpu-0", "H100")),
		}}
	return f, f.devices
}

// onNode returns the cards that a pod is charged for on a node, in whole cards.
func (f *fixture) onNode(p *PodRequest, node string) map[string]float64 {
	x := fastres.NewVector(f.names.Len())
	f.AddTo(x, p, node)
	charged := map[string]float64{}
	for d := range x.Requested() {
		charged[f.names.Name(d)] = x.Get(d) / 1000
	}
	return charged
}

// asked returns the lists that a pod without a node requests, with the quantity.
func (f *fixture) asked(p *PodRequest) (all []string) {
	for r := range f.Requests(p) {
		all = append(all, fmt.Sprintf("%s:%v", r.Selector.Names, r.Amount))
	}
	return all
}

func permit(fastres.Dim, float64) quota.Verdict { return quota.Verdict{} }

// TestClaims charges claims before they are allocated: the most that they can get on a node.
func TestClaims(t *testing.T) {
	const mig = "H100/mig-1g.10gb-mixed"
	all := exactly("r", 1, typed("gpu"))
	all.Exactly.AllocationMode, all.Exactly.Count = resourcev1.DeviceAllocationModeAll, 0
	admin := exactly("r", 1)
	yes := true
	admin.Exactly.AdminAccess = &yes
	none := map[string]float64{}
	for name, c := range map[string]struct {
		requests     []resourcev1.DeviceRequest
		asked        []string
		mixed, parts map[string]float64
		fits         [2]bool // mixed, parts
	}{
		"one model": {[]resourcev1.DeviceRequest{exactly("r", 2, product("H100"), typed("gpu"))}, []string{"H100:2"},
			map[string]float64{"H100": 2}, none, [2]bool{true, false}},
		"several models": {[]resourcev1.DeviceRequest{exactly("r", 2, typed("gpu"))}, []string{"A100|H100:1"},
			map[string]float64{"H100": 2, "A100": 1}, none, [2]bool{true, false}},
		"any device": {[]resourcev1.DeviceRequest{exactly("r", 1)}, []string{"A100|H100|" + mig + ":1"},
			map[string]float64{"H100": 1, "A100": 1}, map[string]float64{"H100": 1, mig: 1}, [2]bool{true, true}},
		"slices": {[]resourcev1.DeviceRequest{exactly("r", 2, typed("mig"))}, []string{mig + ":2"}, none, map[string]float64{mig: 2},
			[2]bool{false, true}},
		"two requests of the same devices": {[]resourcev1.DeviceRequest{exactly("r", 2, typed("gpu")), exactly("s", 2, typed("gpu"))},
			[]string{"A100|H100:1", "A100|H100:1"}, map[string]float64{"H100": 3, "A100": 1}, none, [2]bool{true, false}},
		"all devices": {[]resourcev1.DeviceRequest{all}, []string{"A100|H100:1"}, map[string]float64{"H100": 3, "A100": 1},
			map[string]float64{"H100": 1}, [2]bool{true, true}},
		"alternatives": {[]resourcev1.DeviceRequest{first("r", or("a", 1, product("H100"), typed("gpu")), or("b", 2, typed("mig")))},
			[]string{"H100|" + mig + ":1"}, map[string]float64{"H100": 1}, map[string]float64{"H100": 1, mig: 2}, [2]bool{true, true}},
		"alternatives of one card": {[]resourcev1.DeviceRequest{first("r", or("a", 2, product("H100"), typed("gpu")), or("b", 1, product("H100"), typed("gpu")))},
			[]string{"H100:1"}, map[string]float64{"H100": 2}, map[string]float64{"H100": 1}, [2]bool{true, true}},
		"admin access": {[]resourcev1.DeviceRequest{admin}, nil, none, none, [2]bool{true, true}},
		"no such card": {[]resourcev1.DeviceRequest{exactly("r", 1, product("B200"))}, nil, none, none, [2]bool{}},
		"too many":     {[]resourcev1.DeviceRequest{exactly("r", 5)}, nil, none, none, [2]bool{}},
		"huge":         {[]resourcev1.DeviceRequest{exactly("r", 1<<62), exactly("s", 1<<62)}, nil, none, none, [2]bool{}},
		"negative":     {[]resourcev1.DeviceRequest{exactly("r", -4, product("A100"))}, []string{"A100:1"}, map[string]float64{"A100": 1}, none, [2]bool{true, false}},
		"not CEL":      {[]resourcev1.DeviceRequest{exactly("r", 1, "device.")}, nil, none, none, [2]bool{}},
		"fails on each": {[]resourcev1.DeviceRequest{exactly("r", 1, `device.attributes["gpu.nvidia.com"].nothing == "x"`)}, nil, none, none,
			[2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, o := deviceFixture()
			o.Claims = append(o.Claims, claimOf("own", c.requests...))
			f.open(t)
			q, p := f.read("q", claiming("", "own"))
			assert.Equal(t, c.asked, f.asked(p))
			for i, on := range []string{"mixed", "parts"} {
				fit := f.FitNode(q, p, on, permit)
				assert.Equal(t, c.fits[i], fit.Reason == NodeFits, "%s: %+v", on, fit)
				assert.Equal(t, []map[string]float64{c.mixed, c.parts}[i], f.onNode(p, on), on)
			}
			assert.Equal(t, len(c.requests) > 0 && c.asked == nil && c.fits[0], f.FitNode(q, p, "bare", permit).Reason == NodeFits)
		})
	}
}

// TestAllocatedClaims charges allocated claims for their devices, even if the slices have changed or are gone.
func TestAllocatedClaims(t *testing.T) {
	f, o := deviceFixture()
	open := claimOf("own", exactly("r", 2))
	o.Claims = []*resourcev1.ResourceClaim{open}
	_, p := f.open(t).read("q", claiming("", "own"))
	assert.Equal(t, map[string]float64{"H100": 2, "A100": 1}, f.onNode(p, "mixed"))

	allocated, yes := with(open, "mixed", "gpu-0", "gpu-3", "gpu-1"), true
	allocated.Status.Allocation.Devices.Results[2].AdminAccess = &yes // of a request that only looks at the device
	o.Claims = []*resourcev1.ResourceClaim{allocated}
	f.open(t)
	exact := map[string]float64{"H100": 1, "A100": 1}
	assert.Equal(t, exact, f.onNode(p, "mixed"))
	assert.Equal(t, []string{"A100|H100|H100/mig-1g.10gb-mixed:1", "A100|H100|H100/mig-1g.10gb-mixed:1"}, f.asked(p))
	assert.Equal(t, map[string]float64{"H100": 4, "A100": 1, "H100/mig-1g.10gb-mixed": 2}, f.stock())

	// The driver renames a product, then the node is lost: the claim keeps its cards.
	o.Slices = []*resourcev1.ResourceSlice{o.Slices[1], sliceOf("mixed", 2, gpuDevice("gpu-0", "H100 PCIe"), gpuDevice("gpu-3", "A100"))}
	f.open(t)
	assert.Equal(t, exact, f.onNode(p, "mixed"))
	assert.Equal(t, map[string]float64{"H100": 1, "H100-PCIe": 1, "A100": 1, "H100/mig-1g.10gb-mixed": 2}, f.stock())
	o.Slices = nil
	f.open(t)
	assert.Equal(t, exact, f.onNode(p, "mixed"))
	for r := range f.RequestsOn(p, "mixed") {
		assert.True(t, f.Gone("mixed", r, r.claimed))
	}

	// A scheduler that starts now knows neither device. The cards that the pod names first are the best guess.
	f.registry = NewRegistry()
	f.open(t)
	_, p = f.read("q", claiming("", "own"))
	assert.Empty(t, f.onNode(p, "mixed"))
	_, p = f.read("q", claiming("A100|H100", "own"))
	assert.Equal(t, map[string]float64{"A100": 2}, f.onNode(p, "mixed"))
	o.Slices = []*resourcev1.ResourceSlice{sliceOf("mixed", 2, gpuDevice("gpu-7", "H100"))}
	f.open(t)
	assert.Equal(t, map[string]float64{"H100": 2}, f.onNode(p, "mixed"), "the pool has one model alone")
}

// TestPlacedClaims keeps the charge of a claim from when its pod has a node until it is allocated.
func TestPlacedClaims(t *testing.T) {
	f, o := deviceFixture()
	open := claimOf("own", exactly("r", 1))
	o.Claims = []*resourcev1.ResourceClaim{open}
	_, p := f.open(t).read("q", claiming("", "own"))
	most := map[string]float64{"H100": 1, "A100": 1}
	assert.Equal(t, most, f.onNode(p, "mixed"))
	f.keepPlaced(p, "mixed")
	o.Slices = []*resourcev1.ResourceSlice{sliceOf("mixed", 2, gpuDevice("gpu-0", "B200"))}
	f.open(t)
	assert.Equal(t, most, f.onNode(p, "mixed"))
	assert.Equal(t, []string{"B200:1"}, f.asked(p), "without a node again, the claim requests what there is")
	o.Claims = []*resourcev1.ResourceClaim{with(open, "mixed", "gpu-0")}
	assert.Equal(t, map[string]float64{"B200": 1}, f.open(t).onNode(p, "mixed"))

	// Another claim of the same name has nothing of the first.
	another := claimOf("own", exactly("r", 1))
	another.UID = "another"
	o.Claims = []*resourcev1.ResourceClaim{another}
	assert.Equal(t, map[string]float64{"B200": 1}, f.open(t).onNode(p, "mixed"))
	o.Claims = nil
	q := f.open(t).ix.Lookup("q")
	assert.Equal(t, ClaimUnknown, f.FitNode(q, p, "mixed", permit).Reason)
}

// TestNamedClaims has pods with claims that name cards: each card that the claim could get must be named.
func TestNamedClaims(t *testing.T) {
	f, o := deviceFixture()
	o.Claims = []*resourcev1.ResourceClaim{claimOf("any", exactly("r", 1)), claimOf("h100", exactly("r", 1, product("H100")))}
	f.open(t)
	for list, fits := range map[string]map[string]string{
		"H100":                             {"any": "", "h100": "mixed"},
		"H100|A100":                        {"any": "mixed", "h100": "mixed"},
		"H100|H100/mig-1g.10gb-mixed":      {"any": "parts", "h100": "mixed parts"},
		"A100|H100|H100/mig-1g.10gb-mixed": {"any": "mixed parts", "h100": "mixed parts"},
	} {
		for claim, want := range fits {
			q, p := f.read("q", claiming(list, claim))
			var got []string
			for _, node := range []string{"mixed", "parts"} {
				fit := f.FitNode(q, p, node, permit)
				if fit.Reason == NodeFits {
					got = append(got, node)
				} else {
					assert.Equal(t, OtherDevice, fit.Reason)
				}
			}
			assert.Equal(t, want, fmt.Sprint(joined(got)), "%s of %s", claim, list)
			assert.Equal(t, []string{list + ":1"}, f.asked(p))
		}
	}
}

func joined(all []string) (text string) {
	for i, s := range all {
		if i > 0 {
			text += " "
		}
		text += s
	}
	return text
}

// TestSlicesOfAnOldGeneration do not count.
func TestSlicesOfAnOldGeneration(t *testing.T) {
	f, o := deviceFixture()
	o.Slices = append(o.Slices, sliceOf("parts", 7, gpuDevice("gpu-0", "A100")), sliceOf("parts", -3, gpuDevice("gpu-0", "B200")))
	f.open(t)
	assert.Equal(t, map[string]float64{"H100": 3, "A100": 2}, f.stock())
	o.Slices[1], o.Slices[2] = o.Slices[2], o.Slices[1]
	assert.Equal(t, map[string]float64{"H100": 3, "A100": 2}, f.open(t).stock())
	o.Slices = append(o.Slices[:1:1], o.Slices[2:]...)
	assert.Equal(t, map[string]float64{"H100": 4, "H100/mig-1g.10gb-mixed": 2, "A100": 1}, f.open(t).stock(), "until they are the newest again")
}

// TestUnnamedDevices refuses the nodes on which a claim could get a card without a name.
func TestUnnamedDevices(t *testing.T) {
	f, o := deviceFixture()
	bad := gpuDevice("gpu-9", "")
	o.Slices[1].Spec.Devices = append(o.Slices[1].Spec.Devices, bad)
	o.Claims = []*resourcev1.ResourceClaim{claimOf("any", exactly("r", 1)), claimOf("mig", exactly("r", 1, typed("mig")))}
	q, p := f.open(t).read("q", claiming("", "any"))
	assert.Equal(t, NodeFits, f.FitNode(q, p, "mixed", permit).Reason)
	assert.Equal(t, NodeFit{Reason: UnnamedDevice, Text: nvidia, Label: "productName"}, f.FitNode(q, p, "parts", permit))
	_, p = f.read("q", claiming("", "mig"))
	assert.Equal(t, NodeFits, f.FitNode(q, p, "parts", permit).Reason)
}

// TestOtherDrivers do not count, unless an argument names their attribute.
func TestOtherDrivers(t *testing.T) {
	f, o := deviceFixture()
	for _, s := range o.Slices {
		s.Spec.Driver = "gpu.example.com"
	}
	o.Classes[0].Spec.Selectors = nil
	o.Claims = []*resourcev1.ResourceClaim{claimOf("any", exactly("r", 1))}
	q, p := f.open(t).read("q", claiming("", "any"))
	assert.Empty(t, f.stock())
	assert.Empty(t, f.asked(p))
	assert.Equal(t, NodeFits, f.FitNode(q, p, "mixed", permit).Reason)
	assert.False(t, f.Uses(p))
	f.settings.Attributes = card.Attributes{"gpu.example.com": "productName"}
	f.open(t)
	assert.Equal(t, map[string]float64{"H100": 6, "A100": 1}, f.stock(), "parts have names of the vendors' drivers alone")
	assert.Equal(t, []string{"A100|H100:1"}, f.asked(p))
}

// TestRemoteDevices are devices that several nodes can use.
func TestRemoteDevices(t *testing.T) {
	f, o := deviceFixture()
	yes := true
	for i, s := range o.Slices {
		s.Spec.NodeName = nil
		if i == 0 {
			s.Spec.AllNodes = &yes
		} else {
			s.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"bare"}}}}}}
		}
	}
	o.Claims = []*resourcev1.ResourceClaim{claimOf("any", exactly("r", 1))}
	_, p := f.open(t).read("q", claiming("", "any"))
	assert.Equal(t, map[string]float64{"H100": 1, "A100": 1}, f.onNode(p, "mixed"))
	assert.Equal(t, map[string]float64{"H100": 1, "A100": 1, "H100/mig-1g.10gb-mixed": 1}, f.onNode(p, "bare"))
	assert.Equal(t, map[string]float64{"H100": 4, "A100": 1, "H100/mig-1g.10gb-mixed": 2}, f.stock(), "once, whoever can use them")

	f.Nodes = append(f.Nodes, workload.Node{Name: "new"})
	assert.Equal(t, map[string]float64{"H100": 1, "A100": 1}, f.open(t).onNode(p, "new"))

	o.Slices[0].Spec.AllNodes, o.Slices[0].Spec.PerDeviceNodeSelection = nil, &yes
	o.Slices[0] = o.Slices[0].DeepCopy()
	node := "parts"
	o.Slices[0].Spec.Devices[3].NodeName = &node
	assert.Empty(t, f.open(t).onNode(p, "mixed"))
	assert.Equal(t, map[string]float64{"A100": 1}, f.onNode(p, "parts"), "by the node that the device itself names")
}

// TestParts charges the part of a device that a claim consumes.
func TestParts(t *testing.T) {
	f, o := deviceFixture()
	yes, id := true, types.UID("part")
	o.Slices[0].Spec.Devices[3].AllowMultipleAllocations = &yes
	o.Slices[0].Spec.Devices[3].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
		"memory": {Value: resource.MustParse("80Gi")}, "cores": {Value: resource.MustParse("100")}, "none": {}}
	open := claimOf("own", exactly("r", 3, product("A100")))
	o.Claims = []*resourcev1.ResourceClaim{open}
	_, p := f.open(t).read("q", claiming("", "own"))
	assert.Equal(t, map[string]float64{"A100": 3}, f.onNode(p, "mixed"), "before it is allocated, each part may be a whole card")
	for name, c := range map[string]struct {
		consumed map[resourcev1.QualifiedName]resource.Quantity
		milli    float64
	}{
		"the greater share":  {map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("20Gi"), "cores": resource.MustParse("50")}, 0.5},
		"unknown capacities": {map[resourcev1.QualifiedName]resource.Quantity{"bandwidth": resource.MustParse("1"), "none": resource.MustParse("1")}, 1},
		"nothing":            {nil, 1},
		"negative":           {map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("-1")}, 1},
		"too much":           {map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1e2000000")}, 1},
	} {
		f.registry = NewRegistry()
		allocated := with(open, "mixed", "gpu-3")
		allocated.Status.Allocation.Devices.Results[0].ShareID = &id
		allocated.Status.Allocation.Devices.Results[0].ConsumedCapacity = c.consumed
		o.Claims = []*resourcev1.ResourceClaim{allocated}
		_, p := f.open(t).read("q", claiming("", "own"))
		assert.Equal(t, map[string]float64{"A100": c.milli}, f.onNode(p, "mixed"), name)
	}
}

// TestProblemsOfClaims has a reason for each claim that cannot be served.
func TestProblemsOfClaims(t *testing.T) {
	f, o := deviceFixture()
	o.Claims = []*resourcev1.ResourceClaim{
		claimOf("cel", exactly("r", 1, "device.")),
		claimOf("quantity", exactly("r", 1, `quantity("1e2000000000").isGreaterThan(quantity("1"))`)),
		claimOf("class", first("r", resourcev1.DeviceSubRequest{Name: "a", DeviceClassName: "none"})),
		claimOf("nothing", resourcev1.DeviceRequest{Name: "r"}),
		claimOf("selector", resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: nvidia,
			Selectors: []resourcev1.DeviceSelector{{}}}}),
	}
	f.open(t)
	for claim, says := range map[string]string{
		"cel":      "<default/cel>: a CEL expression of its request does not compile: ",
		"quantity": "<default/quantity>: a CEL expression of its request has a quantity that is no short literal",
		"class":    "<default/class>: the device class none does not exist",
		"nothing":  "<default/nothing>: a request names neither exactly nor firstAvailable",
		"selector": "<default/selector>: a selector of its request has no CEL expression",
	} {
		q, p := f.read("q", claiming("", claim))
		fit := f.FitNode(q, p, "mixed", permit)
		assert.Equal(t, ClaimRefused, fit.Reason)
		assert.Contains(t, fit.Text, says)
	}
	q, p := f.read("q", claiming("", "missing"))
	assert.Equal(t, NodeFit{Reason: ClaimUnknown, Text: "default/missing"}, f.FitNode(q, p, "mixed", permit))
	unmade := claiming("", "own")
	unmade.Status.ResourceClaimStatuses = nil
	_, p = f.read("q", unmade)
	assert.Equal(t, NodeFit{Reason: ClaimUnknown, Text: "own"}, f.FitNode(q, p, "mixed", permit))

	// A class that does not compile concerns its own claims alone, until it is corrected.
	o.Classes = append(o.Classes, classOf("bad", "1 +"))
	bad := exactly("r", 1)
	bad.Exactly.DeviceClassName = "bad"
	o.Claims = append(o.Claims, claimOf("bad", bad), claimOf("good", exactly("r", 1)))
	f.open(t)
	_, p = f.read("q", claiming("", "bad"))
	assert.Contains(t, f.FitNode(q, p, "mixed", permit).Text, "a CEL expression of the device class bad does not compile")
	_, good := f.read("q", claiming("", "good"))
	assert.Equal(t, NodeFits, f.FitNode(q, good, "mixed", permit).Reason)
	o.Classes = []*resourcev1.DeviceClass{o.Classes[0], classOf("bad", "true")}
	f.open(t)
	assert.Equal(t, NodeFits, f.FitNode(q, p, "mixed", permit).Reason)

	// Without a class, nothing is known of the cards that a claim requests.
	_, p = f.read("q", claiming("", "bad"))
	assert.NotEmpty(t, f.asked(p))
	o.Classes = o.Classes[:1]
	f.open(t)
	_, p = f.read("q", claiming("", "bad"))
	assert.Empty(t, f.asked(p))
	assert.Equal(t, ClaimRefused, f.FitNode(q, p, "mixed", permit).Reason)
}

// TestQuantitiesOfExpressions has expressions with quantities. Kubernetes compares long ones digit by digit.
func TestQuantitiesOfExpressions(t *testing.T) {
	for expression, want := range map[string]bool{
		"true": true, `device.capacity["d"].memory.compareTo(quantity("16Gi")) >= 0`: true, `quantity('1.5e9') == quantity( "2" )`: true,
		`isQuantity("3m")`: true, `quantity("1e200")`: false, `quantity("0e2147483640")`: false, `quantity("1" + "e9999")`: false,
		`quantity(device.driver)`: false, "quantity // a comment\n(\"1e999\")": false, `.quantity("1e999")`: false,
		`quantity("` + strings.Repeat("1", 19) + `")`: false,
	} {
		_, problem := compile(selectors(expression), "its request")
		assert.Equal(t, want, !strings.Contains(problem, "short literal"), expression)
	}
}

// TestHugeCapacity compares capacities of devices. A driver publishes one with 2,000,000,000 digits.
func TestHugeCapacity(t *testing.T) {
	f, o := deviceFixture()
	for i, memory := range []string{"80Gi", "1e2000000000", "-1e2000000000", "40Gi"} {
		o.Slices[0].Spec.Devices[i].Capacity = capacities{"memory": {Value: resource.MustParse(memory)}}
	}
	const large = `device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0`
	o.Claims = []*resourcev1.ResourceClaim{claimOf("two", exactly("r", 2, large)), claimOf("three", exactly("r", 3, large))}
	f.open(t)
	for claim, want := range map[string]NodeReason{"two": NodeFits, "three": NoDevice} {
		q, p := f.read("q", claiming("", claim))
		assert.Equal(t, want, f.FitNode(q, p, "mixed", permit).Reason, claim)
	}
}

// TestExpressionsThatTakeLong has a claim with an expression that costs nearly as much as Kubernetes allows, and another
// claim. A session evaluates a part of the devices, and the claim that has cost least goes first.
func TestExpressionsThatTakeLong(t *testing.T) {
	const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
	costly := "true"
	for _, variable := range []string{"a", "b", "c", "d", "e"} {
		costly = fmt.Sprintf("%s.all(%s, %s)", ten, variable, costly)
	}
	f, o := deviceFixture()
	for i := range 15 {
		o.Slices[0].Spec.Devices = append(o.Slices[0].Spec.Devices, gpuDevice(fmt.Sprint("more-", i), "H100"))
	}
	o.Claims = []*resourcev1.ResourceClaim{claimOf("costly", exactly("r", 1, costly)), claimOf("cheap", exactly("r", 1, product("A100")))}
	fit := func(claim string) NodeFit {
		q, p := f.read("q", claiming("", claim))
		return f.FitNode(q, p, "mixed", permit)
	}

	f.open(t)
	assert.Equal(t, NodeFit{Reason: ClaimRefused, Text: "<default/costly>: " + unfinished}, fit("costly"))
	sessions := 1
	for ; fit("costly").Reason != NodeFits; sessions++ {
		spent := f.registry.devices.cost
		assert.GreaterOrEqual(t, spent, uint64(mostCost))
		assert.Less(t, spent, uint64(mostCost+resourcev1.CELSelectorExpressionMaxCost))
		f.open(t)
		assert.Equal(t, NodeFits, fit("cheap").Reason, "it has cost least")
		require.Less(t, sessions, 100)
	}
	assert.Greater(t, sessions, 1)

	changed := o.Slices[1].DeepCopy()
	o.Slices[1] = changed
	f.open(t)
	assert.Equal(t, NodeFits, fit("costly").Reason, "only the devices of the slice that changed are evaluated")
	assert.Less(t, f.registry.devices.cost, uint64(mostCost))

	o.Claims = o.Claims[1:]
	f.registry.devices.forgetShapes()
	f.open(t)
	assert.Len(t, f.registry.devices.queries, 1, "the query of a claim that is gone is dropped")
}

// TestSharedClaimsOfPods expects shared claims to be no part of the requests of a pod. Snapshot lists them apart, as
// the claims that the pod shares.
func TestSharedClaimsOfPods(t *testing.T) {
	f, o := deviceFixture()
	o.Claims = []*resourcev1.ResourceClaim{claimOf("shared", exactly("r", 1)), claimOf("own", exactly("r", 1, product("A100")))}
	q, p := f.open(t).read("q", claiming("", "shared", "own", "shared"))
	assert.Equal(t, map[string]float64{"A100": 1}, f.onNode(p, "mixed"))
	assert.Equal(t, []string{"A100:1"}, f.asked(p))
	want := []index.DeviceClaim{{Name: "cards of default/shared", Devices: []index.Devices{
		{Dim: f.dim(t, "H100"), Quantity: 1000}, {Dim: f.dim(t, "A100"), Quantity: 1000}}}}
	got := f.SharedOn(p, "mixed")
	slices.SortFunc(got[0].Devices, func(x, y index.Devices) int { return int(x.Dim - y.Dim) })
	slices.SortFunc(want[0].Devices, func(x, y index.Devices) int { return int(x.Dim - y.Dim) })
	assert.Equal(t, want, got)
	for name, r := range f.SharedOpen(p) {
		assert.Equal(t, "cards of default/shared", name)
		assert.Equal(t, "A100|H100|H100/mig-1g.10gb-mixed", r.Selector.Names.String())
	}
	assert.Equal(t, NodeFits, f.FitNode(q, p, "mixed", permit).Reason)
}

// TestClaimsOfRenewedNames renews the names of cards, and forgets pods. Claims keep the cards that they are charged
// for.
func TestClaimsOfRenewedNames(t *testing.T) {
	f, o := deviceFixture()
	allocated, placed := with(claimOf("own", exactly("r", 2)), "mixed", "gpu-0", "gpu-3"), claimOf("placed", exactly("r", 1))
	o.Claims = []*resourcev1.ResourceClaim{allocated, placed}
	_, p := f.open(t).read("q", claiming("", "placed"))
	f.keepPlaced(p, "mixed")
	o.Slices = o.Slices[1:]
	f.open(t)
	for range 2 {
		for name, want := range map[string]map[string]float64{"own": {"H100": 1, "A100": 1}, "placed": {"H100": 1, "A100": 1}} {
			_, p := f.read("q", claiming("", name))
			assert.Equal(t, want, f.onNode(p, "mixed"), name)
		}
		old := f.names
		f.names = &index.Names{}
		f.names.InternCard("new")
		f.registry.RenewNames(func(d fastres.Dim) fastres.Dim { return f.names.InternCard(old.Name(d)) })
		f.registry.pods.used = 1 << 20
		f.open(t)
	}
	o.Claims = nil
	for range 3 {
		f.registry.pods.used = 1 << 20
		f.open(t)
	}
	require.Empty(t, f.registry.devices.claims, "no pod refers to a claim that is gone")
	require.Empty(t, f.registry.devices.shapes)
}

// TestDeletedClaimsStayCharged deletes the claim of a running pod. The pods are read again in each session.
func TestDeletedClaimsStayCharged(t *testing.T) {
	f, o := deviceFixture()
	o.Claims = []*resourcev1.ResourceClaim{with(claimOf("own", exactly("r", 2)), "mixed", "gpu-0", "gpu-3")}
	f.open(t)
	o.Claims = nil
	for range 5 {
		_, p := f.read("q", claiming("", "own"))
		assert.Equal(t, map[string]float64{"H100": 1, "A100": 1}, f.onNode(p, "mixed"))
		f.registry.pods.used = 1 << 20
		f.open(t)
	}
}

// TestClaimsOfOthersAreForgotten has many claims of pods of another scheduler, which come and go.
func TestClaimsOfOthersAreForgotten(t *testing.T) {
	f, o := deviceFixture()
	for session := range 20 {
		o.Claims = nil
		for i := range 300 {
			o.Claims = append(o.Claims, claimOf(fmt.Sprintf("other-%d-%d", session, i), exactly("r", 1)))
		}
		f.open(t)
	}
	assert.LessOrEqual(t, len(f.registry.devices.claims), 2*300+1024+2*300)
}

// FuzzDeviceObjects reads slices, classes and claims of any content. Nothing panics, and no claim takes a number of
// cards below 0. A pod with another claim gets the same cards as before.
func FuzzDeviceObjects(f *testing.F) {
	_, o := deviceFixture()
	for _, claim := range []*resourcev1.ResourceClaim{claimOf("own", exactly("r", 1<<62)), claimOf("own", first("r", or("a", -1, "true"), or("b", 1, "1/0 == 1"))),
		with(claimOf("own", exactly("r", 1)), "mixed", "gpu-0", "gone")} {
		var all [3][]byte
		for i, object := range []any{o.Slices[0], o.Classes[0], claim} {
			all[i], _ = json.Marshal(object)
		}
		f.Add(all[0], all[1], all[2])
	}
	f.Fuzz(func(t *testing.T, slice, class, claim []byte) {
		var read release.DeviceObjects
		if s := new(resourcev1.ResourceSlice); json.Unmarshal(slice, s) == nil && s.Name != "" && s.Spec.Pool.Name != "parts" {
			read.Slices = append(read.Slices, s)
		}
		if c := new(resourcev1.DeviceClass); json.Unmarshal(class, c) == nil && c.Name != "" && c.Name != nvidia {
			read.Classes = append(read.Classes, c)
		}
		if c := new(resourcev1.ResourceClaim); json.Unmarshal(claim, c) == nil {
			c.Namespace, c.Name, c.UID = "default", "own", "own"
			read.Claims = append(read.Claims, c)
		}
		f, valid := deviceFixture()
		read.Classes = append(read.Classes, valid.Classes...)
		read.Slices = append(read.Slices, sliceOf("parts", math.MaxInt64, gpuDevice("gpu-0", "A100")))
		read.Claims = append(read.Claims, claimOf("good", exactly("r", 1, product("A100"))))
		f.devices = &read
		for range 2 {
			q, p := f.open(t).read("q", claiming("", "own"))
			for _, node := range []string{"mixed", "parts", "bare"} {
				f.FitNode(q, p, node, permit)
				for card, n := range f.onNode(p, node) {
					require.GreaterOrEqual(t, n, 0.0, card)
				}
			}
			f.asked(p)
			f.keepPlaced(p, "mixed")
			_, good := f.read("q", claiming("", "good"))
			require.Equal(t, 1.0, f.onNode(good, "parts")["A100"])
		}
	})
}
