package card

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	vgpu        = "volcano.sh/vgpu-number"
	vgpuMemory  = "volcano.sh/vgpu-memory"
	vgpuPercent = "volcano.sh/vgpu-memory-percentage"
	vgpuCores   = "volcano.sh/vgpu-cores"
)

// container returns a container with limits.
func container(limits ...string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Limits: quantities(limits...)}}
}

func podOf(annotations labels, containers ...v1.Container) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: v1.PodSpec{Containers: containers}}
}

// fractionOf returns the fraction of a pod that has one.
func fractionOf(t *testing.T, pod *v1.Pod) *Fraction {
	t.Helper()
	all := Fractions(pod)
	require.Len(t, all, 1)
	return all[0]
}

// TestFractionRequests reads the requests of containers. The model has 81920 MiB.
func TestFractionRequests(t *testing.T) {
	h100 := Model{81920, 100}
	for _, tt := range []struct {
		name             string
		containers       []v1.Container
		dominant, memory Milli
	}{
		{"memory", []v1.Container{container(vgpu, "1", vgpuMemory, "20480")}, 250, 250},
		{"memory and fewer cores", []v1.Container{container(vgpu, "1", vgpuMemory, "20480", vgpuCores, "10")}, 250, 250},
		{"memory and more cores", []v1.Container{container(vgpu, "1", vgpuMemory, "20480", vgpuCores, "50")}, 500, 250},
		{"percent", []v1.Container{container(vgpu, "1", vgpuPercent, "25")}, 250, 250},
		{"percent comes before memory", []v1.Container{container(vgpu, "1", vgpuPercent, "25", vgpuMemory, "81920")}, 250, 250},
		{"memory alone is one device", []v1.Container{container(vgpuMemory, "20480")}, 250, 250},
		{"the number alone is whole devices", []v1.Container{container(vgpu, "2")}, 2000, 2000},
		{"cores alone are all the memory", []v1.Container{container(vgpu, "1", vgpuCores, "10")}, 1000, 1000},
		{"each device", []v1.Container{container(vgpu, "4", vgpuMemory, "20480")}, 1000, 1000},
		{"containers", []v1.Container{container(vgpu, "1", vgpuMemory, "20480"), container("cpu", "1"),
			container(vgpu, "1", vgpuMemory, "40960")}, 750, 750},
		{"more than the device has", []v1.Container{container(vgpu, "1", vgpuMemory, "99999999999")}, 1000, 1000},
		{"no memory", []v1.Container{container(vgpu, "1", vgpuMemory, "0")}, 1000, 1000},
		{"a part of a MiB", []v1.Container{container(vgpu, "1", vgpuMemory, "500m")}, 1000, 1000},
		{"0 percent is no limit", []v1.Container{container(vgpu, "1", vgpuPercent, "0")}, 1000, 1000},
		{"more than 100 percent", []v1.Container{container(vgpu, "1", vgpuPercent, "101", vgpuCores, "900")}, 1000, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fractionOf(t, podOf(nil, tt.containers...))
			assert.Equal(t, tt.dominant, f.On(h100, ByDominant))
			assert.Equal(t, tt.memory, f.On(h100, ByMemory))
		})
	}
	for name, pod := range map[string]*v1.Pod{
		"no pod": nil, "whole cards": podOf(nil, container(wholeNVIDIA, "1")), "no cards": podOf(nil, container("cpu", "1")),
		"none of them": podOf(nil, container(vgpu, "0")), "cores alone": podOf(nil, container(vgpuCores, "10")),
	} {
		assert.Empty(t, Fractions(pod), name)
	}
	assert.Equal(t, Milli(1000), fractionOf(t, podOf(nil, container(vgpu, "1", vgpuMemory, "1"))).Whole(), "of cards that are not shared")
	assert.Equal(t, Milli(1000), fractionOf(t, podOf(nil, container(vgpu, "1", vgpuPercent, "25"))).Whole(), "a part of one card")
}

