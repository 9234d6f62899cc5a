package card

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type labels = map[string]string

// quantities returns a resource list. Each quantity is written as in YAML.
func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// mixedNode returns a node with whole, MPS and MIG cards, the labels of GPU feature
// discovery with the mixed strategy, and a second vendor.
func mixedNode() (labels, v1.ResourceList) {
	return labels{
			"nvidia.com/gpu.product":               "NVIDIA-H200",
			"nvidia.com/gpu.count":                 "8",
			"nvidia.com/gpu.memory":                "143771",
			"nvidia.com/gpu.replicas":              "2",
			"nvidia.com/gpu.shared.product":        "NVIDIA-H200-SHARED",
			"nvidia.com/mig.capable":               "true",
			"nvidia.com/mig.strategy":              "mixed",
			"nvidia.com/mig-1g.18gb.product":       "NVIDIA-H200-MIG-1g.18gb",
			"nvidia.com/mig-1g.18gb.count":         "3",
			"nvidia.com/mig-1g.18gb.memory":        "18432",
			"nvidia.com/mig-3g.71gb.product":       "NVIDIA-H200-MIG-3g.71gb",
			"nvidia.com/mig-3g.71gb.count":         "1",
			"huawei.com/Ascend910.product":         "Ascend-910B",
			"kubernetes.io/hostname":               "node-1",
			"node.kubernetes.io/instance-type":     "big",
			"feature.node.kubernetes.io/pci.sriov": "true",
		}, quantities(
			"cpu", "128", "memory", "2Ti", "pods", "110", "hugepages-2Mi", "0", "rdma/ib", "8",
			"nvidia.com/gpu", "6", "nvidia.com/gpumem", "143771", "nvidia.com/gpucores", "100",
			"nvidia.com/gpu.shared", "2", "nvidia.com/mig-1g.18gb", "3", "nvidia.com/mig-3g.71gb", "1",
			"huawei.com/Ascend910", "4",
		)
}

const productLabel = wholeNVIDIA + productSuffix

var mixedInventory = Inventory{Cards: []Card{
	{"Ascend-910B", "huawei.com/Ascend910", 4000, "", Model{}},
	{"NVIDIA-H200", "nvidia.com/gpu", 6000, "", Model{}},
	{"NVIDIA-H200/mps-140g*1/2", "nvidia.com/gpu.shared", 2000, "", Model{}},
	{"NVIDIA-H200/mig-1g.18gb-mixed", "nvidia.com/mig-1g.18gb", 3000, "", Model{}},
	{"NVIDIA-H200/mig-3g.71gb-mixed", "nvidia.com/mig-3g.71gb", 1000, "", Model{}},
}}

func TestDiscoverMixedNode(t *testing.T) {
	named, allocatable := mixedNode()
	assert.Equal(t, mixedInventory, Discover(named, allocatable, nil))
}

