package card

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"
)

const gpu = "nvidia.com/gpu"

var always = v1.ContainerRestartPolicyAlways

func limited(pairs ...string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Limits: quantities(pairs...)}}
}

func requesting(pairs ...string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: quantities(pairs...)}}
}

func sidecar(c v1.Container) v1.Container {
	c.RestartPolicy = &always
	return c
}

func TestRequests(t *testing.T) {
	both := limited(gpu, "1")
	both.Resources.Requests = quantities(gpu, "3", "rdma/ib", "2")
	none := limited(gpu, "0")
	none.Resources.Requests = quantities(gpu, "3")

	for name, c := range map[string]struct {
		init, containers []v1.Container
		want             []Request
	}{
		"nothing":     {},
		"no device":   {nil, []v1.Container{limited("cpu", "4", "memory", "1Gi")}, nil},
		"zero":        {nil, []v1.Container{limited(gpu, "0")}, nil},
		"limit":       {nil, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 2000}}},
		"request":     {nil, []v1.Container{requesting(gpu, "2")}, []Request{{gpu, 2000}}},
		"limit first": {nil, []v1.Container{both}, []Request{{gpu, 1000}, {"rdma/ib", 2000}}},
		"limit of 0":  {nil, []v1.Container{none}, nil},
		"sum":         {nil, []v1.Container{limited(gpu, "2"), requesting(gpu, "1"), limited("cpu", "1")}, []Request{{gpu, 3000}}},
		"sorted":      {nil, []v1.Container{limited("c.d/e", "1", gpu, "1", "a.b/c", "1", "b.c/d", "1")}, []Request{{"a.b/c", 1000}, {"b.c/d", 1000}, {"c.d/e", 1000}, {gpu, 1000}}},
		"extended only": {
			nil, []v1.Container{limited("cpu", "1", "pods", "1", "hugepages-2Mi", "1Gi", "attachable-volumes-aws-ebs", "1", "ephemeral-storage", "1Gi",
				"kubernetes.io/batch", "1", "alpha.kubernetes.io/nvidia-gpu", "1", "requests.nvidia.com/gpu", "1",
				"hugepages-a.b/c", "1", "attachable-volumes-a.b/c", "1", "x.io/y", "1")},
			[]Request{{"x.io/y", 1000}},
		},
		"init is more":            {[]v1.Container{limited(gpu, "4"), limited(gpu, "3")}, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 4000}}},
		"init is less":            {[]v1.Container{limited(gpu, "1"), limited(gpu, "1")}, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 2000}}},
		"init only":               {[]v1.Container{limited(gpu, "1")}, nil, []Request{{gpu, 1000}}},
		"sidecar":                 {[]v1.Container{sidecar(limited(gpu, "1"))}, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 3000}}},
		"sidecar before init":     {[]v1.Container{sidecar(limited(gpu, "1")), limited(gpu, "4")}, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 5000}}},
		"sidecar after init":      {[]v1.Container{limited(gpu, "4"), sidecar(limited(gpu, "1"))}, []v1.Container{limited(gpu, "2")}, []Request{{gpu, 4000}}},
		"one resource at a time":  {[]v1.Container{sidecar(limited("rdma/ib", "1")), limited(gpu, "4")}, []v1.Container{limited("rdma/ib", "2")}, []Request{{gpu, 4000}, {"rdma/ib", 3000}}},
		"negative counts as 0":    {nil, []v1.Container{limited(gpu, "-5"), limited(gpu, "2")}, []Request{{gpu, 2000}}},
		"huge":                    {nil, []v1.Container{limited(gpu, "1e30")}, []Request{{gpu, math.MaxInt64}}},
		"huge sum":                {nil, []v1.Container{limited(gpu, "9e15"), limited(gpu, "9e15")}, []Request{{gpu, math.MaxInt64}}},
		"huge sidecars, and init": {[]v1.Container{sidecar(limited(gpu, "9e15")), sidecar(limited(gpu, "9e15")), limited(gpu, "9e15")}, nil, []Request{{gpu, math.MaxInt64}}},
		"part of a card":          {nil, []v1.Container{limited(gpu, "1500m")}, []Request{{gpu, 1500}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: c.init, Containers: c.containers}}
			assert.Equal(t, c.want, Requests(pod))
		})
	}
	assert.Nil(t, Requests(nil))
}

// randomPod returns a pod with containers that have a request, a limit, both or neither for each resource.
func randomPod(random *rand.Rand) *v1.Pod {
	names := []v1.ResourceName{"cpu", "memory", gpu, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.18gb", "rdma/ib"}
	containers := func() []v1.Container {
		made := make([]v1.Container, random.IntN(4))
		for i := range made {
			made[i].Resources = v1.ResourceRequirements{Limits: v1.ResourceList{}, Requests: v1.ResourceList{}}
			for _, name := range names {
				amount := *resource.NewQuantity(random.Int64N(9), resource.DecimalSI)
				switch random.IntN(4) {
				case 0:
					made[i].Resources.Limits[name] = amount
				case 1:
					made[i].Resources.Requests[name] = amount
				case 2: // the two are equal, as Kubernetes requires for extended resources
					made[i].Resources.Limits[name], made[i].Resources.Requests[name] = amount, amount
				}
			}
		}
		return made
	}
	pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: containers(), Containers: containers()}}
	for i := range pod.Spec.InitContainers {
		if random.IntN(2) == 0 {
			pod.Spec.InitContainers[i].RestartPolicy = &always
		}
	}
	return pod
}

// defaulted sets defaults as the API server does: a limit is the request if there is none.
func defaulted(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			for name, limit := range c.Resources.Limits {
				if _, ok := c.Resources.Requests[name]; !ok {
					c.Resources.Requests[name] = limit
				}
			}
		}
	}
	return pod
}

func TestRequestsAgainstKubernetes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 10_000 {
		pod := randomPod(random)
		want := map[v1.ResourceName]int64{}
		for name, quantity := range helper.PodRequests(defaulted(pod), helper.PodResourcesOptions{}) {
			if name != "cpu" && name != "memory" && !quantity.IsZero() {
				want[name] = quantity.MilliValue()
			}
		}
		got := map[v1.ResourceName]int64{}
		for _, r := range Requests(pod) {
			got[r.Resource] = int64(r.Milli)
		}
		if !assert.Equal(t, want, got) {
			t.Fatalf("%+v", pod.Spec)
		}
	}
}

func BenchmarkRequests(b *testing.B) {
	plain := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{limited("cpu", "4", "memory", "1Gi")}}}
	device := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{sidecar(limited("cpu", "1"))},
		Containers:     []v1.Container{limited("cpu", "4", "memory", "1Gi", gpu, "8")},
	}}
	for name, pod := range map[string]*v1.Pod{"pod=plain": plain, "pod=card": device} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Requests(pod)
			}
		})
	}
}
