package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// objects returns the objects of the model. Those that have not changed keep their address.
func (m *ClaimModel) objects() (o release.DeviceObjects) {
	o.Classes = modelClasses
	for _, node := range slices.Sorted(maps.Keys(m.Devices)) {
		slice := m.Slices[node]
		if slice == nil {
			m.version++
			slice = modelSlice(node, m.version, m.Devices[node])
			m.Slices[node] = slice
		}
		o.Slices = append(o.Slices, slice)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Claims)) {
		c := m.Claims[name]
		if c.object == nil {
			c.object = c.toObject(name)
		}
		o.Claims = append(o.Claims, c.object)
	}
	return o
}

const modelDriver = "gpu.nvidia.com"

var modelClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: modelDriver},
	Spec: resourcev1.DeviceClassSpec{Selectors: modelSelector(`device.driver == "` + modelDriver + `"`)}}}

func modelSelector(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// modelSlice returns the slice of a node whose devices are cards.
func modelSlice(node string, generation int64, names []string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)},
		Spec: resourcev1.ResourceSliceSpec{Driver: modelDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: generation,
			ResourceSliceCount: 1}}}
	for i, name := range names {
		product, part, isPart := strings.Cut(name, "/")
		kind := "gpu"
		product = strings.ReplaceAll(product, "-", " ")
		d := resourcev1.Device{Name: fmt.Sprint("gpu-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
		if isPart {
			kind = "mig"
			profile := strings.TrimSuffix(strings.TrimPrefix(part, "mig-"), "-mixed")
			d.Attributes["profile"] = resourcev1.DeviceAttribute{StringValue: &profile}
		}
		d.Attributes["type"], d.Attributes["productName"] = resourcev1.DeviceAttribute{StringValue: &kind}, resourcev1.DeviceAttribute{StringValue: &product}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}
	return slice
}

// toObject returns the claim as an object.
func (c *modelClaim) toObject(name string) *resourcev1.ResourceClaim {
	o := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name, UID: types.UID(name)}}
	for i, r := range c.requests {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		for k, a := range r {
			sub := resourcev1.DeviceSubRequest{Name: fmt.Sprint("a", k), DeviceClassName: modelDriver, Count: int64(a.Count),
				AllocationMode: resourcev1.DeviceAllocationModeExactCount, Selectors: modelSelector(admitsCards(a.Cards))}
			if a.Count == 0 {
				sub.AllocationMode = resourcev1.DeviceAllocationModeAll
			}
			if len(r) == 1 {
				request.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: sub.DeviceClassName, Count: sub.Count,
					AllocationMode: sub.AllocationMode, Selectors: sub.Selectors}
			} else {
				request.FirstAvailable = append(request.FirstAvailable, sub)
			}
		}
		o.Spec.Devices.Requests = append(o.Spec.Devices.Requests, request)
	}
	if c.Cards != nil {
		o.Status.Allocation = &resourcev1.AllocationResult{}
		for _, i := range c.Allocated {
			o.Status.Allocation.Devices.Results = append(o.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
				Request: "r0", Driver: modelDriver, Pool: c.Pool, Device: fmt.Sprint("gpu-", i)})
		}
	}
	return o
}

// admitsCards returns an expression that admits the devices that are these cards.
func admitsCards(names []string) string {
	var each []string
	for _, name := range names {
		product, part, isPart := strings.Cut(name, "/")
		one := fmt.Sprintf(`device.attributes["gpu.nvidia.com"].productName == %q`, strings.ReplaceAll(product, "-", " "))
		if isPart {
			one += fmt.Sprintf(` && device.attributes["gpu.nvidia.com"].type == "mig" && device.attributes["gpu.nvidia.com"].profile == %q`,
				strings.TrimSuffix(strings.TrimPrefix(part, "mig-"), "-mixed"))
		} else {
			one += ` && device.attributes["gpu.nvidia.com"].type == "gpu"`
		}
		each = append(each, "("+one+")")
	}
	return strings.Join(each, " || ")
}

// give gives the pods of a session their claims, and its cache the objects.
func (m *ClaimModel) give(info *api.ClusterInfo, c *offline.Cache) {
	c.SetDevices(m.objects())
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			for _, name := range m.Pods[task.Name] {
				spec := v1.PodResourceClaim{Name: name}
				if strings.HasPrefix(name, "shared") {
					spec.ResourceClaimName = &name
				} else {
					spec.ResourceClaimTemplateName = &name
					task.Pod.Status.ResourceClaimStatuses = append(task.Pod.Status.ResourceClaimStatuses,
						v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name})
				}
				task.Pod.Spec.ResourceClaims = append(task.Pod.Spec.ResourceClaims, spec)
			}
		}
	}
}
