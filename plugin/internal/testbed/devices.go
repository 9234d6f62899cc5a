package testbed

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
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

// GPUDevices are a number of devices of the class gpu.example.com.
func GPUDevices(n int64, capacity ...string) map[string]release.Devices {
	d := release.Devices{Count: n}
	for i := 0; i < len(capacity); i += 2 {
		if d.Capacity == nil {
			d.Capacity = map[string]resource.Quantity{}
		}
		d.Capacity[capacity[i]] = resource.MustParse(capacity[i+1])
	}

	return map[string]release.Devices{"gpu.example.com": d}
}

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

// DeviceScene is a scene with the rules of v1.15 and capacities of devices, and one large node.
func DeviceScene() *Scene {
	s := NewScene()
	s.Build = session.NewCapacity
	s.Arguments = framework.Arguments{arguments.Semantics: release.V115, arguments.DeviceCapacities: true}
	return s.MixedNode("node", nil, workload.Resources{})
}

// DeviceQueue adds a queue with quotas of devices.
func (s *Scene) DeviceQueue(name, parent string, bounds workload.Resources) *Scene {
	s.Queue(name, parent)
	maps.Copy(s.Queues[len(s.Queues)-1].Capability, bounds)
	return s
}

// OpenClaimed opens a session in which pods have claims, or returns nil with a release that has none. Then the plugin
// warns of the queues.
func (s *Scene) OpenClaimed(t *testing.T, claims PodClaims) *Fixture {
	t.Helper()
	if release.KnowsDeviceClaims() {
		return s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) { claims.GiveAll(info) })
	}

	events := s.DeviceEvents(t)
	bounds := slices.ContainsFunc(s.Queues, func(q workload.Queue) bool {
		return q.Capability[GPUClass]+q.Capability[GPUMemory]+q.Capability[NICClass] > 0
	})
	if !bounds {
		require.Empty(t, events)
		return nil
	}
	require.NotEmpty(t, events)
	require.Contains(t, events[0], "bounds no devices: Volcano "+release.Built().String())
	return nil
}

// DeviceEvents opens a session and returns the events about quotas of devices.
func (s *Scene) DeviceEvents(t *testing.T) (all []string) {
	t.Helper()
	client, events := RecordedEvents()
	fresh := *s // an event is recorded once
	fresh.Build = session.BuilderOf(s.Build(nil).Name()).Build
	f := fresh.Open(t, func(_ *api.ClusterInfo, c *offline.Cache) { c.Kube = client })

	for range countDeviceProblems(f.Own) {
		event := <-events
		require.Equal(t, "BadDeviceQuota", event.Reason)
		all = append(all, event.InvolvedObject.Name+" "+event.Type+" "+event.Message)
	}

	return all
}

// countDeviceProblems returns the number of problems of all queues.
func countDeviceProblems(s *session.Session) (n int) {
	for _, queue := range s.Intake.Queues {
		spec := &queue.Queue.Spec
		n += len(s.Settings.Bounds.Devices.Problems(spec.Capability, spec.Deserved, spec.Guarantee.Resource))
	}
	return n
}