// TestFractionsOfHAMi divides nvidia.com/gpu, where a pod requests memory or cores.
func TestFractionsOfHAMi(t *testing.T) {
	pod := podOf(nil, container(wholeNVIDIA, "2", "nvidia.com/gpumem", "8192"))
	assert.Equal(t, Milli(1000), fractionOf(t, pod).On(Model{16384, 100}, ByDominant))
	pod = podOf(nil, container(wholeNVIDIA, "1", "nvidia.com/gpumem-percentage", "30", "nvidia.com/gpucores", "50"))
	assert.Equal(t, Milli(500), fractionOf(t, pod).On(Model{16384, 100}, ByDominant))
	assert.Equal(t, Milli(300), fractionOf(t, pod).On(Model{16384, 100}, ByMemory))
	assert.Equal(t, Milli(300), fractionOf(t, pod).On(Model{16384, 200}, ByDominant), "scaled cores")
}

// TestInitContainersOfFractions counts containers as Kubernetes does.
func TestInitContainersOfFractions(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := podOf(nil, container(vgpuMemory, "1024"))
	sidecar := container(vgpuMemory, "2048")
	sidecar.RestartPolicy = &always
	pod.Spec.InitContainers = []v1.Container{sidecar, container(vgpuMemory, "512")}
	m := Model{8192, 100}
	assert.Equal(t, Milli(375), fractionOf(t, pod).On(m, ByDominant))
	pod.Spec.InitContainers[1] = container(vgpuMemory, "4096")
	assert.Equal(t, Milli(750), fractionOf(t, pod).On(m, ByDominant), "sidecars run beside it")
}

// TestSevenSeventhsOfOneCard adds fractions up.
func TestSevenSeventhsOfOneCard(t *testing.T) {
	for n := uint32(1); n <= 64; n++ {
		sum := Milli(0)
		for range n {
			sum += quotient(1, n)
		}
		assert.LessOrEqual(t, sum, whole, n)
		assert.Greater(t, sum, Milli(999.9), n)
		for range n {
			sum -= quotient(1, n)
		}
		assert.Zero(t, sum, n)
	}
	assert.Equal(t, whole, quotient(math.MaxInt64, math.MaxUint32))
	assert.Zero(t, quotient(-1, 8))
	assert.Equal(t, whole-Milli(1)/(1<<20), quotient(1<<31-1, 1<<31), "rounded down")
}

// node returns a node with a registration.
func registeredNode(annotation, text string, pairs ...string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Annotations: labels{annotation: text}, Labels: labels{}},
		Status:     v1.NodeStatus{Allocatable: quantities(pairs...)},
	}
}