func TestDiscover(t *testing.T) {
	mps := func(product, memory, replicas string) labels {
		return labels{productLabel: product, memoryLabel: memory, replicasLabel: replicas}
	}
	without := func(label string) labels {
		l := mps("H800", "81559", "2")
		delete(l, label)
		return l
	}
	one := func(name string, resource v1.ResourceName, milli Milli) Inventory {
		return Inventory{Cards: []Card{{name, resource, milli, "", Model{}}}}
	}
	bad := func(resource v1.ResourceName, label string) Inventory {
		return Inventory{Unlabeled: []Unlabeled{{resource, label}}}
	}
	shared := func(name string) Inventory {
		return Inventory{Cards: []Card{{"H800", "nvidia.com/gpu", 0, "", Model{}}, {name, sharedResource, 4000, "", Model{}}}}
	}
	sharedBad := func(label string) Inventory {
		return Inventory{Cards: []Card{{"H800", "nvidia.com/gpu", 0, "", Model{}}}, Unlabeled: []Unlabeled{{sharedResource, label}}}
	}
	four := quantities(sharedResource, "4")

	for name, c := range map[string]struct {
		labels      labels
		allocatable v1.ResourceList
		want        Inventory
	}{
		"AMD": {labels{"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, quantities("amd.com/gpu", "8", "amd.com/cpx_nps4", "8"),
			Inventory{Cards: []Card{{"AMD_Instinct_MI300X_OAM", "amd.com/gpu", 8000, "", Model{}}}, Unlabeled: []Unlabeled{{"amd.com/cpx_nps4", "amd.com/cpx_nps4.product"}}}},
		"Ascend, and a part of one": {labels{"node.kubernetes.io/npu.chip.name": "910B3"}, quantities("huawei.com/Ascend910", "8", "huawei.com/Ascend910-2c", "4"),
			Inventory{Cards: []Card{{"910B3", "huawei.com/Ascend910", 8000, "", Model{}}}, Unlabeled: []Unlabeled{{"huawei.com/Ascend910-2c", "huawei.com/Ascend910-2c.product"}}}},
		"a label of the resource comes before that of the vendor": {labels{"huawei.com/Ascend910.product": "Ascend-910B", "node.kubernetes.io/npu.chip.name": "910B3"},
			quantities("huawei.com/Ascend910", "8"), one("Ascend-910B", "huawei.com/Ascend910", 8000)},
		"Hygon":           {labels{"hygon.com/dcu.name": "K100_AI"}, quantities("hygon.com/dcu", "8"), one("K100_AI", "hygon.com/dcu", 8000)},
		"Intel":           {labels{"gpu.intel.com/product": "Max_1100"}, quantities("gpu.intel.com/i915", "4"), one("Max_1100", "gpu.intel.com/i915", 4000)},
		"Intel, no label": {nil, quantities("gpu.intel.com/xe", "4"), bad("gpu.intel.com/xe", "gpu.intel.com/product")},
		"MetaX":           {labels{"metax-tech.com/gpu.product": "C500"}, quantities("metax-tech.com/gpu", "8"), one("C500", "metax-tech.com/gpu", 8000)},
		"time slices": {labels{productLabel: "H800", replicasLabel: "4", sharingLabel: timeSlicing}, four,
			Inventory{Cards: []Card{{"H800", "nvidia.com/gpu", 0, "", Model{}}, {"H800/ts*1/4", sharedResource, 4000, "", Model{}}}}},
		"time slices with memory": {labels{productLabel: "H800", memoryLabel: "81559", replicasLabel: "4", sharingLabel: timeSlicing}, four,
			Inventory{Cards: []Card{{"H800", "nvidia.com/gpu", 0, "", Model{}}, {"H800/ts*1/4", sharedResource, 4000, "H800/mps-80g*1/4", Model{}}}}},
		"time slices, no replicas": {labels{productLabel: "H800", sharingLabel: timeSlicing}, four, sharedBad(replicasLabel)},

		"no labels":                        {nil, nil, Inventory{}},
		"no cards":                         {labels{"kubernetes.io/os": "linux"}, quantities("cpu", "4", "rdma/ib", "8"), Inventory{}},
		"whole":                            {labels{productLabel: "H20"}, quantities("nvidia.com/gpu", "8"), one("H20", "nvidia.com/gpu", 8000)},
		"whole, any vendor":                {labels{"a.b/c.d.product": "X"}, quantities("a.b/c.d", "1"), one("X", "a.b/c.d", 1000)},
		"whole, no label":                  {labels{"nvidia.com/gpu.count": "8"}, quantities("nvidia.com/gpu", "8", "rdma/ib", "8"), bad("nvidia.com/gpu", productLabel)},
		"whole, no label, another vendor":  {nil, quantities("example.com/gpu", "8"), Inventory{}},
		"whole, the device plugin is down": {labels{productLabel: "H20"}, nil, one("H20", "nvidia.com/gpu", 0)},
		"whole, none left":                 {labels{productLabel: "H20"}, quantities("nvidia.com/gpu", "0"), one("H20", "nvidia.com/gpu", 0)},
		"resources match exactly": {
			labels{productLabel: "H20"},
			quantities("nvidia.com/gpumem", "9", "nvidia.com/gpucores", "9", "nvidia.com/gpu.x", "9", "x.nvidia.com/gpu", "9"),
			one("H20", "nvidia.com/gpu", 0),
		},
		"empty product":              {labels{productLabel: ""}, quantities("nvidia.com/gpu", "8"), bad("nvidia.com/gpu", productLabel)},
		"empty product, no resource": {labels{productLabel: ""}, nil, Inventory{}},
		"blank product":              {labels{productLabel: " "}, quantities("nvidia.com/gpu", "8"), bad("nvidia.com/gpu", productLabel)},
		"product that is a list":     {labels{productLabel: "A|B"}, quantities("nvidia.com/gpu", "8"), bad("nvidia.com/gpu", productLabel)},
		"product like a shared card": {labels{productLabel: "A/mig-1-mixed"}, quantities("nvidia.com/gpu", "8"), bad("nvidia.com/gpu", productLabel)},
		"not a product label": {
			labels{".product": "A", "/.product": "B", "a.com/.product": "C", "/gpu.product": "D", "gpu.product": "E", "a.com/gpu.products": "F", "a.com/product": "G"},
			quantities("a.com/gpu", "1", "gpu", "1"), Inventory{},
		},
		"negative": {labels{productLabel: "H20"}, quantities("nvidia.com/gpu", "-8"), one("H20", "nvidia.com/gpu", 0)},
		"huge":     {labels{productLabel: "H20"}, quantities("nvidia.com/gpu", "1e30"), one("H20", "nvidia.com/gpu", math.MaxInt64)},

		"MPS":                                   {mps("H800", "81559", "2"), four, shared("H800/mps-80g*1/2")},
		"MPS, rounded down":                     {mps("H800", "81407", "2"), four, shared("H800/mps-79g*1/2")},
		"MPS, rounded up":                       {mps("H800", "81408", "2"), four, shared("H800/mps-80g*1/2")},
		"MPS, largest memory":                   {mps("H800", "18446744073709551615", "2"), four, shared("H800/mps-18014398509481984g*1/2")},
		"MPS, no product":                       {without(productLabel), four, bad(sharedResource, productLabel)},
		"MPS, no memory":                        {without(memoryLabel), four, sharedBad(memoryLabel)},
		"MPS, no replicas":                      {without(replicasLabel), four, sharedBad(replicasLabel)},
		"MPS, bad memory":                       {mps("H800", "80GiB", "2"), four, sharedBad(memoryLabel)},
		"MPS, negative memory":                  {mps("H800", "-81559", "2"), four, sharedBad(memoryLabel)},
		"MPS, memory rounds to 0":               {mps("H800", "511", "2"), four, sharedBad(memoryLabel)},
		"MPS, memory too long":                  {mps("H800", "18446744073709551616", "2"), four, sharedBad(memoryLabel)},
		"MPS, no replica":                       {mps("H800", "81559", "0"), four, sharedBad(replicasLabel)},
		"MPS, half a replica":                   {mps("H800", "81559", "0.5"), four, sharedBad(replicasLabel)},
		"MPS, everything bad":                   {mps("", "", ""), four, bad(sharedResource, productLabel)},
		"MPS labels without the resource":       {mps("H800", "", ""), nil, one("H800", "nvidia.com/gpu", 0)},
		"MPS of another vendor":                 {labels{"a.com/gpu.product": "X"}, quantities("a.com/gpu.shared", "4"), one("X", "a.com/gpu", 0)},
		"MPS is never whole":                    {labels{"nvidia.com/gpu.shared.product": "X"}, nil, Inventory{}},
		"a whole card with the type gpu.shared": {labels{"a.com/gpu.shared.product": "X"}, quantities("a.com/gpu.shared", "4"), one("X", "a.com/gpu.shared", 4000)},
		"MIG is never whole":                    {labels{"nvidia.com/mig-1g.5gb.product": "A100-MIG-1g.5gb"}, nil, Inventory{}},
		"MIG of another vendor":                 {labels{"a.com/mig-1g.product": "X"}, quantities("a.com/mig-1g", "2"), one("X", "a.com/mig-1g", 2000)},

		"MIG": {
			labels{productLabel: "A100", "nvidia.com/mig-1g.5gb.product": "A100-MIG-1g.5gb"},
			quantities("nvidia.com/mig-1g.5gb", "7", "nvidia.com/mig-1g.5gb.me", "0"),
			Inventory{Cards: []Card{
				{"A100", "nvidia.com/gpu", 0, "", Model{}},
				{"A100/mig-1g.5gb-mixed", "nvidia.com/mig-1g.5gb", 7000, "", Model{}},
				{"A100/mig-1g.5gb.me-mixed", "nvidia.com/mig-1g.5gb.me", 0, "", Model{}},
			}},
		},
		"MIG, no product": {
			labels{"nvidia.com/mig-1g.5gb.product": "A100-MIG-1g.5gb"}, quantities("nvidia.com/mig-1g.5gb", "7", "nvidia.com/mig-2g.10gb", "1"),
			Inventory{Unlabeled: []Unlabeled{{"nvidia.com/mig-1g.5gb", productLabel}, {"nvidia.com/mig-2g.10gb", productLabel}}},
		},
		"MIG without a profile": {labels{productLabel: "A100"}, quantities("nvidia.com/mig-", "7"), one("A100", "nvidia.com/gpu", 0)},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, Discover(c.labels, c.allocatable, nil)) })
	}
}

