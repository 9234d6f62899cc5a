package testbed

import (
	"maps"
	"slices"

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
	o.Classes = DeviceClasses
	for _, node := range slices.Sorted(maps.Keys(m.Devices)) {
		slice := m.Slices[node]
		if slice == nil {
			m.version++
			slice = Slice(node, m.version, m.Devices[node])
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

// toObject returns the claim as an object.
func (c *modelClaim) toObject(name string) *resourcev1.ResourceClaim {
	o := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name, UID: types.UID(name)},
	}
	for i, request := range c.Requests {
		o.Spec.Devices.Requests = append(o.Spec.Devices.Requests, DeviceRequest(i, request))
	}
	if c.Cards == nil {
		return o
	}

	o.Status.Allocation = &resourcev1.AllocationResult{}
	devices := &o.Status.Allocation.Devices
	for _, i := range c.Allocated {
		devices.Results = append(devices.Results, resourcev1.DeviceRequestAllocationResult{
			Request: "r0", Driver: Driver, Pool: c.Pool, Device: DeviceName(i),
		})
	}

	return o
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