// TestRegistrations reads the annotations that device plugins write.
func TestRegistrations(t *testing.T) {
	const volcano, hami = "volcano.sh/node-vgpu-register", "hami.io/node-nvidia-register"
	for _, tt := range []struct {
		name, annotation, text string
		number                 v1.ResourceName
		want                   []Device
	}{
		{"Volcano, a driver that puts NVIDIA first", volcano,
			"GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,10,81559,NVIDIA-NVIDIA H100 80GB HBM3,true,hami-core:", vgpu,
			[]Device{{"GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448", vgpu, "NVIDIA-H100-80GB-HBM3", Model{81559, 100}, true}}},
		{"Volcano, an old driver", volcano, "GPU-1,10,32768,NVIDIA-Tesla V100-PCIE-32GB,true,hami-core:GPU-0,10,32768,NVIDIA-Tesla V100-PCIE-32GB,false,hami-core:",
			vgpu, []Device{{"GPU-0", vgpu, "Tesla-V100-PCIE-32GB", Model{32768, 100}, false}, {"GPU-1", vgpu, "Tesla-V100-PCIE-32GB", Model{32768, 100}, true}}},
		{"Volcano without a mode", volcano, "GPU-0,10,32768,NVIDIA-Tesla V100,true:", vgpu, []Device{{"GPU-0", vgpu, "Tesla-V100", Model{32768, 100}, true}}},
		{"HAMi", hami, "GPU-00552014-5c87-89ac-b1a6-7b53aa24b0ec,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,0,true:", wholeNVIDIA,
			[]Device{{"GPU-00552014-5c87-89ac-b1a6-7b53aa24b0ec", wholeNVIDIA, "Tesla-V100-PCIE-32GB", Model{32768, 100}, true}}},
		{"HAMi with index and mode", hami, "GPU-0,10,24576,200,NVIDIA GeForce RTX 4090,0,true,0,hami-core:", wholeNVIDIA,
			[]Device{{"GPU-0", wholeNVIDIA, "NVIDIA-GeForce-RTX-4090", Model{24576, 200}, true}}},
		{"HAMi in JSON", hami, `[{"id":"GPU-0","count":10,"devmem":81920,"devcore":100,"type":"NVIDIA A100-SXM4-80GB","mode":"hami-core","health":true}]`,
			wholeNVIDIA, []Device{{"GPU-0", wholeNVIDIA, "NVIDIA-A100-SXM4-80GB", Model{81920, 100}, true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := OnNode(registeredNode(tt.annotation, tt.text, string(tt.number), "20"), nil)
			assert.Empty(t, found.Problems)
			assert.Equal(t, tt.want, found.Devices)
			healthy := Milli(0)
			for _, d := range tt.want {
				if d.healthy {
					healthy += whole
				}
			}
			assert.Equal(t, []Card{{Name: tt.want[0].Card, Resource: tt.number, Milli: healthy, Model: tt.want[0].Model}}, found.Cards)
		})
	}
}

// TestDevicesHaveTheNameOfTheLabel gives fractions and whole cards of a model one name.
func TestDevicesHaveTheNameOfTheLabel(t *testing.T) {
	two := "A,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,hami-core:B,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,hami-core:"
	for label, want := range map[string]string{
		"": "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-PCIE-40GB": "NVIDIA-A100-PCIE-40GB", "A100": "A100",
		"NVIDIA-A100-PCIE-40GB-SHARED": "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-PCIE-40GB-MIG-1g.5gb": "NVIDIA-A100-PCIE-40GB",
	} {
		node := registeredNode("volcano.sh/node-vgpu-register", two, vgpu, "20")
		if label != "" {
			node.Labels[productLabel] = label
		}
		found := OnNode(node, nil)
		registered := found.Cards[len(found.Cards)-1]
		assert.Equal(t, Card{Name: want, Resource: vgpu, Milli: 2000, Model: Model{40960, 100}}, registered, label)
	}
	mixed := registeredNode("volcano.sh/node-vgpu-register", "A,10,40960,NVIDIA-NVIDIA A100,true,m:B,10,24576,NVIDIA-NVIDIA L4,true,m:", vgpu, "20")
	mixed.Labels[productLabel] = "NVIDIA-L4"
	found := OnNode(mixed, nil)
	assert.Equal(t, []Card{
		{"NVIDIA-L4", wholeNVIDIA, 0, "", Model{}},
		{"NVIDIA-A100", vgpu, 1000, "", Model{40960, 100}},
		{"NVIDIA-L4", vgpu, 1000, "", Model{24576, 100}},
	}, found.Cards, "the label cannot name both")
}

// TestBrokenRegistrations reads registrations with a broken device. The problem is reported, and the valid devices
// count.
func TestBrokenRegistrations(t *testing.T) {
	const volcano = "volcano.sh/node-vgpu-register"
	right := "GPU-9,10,8192,NVIDIA-L4,true,hami-core:"
	sixteen := strings.Repeat("GPU-9,10,8192,NVIDIA-L4,true,hami-core:", 16)
	for _, tt := range []struct{ name, text, problem string }{
		{"nothing", "", "it has no devices"},
		{"text", "no devices", `the device "no devices" has 1 fields`},
		{"too few fields", right + "GPU-1,10,8192:", `the device "GPU-1,10,8192" has 3 fields`},
		{"no JSON", `[{"id":`, "it is not a list of devices in JSON: unexpected end of JSON input"},
		{"a negative memory", "GPU-1,10,-1,NVIDIA-L4,true,m:" + right, `the memory of the device "GPU-1" is not a number above 0`},
		{"a huge memory", "GPU-1,10,99999999999999999999,NVIDIA-L4,true,m:" + right, `the memory of the device "GPU-1" is not a number above 0`},
		{"no type", "GPU-1,10,8192,NVIDIA-,true,m:" + right, `the type "NVIDIA-" of the device "GPU-1" names no card`},
		{"one UUID", sixteen, `the device "GPU-9" has no UUID of its own`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := OnNode(registeredNode(volcano, tt.text, vgpu, "160"), nil)
			assert.Equal(t, []Problem{{Key: volcano, Reason: tt.problem}}, found.Problems)
			if strings.HasSuffix(tt.text, right) {
				assert.Equal(t, []Card{{"L4", vgpu, 1000, "", Model{8192, 100}}}, found.Cards)
				return
			}
			assert.Empty(t, found.Cards)
			assert.Equal(t, []Unlabeled{{Resource: vgpu, Label: volcano}}, found.Unlabeled)
		})
	}
	many := ""
	for i := range 2000 {
		many += fmt.Sprintf("GPU-%d,10,8192,NVIDIA-L4,true,m:", i)
	}
	assert.Len(t, OnNode(registeredNode(volcano, many), nil).Devices, maxDevices)
	assert.Equal(t, Inventory{Unlabeled: []Unlabeled{{vgpu, volcano}}}, OnNode(registeredNode("x", "", vgpu, "10"), nil), "not registered")
	assert.Zero(t, OnNode(registeredNode(volcano, right, vgpu, "0"), nil).Cards[0].Milli, "the device plugin is gone")
}