// shuffled returns a copy of m with keys that are inserted in random order.
func shuffled[K comparable, V any](random *rand.Rand, m map[K]V) map[K]V {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	copied := map[K]V{}
	for _, key := range keys {
		copied[key] = m[key]
	}
	return copied
}

func TestDiscoverIsTheSameInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	named, allocatable := mixedNode()
	unlabeled := labels{"a.com/x.product": "", "b.com/x.product": "", "c.com/x.product": ""}
	others := quantities("a.com/x", "1", "b.com/x", "1", "c.com/x", "1", sharedResource, "1", "nvidia.com/mig-1g.5gb", "1")
	want := Discover(unlabeled, others, nil)
	assert.Len(t, want.Unlabeled, 5)
	for range 1000 {
		if !assert.Equal(t, mixedInventory, Discover(shuffled(random, named), shuffled(random, allocatable), nil)) ||
			!assert.Equal(t, want, Discover(shuffled(random, unlabeled), shuffled(random, others), nil)) {
			return
		}
	}
}

// TestDiscoverInvariants checks nodes with random labels and resources.
func TestDiscoverInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	kind := func() string {
		return pick("nvidia.com/", "a.com/", "b.com/", "/", "") +
			pick("gpu", "gpu.shared", "mig-1g.5gb", "mig-2g", "mig-", "mig-a|b", "gpumem", "gpu.product", "")
	}
	names := 0
	for range 20_000 {
		named, allocatable := labels{}, v1.ResourceList{}
		for range random.IntN(12) {
			suffix := pick(".product", ".product", ".product", ".memory", ".count", ".replicas", "")
			named[kind()+suffix] = pick("A", "B", "1", "81559", "-1", "", " ", "A|B", "A/mig-1g-mixed")
		}
		for range random.IntN(8) {
			allocatable[v1.ResourceName(kind())] = resource.MustParse(pick("0", "1", "8", "-1", "1e30", "500m"))
		}
		found := Discover(named, allocatable, nil)
		names += len(found.Cards)
		if !checkInventory(t, found, named, allocatable) {
			t.Fatalf("labels %q\nallocatable %v\nfound %+v", named, allocatable, found)
		}
	}
	assert.Greater(t, names, 1000)
}

