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

var modelClasses = []*resourcev1.DeviceClass{{
	ObjectMeta: metav1.ObjectMeta{Name: modelDriver},
	Spec:       resourcev1.DeviceClassSpec{Selectors: modelSelector(`device.driver == "` + modelDriver + `"`)},
}}

func modelSelector(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// modelSlice returns the slice of a node with one device for each card.
func modelSlice(node string, generation int64, names []string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)}}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver:   modelDriver,
		NodeName: &node,
		Pool:     resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
	}

	for i, name := range names {
		product, profile, isPart := modelParts(name)
		attributes := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
		kind := "gpu"
		if isPart {
			kind = "mig"
			attributes["profile"] = resourcev1.DeviceAttribute{StringValue: &profile}
		}
		attributes["type"] = resourcev1.DeviceAttribute{StringValue: &kind}
		attributes["productName"] = resourcev1.DeviceAttribute{StringValue: &product}

		d := resourcev1.Device{Name: fmt.Sprint("gpu-", i), Attributes: attributes}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}

	return slice
}

// modelParts returns the product of a card, and the profile if the card is a part of a device.
func modelParts(name string) (product, profile string, isPart bool) {
	product, part, isPart := strings.Cut(name, "/")
	profile = strings.TrimSuffix(strings.TrimPrefix(part, "mig-"), "-mixed")
	return strings.ReplaceAll(product, "-", " "), profile, isPart
}

// toObject returns the claim as an object.
func (c *modelClaim) toObject(name string) *resourcev1.ResourceClaim {
	o := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name, UID: types.UID(name)},
	}
	for i, r := range c.requests {
		o.Spec.Devices.Requests = append(o.Spec.Devices.Requests, requestObject(fmt.Sprint("r", i), r))
	}
	if c.Cards == nil {
		return o
	}

	o.Status.Allocation = &resourcev1.AllocationResult{}
	devices := &o.Status.Allocation.Devices
	for _, i := range c.Allocated {
		devices.Results = append(devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: "r0", Driver: modelDriver, Pool: c.Pool, Device: fmt.Sprint("gpu-", i),
		})
	}

	return o
}

// requestObject returns a request of a claim: of one kind of devices, or with alternatives.
func requestObject(name string, alternatives ModelRequest) resourcev1.DeviceRequest {
	request := resourcev1.DeviceRequest{Name: name}
	for k, a := range alternatives {
		sub := resourcev1.DeviceSubRequest{
			Name:            fmt.Sprint("a", k),
			DeviceClassName: modelDriver,
			Count:           int64(a.Count),
			AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
			Selectors:       modelSelector(admitsCards(a.Cards)),
		}
		if a.Count == 0 {
			sub.AllocationMode = resourcev1.DeviceAllocationModeAll
		}
		request.FirstAvailable = append(request.FirstAvailable, sub)
	}
	if len(alternatives) > 1 {
		return request
	}

	only := request.FirstAvailable[0]
	request.FirstAvailable = nil
	request.Exactly = &resourcev1.ExactDeviceRequest{
		DeviceClassName: only.DeviceClassName,
		Count:           only.Count,
		AllocationMode:  only.AllocationMode,
		Selectors:       only.Selectors,
	}

	return request
}

// admitsCards returns an expression that admits the devices that are these cards.
func admitsCards(names []string) string {
	const attribute = `device.attributes["` + modelDriver + `"].`
	var each []string
	for _, name := range names {
		product, profile, isPart := modelParts(name)
		one := fmt.Sprintf(attribute+`productName == %q && `, product)
		if isPart {
			one += fmt.Sprintf(attribute+`type == "mig" && `+attribute+`profile == %q`, profile)
		} else {
			one += attribute + `type == "gpu"`
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
				addClaim(task.Pod, name)
			}
		}
	}
}

// addClaim adds a claim to a pod, which names it or has a template for it.
func addClaim(pod *v1.Pod, name string) {
	spec := v1.PodResourceClaim{Name: name}
	if isShared(name) {
		spec.ResourceClaimName = &name
	} else {
		spec.ResourceClaimTemplateName = &name
		status := v1.PodResourceClaimStatus{Name: name, ResourceClaimName: &name}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
	}
	pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, spec)
}