// assigned returns the charge of a pod by card, on a node with two As of 8192 MiB and a B of 4096 MiB.
func assigned(t *testing.T, annotation string, by FractionsBy, containers ...v1.Container) (map[string]Milli, bool) {
	t.Helper()
	node := registeredNode("volcano.sh/node-vgpu-register", "a0,10,8192,NVIDIA-A,true,m:a1,10,8192,NVIDIA-A,true,m:b0,10,4096,NVIDIA-B,true,m:", vgpu, "30")
	found := OnNode(node, nil)
	f := fractionOf(t, podOf(labels{"volcano.sh/vgpu-ids-new": annotation}, containers...))
	charges, ok := f.Exact(func(uuid string) (Device, bool) { return found.Device(vgpu, uuid) }, by)
	byCard := map[string]Milli{}
	for _, c := range charges {
		byCard[c.Card] = c.Milli
	}
	return byCard, ok
}

// TestAssignedDevices charges pods for the devices that they were assigned.
func TestAssignedDevices(t *testing.T) {
	quarter := container(vgpuMemory, "2048", vgpuCores, "10")
	cores := container(vgpuMemory, "1024", vgpuCores, "50")
	for _, tt := range []struct {
		name, annotation string
		containers       []v1.Container
		want             map[string]Milli // nil where the request counts
	}{
		{"one device", "a0,NVIDIA,2048,10:", []v1.Container{quarter}, map[string]Milli{"A": 250}},
		{"another model", "b0,NVIDIA,2048,10:", []v1.Container{quarter}, map[string]Milli{"B": 500}},
		{"both of two containers on one device", "a0,NVIDIA,2048,10:;a0,NVIDIA,1024,50:", []v1.Container{quarter, cores}, map[string]Milli{"A": 600}},
		{"on two devices", "a0,NVIDIA,2048,10:;a1,NVIDIA,1024,50:", []v1.Container{quarter, cores}, map[string]Milli{"A": 750}},
		{"on two models", "a0,NVIDIA,2048,10:;b0,NVIDIA,1024,50:", []v1.Container{quarter, cores}, map[string]Milli{"A": 250, "B": 500}},
		{"two devices of a container", "a0,NVIDIA,2048,0:a1,NVIDIA,2048,0:", []v1.Container{container(vgpu, "2", vgpuMemory, "2048")}, map[string]Milli{"A": 500}},
		{"a slice of MIG", "a0[group1-0],NVIDIA,2048,10:", []v1.Container{quarter}, map[string]Milli{"A": 250}},
		{"more than requested", "a0,NVIDIA,4096,10:", []v1.Container{quarter}, map[string]Milli{"A": 500}},
		{"more cores than requested", "a0,NVIDIA,2048,80:", []v1.Container{quarter}, map[string]Milli{"A": 800}},
		{"a huge number", "a0,NVIDIA,999999999999,10:", []v1.Container{quarter}, map[string]Milli{"A": 1000}},
		{"less than requested", "a0,NVIDIA,1,0:", []v1.Container{quarter}, map[string]Milli{"A": 250}},
		{"negative numbers", "a0,NVIDIA,-5,-5:", []v1.Container{quarter}, map[string]Milli{"A": 250}},
		{"words", "a0,NVIDIA,much,all:", []v1.Container{quarter}, map[string]Milli{"A": 250}},
		{"four containers on one device", strings.Repeat("a0,NVIDIA,4096,10:;", 4), slicesOf(quarter, 4), map[string]Milli{"A": 1000}},
		{"more containers than the device has memory for", strings.Repeat("a0,NVIDIA,2048,10:;", 5), slicesOf(quarter, 5), nil},
		{"more containers than the device has cores for", strings.Repeat("a0,NVIDIA,1024,50:;", 3), slicesOf(cores, 3), nil},
		{"one device in place of eight", strings.Repeat("a0,NVIDIA,0,0:", 8), []v1.Container{container(vgpu, "8")}, nil},
		{"fewer devices than requested", "a0,NVIDIA,2048,10:", []v1.Container{quarter, quarter}, nil},
		{"more devices than requested", "a0,NVIDIA,2048,10:a1,NVIDIA,2048,10:", []v1.Container{quarter}, nil},
		{"an unknown device", "c0,NVIDIA,2048,10:", []v1.Container{quarter}, nil},
		{"broken text", "a0", []v1.Container{quarter}, nil},
		{"nothing", "", []v1.Container{quarter}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := assigned(t, tt.annotation, ByDominant, tt.containers...)
			assert.Equal(t, tt.want != nil, ok)
			if ok {
				assert.Equal(t, tt.want, got)
			}
		})
	}
	got, _ := assigned(t, "a0,NVIDIA,2048,10:;a0,NVIDIA,1024,50:", ByMemory, quarter, cores)
	assert.Equal(t, map[string]Milli{"A": 375}, got)
	got, _ = assigned(t, strings.Repeat("a0,NVIDIA,1024,50:;", 3), ByMemory, slicesOf(cores, 3)...)
	assert.Equal(t, map[string]Milli{"A": 375}, got, "cores do not count")
}