func checkInventory(t *testing.T, found Inventory, named labels, allocatable v1.ResourceList) bool {
	seen := map[v1.ResourceName]bool{}
	before := v1.ResourceName("")
	for _, c := range found.Cards {
		_, isAllocatable := allocatable[c.Resource]
		_, isLabel := named[string(c.Resource)+".product"]
		implied, isShared := ResourceOf(c.Name)
		wantsShared := c.Resource == sharedResource || strings.HasPrefix(string(c.Resource), migPrefix)
		ok := assert.True(t, isAllocatable || isLabel, "the node does not have %s", c.Resource) &&
			assert.Less(t, before, c.Resource, "sorted") &&
			assert.GreaterOrEqual(t, c.Milli, Milli(0)) &&
			assert.Equal(t, List{c.Name}, ParseList(c.Name), "a list of one") &&
			assert.Equal(t, wantsShared, isShared, "ResourceOf returns the resource of shared cards only") &&
			(!isShared || assert.Equal(t, c.Resource, implied))
		if !ok {
			return false
		}
		seen[c.Resource], before = true, c.Resource
	}
	before = ""
	for _, u := range found.Unlabeled {
		_, isAllocatable := allocatable[u.Resource]
		ok := assert.True(t, isAllocatable, "the node does not have %s", u.Resource) &&
			assert.Less(t, before, u.Resource, "sorted") &&
			assert.False(t, seen[u.Resource], "%s is both a card and unlabeled", u.Resource)
		if !ok {
			return false
		}
		before = u.Resource
	}
	return true
}

