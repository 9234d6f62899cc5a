package testbed

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// Names of resources for quotas of devices: the devices of a class, and a capacity of theirs.
const (
	GPUClass  = "deviceclass/gpu.example.com"
	GPUMemory = "memory.deviceclass/gpu.example.com"
	NICClass  = "deviceclass/nic.example.com"
)

// PodClaims are resource claims of pods: pod → claim → class → devices.
type PodClaims map[string]map[string]map[string]release.Devices

// give gives a task resource claims. Its release must have them.
func give(task *api.TaskInfo, claims map[string]map[string]release.Devices) {
	field := func(name string) reflect.Value { return reflect.ValueOf(task).Elem().FieldByName(name) }
	all := field("DRAResreq")
	all.Set(reflect.MakeMap(all.Type()))
	byClaim := field("ResourceClaimDRAResreq")
	byClaim.Set(reflect.MakeMap(byClaim.Type()))

	pointer := func(d release.Devices) reflect.Value {
		p := reflect.New(all.Type().Elem().Elem())
		p.Elem().Set(reflect.ValueOf(d).Convert(p.Elem().Type()))
		return p
	}

	sums := map[string]release.Devices{}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		inClaim := reflect.MakeMap(byClaim.Type().Elem())
		for class, d := range claims[name] {
			inClaim.SetMapIndex(reflect.ValueOf(class), pointer(d))
			sums[class] = sumOf(sums[class], d)
		}
		byClaim.SetMapIndex(reflect.ValueOf(name), inClaim)
	}

	for class, sum := range sums {
		all.SetMapIndex(reflect.ValueOf(class), pointer(sum))
	}
	field("ResourceClaimKeys").Set(reflect.ValueOf(slices.Sorted(maps.Keys(claims))))
}

// sumOf returns the sum of devices of a class.
func sumOf(x, y release.Devices) release.Devices {
	sum := release.Devices{Count: x.Count + y.Count, Capacity: maps.Clone(x.Capacity)}
	for dimension, quantity := range y.Capacity {
		if sum.Capacity == nil {
			sum.Capacity = map[string]resource.Quantity{}
		}
		quantity.Add(sum.Capacity[dimension])
		sum.Capacity[dimension] = quantity
	}

	return sum
}

// GiveAll gives the tasks of a cluster their claims.
func (c PodClaims) GiveAll(info *api.ClusterInfo) {
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			if claims := c[task.Name]; claims != nil {
				give(task, claims)
			}
		}
	}
}

// DeviceQueue adds a queue with quotas of devices.
func (s *Scene) DeviceQueue(name, parent string, bounds workload.Resources) *Scene {
	s.Queue(name, parent)
	maps.Copy(s.Queues[len(s.Queues)-1].Capability, bounds)
	return s
}