func slicesOf(c v1.Container, n int) (all []v1.Container) {
	for range n {
		all = append(all, c)
	}
	return all
}

// TestAssignedDevicesOfHAMi assigns devices to init containers as well.
func TestAssignedDevicesOfHAMi(t *testing.T) {
	node := registeredNode("hami.io/node-nvidia-register", "g0,10,8192,100,NVIDIA-A,0,true:", wholeNVIDIA, "10")
	found := OnNode(node, nil)
	pod := podOf(labels{"hami.io/vgpu-devices-allocated": "g0,NVIDIA,4096,0:;g0,NVIDIA,1024,0:;"},
		container(wholeNVIDIA, "1", "nvidia.com/gpumem", "1024"))
	pod.Spec.InitContainers = []v1.Container{container(wholeNVIDIA, "1", "nvidia.com/gpumem", "4096")}
	charges, ok := fractionOf(t, pod).Exact(func(uuid string) (Device, bool) { return found.Device(wholeNVIDIA, uuid) }, ByDominant)
	assert.True(t, ok)
	assert.Equal(t, []Charge{{"A", 500, Model{8192, 100}}}, charges, "the init container needs most")
}

// TestChargeBeforeIsAtLeastTheExactOne draws pods and the devices that they get.
func TestChargeBeforeIsAtLeastTheExactOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	exact := 0
	for range 2000 {
		var text []string
		for i := range 1 + random.IntN(4) {
			text = append(text, fmt.Sprintf("g%d,10,%d,NVIDIA-M%d,true,m:", i, 1+random.IntN(100_000), random.IntN(2)))
		}
		found := OnNode(registeredNode("volcano.sh/node-vgpu-register", strings.Join(text, ""), vgpu, "10"), nil)
		var containers []v1.Container
		var ids []string
		for range 1 + random.IntN(3) {
			n, memory, cores := 1+random.IntN(2), random.IntN(50_000), random.IntN(101)
			c := container(vgpu, fmt.Sprint(n), vgpuCores, fmt.Sprint(cores))
			if random.IntN(2) == 0 {
				c.Resources.Limits[vgpuPercent] = quantities(vgpuPercent, fmt.Sprint(1+random.IntN(100)))[vgpuPercent]
				memory = 0
			} else {
				c.Resources.Limits[vgpuMemory] = quantities(vgpuMemory, fmt.Sprint(memory))[vgpuMemory]
			}
			containers = append(containers, c)
			for range n {
				ids = append(ids, fmt.Sprintf("g%d,NVIDIA,%d,%d:", random.IntN(len(text)), memory, cores))
			}
			ids = append(ids, ";")
		}
		f := fractionOf(t, podOf(labels{"volcano.sh/vgpu-ids-new": strings.Join(ids, "")}, containers...))
		for _, by := range []FractionsBy{ByDominant, ByMemory} {
			charges, ok := f.Exact(func(uuid string) (Device, bool) { return found.Device(vgpu, uuid) }, by)
			if !ok {
				continue // the devices have less than the containers request
			}
			exact++
			for _, c := range charges {
				for _, given := range found.Cards {
					if given.Name == c.Card {
						require.LessOrEqual(t, c.Milli, f.On(given.Model, by))
						require.Equal(t, math.Floor(float64(c.Milli)*(1<<20)), float64(c.Milli)*(1<<20), "a multiple of the unit")
					}
				}
			}
		}
	}
	assert.Positive(t, exact)
}