func TestResourceOf(t *testing.T) {
	for name, want := range map[string]v1.ResourceName{
		"NVIDIA-H800/mps-80g*1/2":          "nvidia.com/gpu.shared",
		"NVIDIA-H200/mig-1g.18gb-mixed":    "nvidia.com/mig-1g.18gb",
		"NVIDIA-H200/mig-1g.18gb.me-mixed": "nvidia.com/mig-1g.18gb.me",
		"A/mig-a-mixed-mixed":              "nvidia.com/mig-a-mixed",
		"":                                 "",
		"NVIDIA-H200":                      "",
		"mps-80g*1/2":                      "",
		"mig-1g.18gb-mixed":                "",
		"/mps-80g*1/2":                     "",
		"/mig-1g.18gb-mixed":               "",
		"A/mig-mixed":                      "",
		"A/mig--mixed":                     "",
		"A/mig-1g.18gb":                    "",
		"A/mig-1g/x-mixed":                 "",
		"A/MIG-1g.18gb-mixed":              "",
		"A/B/mig-1g.18gb-mixed":            "",
		"A|B/mig-1g.18gb-mixed":            "",
		"A/1g.18gb-mixed":                  "",
		"A/mps-80g*1/":                     "",
		"A/mps-g*1/2":                      "",
		"A/mps-80g*2/2":                    "",
		"A/mps-80g*1/0":                    "",
		"A/mps-80g*1/2/3":                  "",
		"A/mps-80.5g*1/2":                  "",
		"A/mps-":                           "",
	} {
		got, ok := ResourceOf(name)
		assert.Equal(t, want, got, name)
		assert.Equal(t, want != "", ok, name)
	}
}

func BenchmarkDiscover(b *testing.B) {
	named, allocatable := mixedNode()
	for i := len(named); i < 60; i++ {
		named[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.FEATURE%d", i)] = "true"
	}
	b.ReportAllocs()
	for b.Loop() {
		Discover(named, allocatable, nil)
	}
}

// TestLabelsOfAnArgument names cards by labels that the argument cardLabels gives.
func TestLabelsOfAnArgument(t *testing.T) {
	named := Labels{"cambricon.com/mlu": "example.com/mlu-model", "nvidia.com/gpu": "example.com/gpu", "example.com/npu": "example.com/npu.product"}
	four := quantities("cambricon.com/mlu", "4", "nvidia.com/gpu", "8", "nvidia.com/mig-1g.5gb", "7", "example.com/npu", "2")
	assert.Equal(t, Inventory{Cards: []Card{
		{"MLU590", "cambricon.com/mlu", 4000, "", Model{}}, {"NPU", "example.com/npu", 2000, "", Model{}},
		{"H20", "nvidia.com/gpu", 8000, "", Model{}}, {"H20/mig-1g.5gb-mixed", "nvidia.com/mig-1g.5gb", 7000, "", Model{}},
	}}, Discover(labels{"example.com/mlu-model": "MLU590", "example.com/gpu": "H20", productLabel: "H800", "example.com/npu.product": "NPU"}, four, named))
	assert.Equal(t, Inventory{Cards: []Card{{"MLU590", "cambricon.com/mlu", 0, "", Model{}}}}, Discover(labels{"example.com/mlu-model": "MLU590"}, nil, named),
		"the device plugin is down")
	assert.Equal(t, Inventory{Unlabeled: []Unlabeled{
		{"cambricon.com/mlu", "example.com/mlu-model"}, {"example.com/npu", "example.com/npu.product"},
		{"nvidia.com/gpu", "example.com/gpu"}, {"nvidia.com/mig-1g.5gb", "example.com/gpu"},
	}}, Discover(labels{productLabel: "H800"}, four, named), "the vendor's label does not count beside that of the argument")
}