// FuzzFractions reads broken annotations. A pod is charged for at most as many whole cards as it requests. It is charged
// for at least its request, measured on the largest cards. A node has no card that it does not register.
func FuzzFractions(f *testing.F) {
	f.Add("a,10,8192,NVIDIA-A,true,m:", "a,NVIDIA,1024,10:", "1", "1024", "10", uint8(0))
	f.Add(strings.Repeat("a,10,8192,NVIDIA-A,true,m:", 16), strings.Repeat("a,NVIDIA,1024,10:", 16), "16", "-1024", "-10", uint8(1))
	f.Add(`[{"id":"a","devmem":-1,"type":"NVIDIA A"},{"id":"a"}]`, "a,,;:,", "1Ei", "1e30", "9999999", uint8(2))
	f.Add("a,10,8192,NVIDIA-A,true,m:", strings.Repeat("a,NVIDIA,0,0:", 8), "8", "4096", "0", uint8(0))
	f.Add("a,10,4294967295,NVIDIA-A,true,m:b,10,1,NVIDIA-B,true,m:", "a[x,NVIDIA,1,1:b],NVIDIA,1,1:", "2", "4294967296", "100", uint8(3))
	f.Fuzz(func(t *testing.T, register, ids, number, memory, cores string, variant uint8) {
		s := Sharings[int(variant)%len(Sharings)]
		c := v1.Container{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{}}}
		for name, text := range map[v1.ResourceName]string{s.Number: number, s.Memory: memory, s.Cores: cores} {
			if len(text) > 6 && strings.ContainsAny(text, "eE") {
				continue // ParseQuantity, which the API server calls as well, writes out all digits of 46e49696727292
			}
			if q, err := resource.ParseQuantity(text); err == nil {
				c.Resources.Limits[name] = q
			}
		}
		found := OnNode(registeredNode(s.Register, register, string(s.Number), "10"), nil)
		for i, d := range found.Devices {
			require.NotEmpty(t, d.Card)
			require.Positive(t, d.Memory)
			require.Positive(t, d.Cores)
			require.True(t, i == 0 || found.Devices[i-1].UUID < d.UUID, "sorted, and each once")
		}
		for _, fraction := range Fractions(podOf(labels{s.Assigned: ids}, c)) {
			sum := Milli(0)
			charges, ok := fraction.Exact(func(uuid string) (Device, bool) { return found.Device(s.Number, uuid) }, ByDominant)
			for _, charge := range charges {
				require.Positive(t, charge.Milli)
				sum += charge.Milli
			}
			require.Equal(t, ok, len(charges) > 0)
			require.LessOrEqual(t, sum, fraction.Whole())
			if ok {
				least := whole
				for _, d := range found.Devices {
					least = min(least, fraction.Parts[0].takes(d.Model).charge(ByDominant))
				}
				require.GreaterOrEqual(t, sum, Milli(fraction.Parts[0].Count)*least)
			}
			for _, card := range found.Cards {
				require.Positive(t, fraction.On(card.Model, ByDominant))
				require.LessOrEqual(t, fraction.On(card.Model, ByDominant), fraction.Whole())
			}
		}
	})
}
