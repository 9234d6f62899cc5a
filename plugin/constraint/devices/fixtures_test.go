package devices_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// gpuDevices are a number of devices of the class gpu.example.com.
func gpuDevices(n int64, capacity ...string) map[string]release.Devices {
	d := release.Devices{Count: n}
	for i := 0; i < len(capacity); i += 2 {
		if d.Capacity == nil {
			d.Capacity = map[string]resource.Quantity{}
		}
		d.Capacity[capacity[i]] = resource.MustParse(capacity[i+1])
	}

	return map[string]release.Devices{"gpu.example.com": d}
}

// deviceScene is a scene with the rules of v1.15 and capacities of devices, and one large node.
func deviceScene() *testbed.Scene {
	s := testbed.NewScene()
	s.Build = session.NewCapacity
	s.Arguments = framework.Arguments{arguments.Semantics: release.V115, arguments.DeviceCapacities: true}
	return s.MixedNode("node", nil, workload.Resources{})
}

// openClaimed opens a session in which pods have claims, or returns nil with a release that has none. Then the plugin
// warns of the queues.
func openClaimed(t *testing.T, s *testbed.Scene, claims testbed.PodClaims) *testbed.Fixture {
	t.Helper()
	if release.KnowsDeviceClaims() {
		return s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) { claims.GiveAll(info) })
	}

	events := deviceEvents(t, s)
	bounds := slices.ContainsFunc(s.Queues, func(q workload.Queue) bool {
		return q.Capability[testbed.GPUClass]+q.Capability[testbed.GPUMemory]+q.Capability[testbed.NICClass] > 0
	})
	if !bounds {
		require.Empty(t, events)
		return nil
	}
	require.NotEmpty(t, events)
	require.Contains(t, events[0], "bounds no devices: Volcano "+release.Built().String())
	return nil
}

// deviceEvents opens a session and returns the events about quotas of devices.
func deviceEvents(t *testing.T, s *testbed.Scene) (all []string) {
	t.Helper()
	client, events := testbed.RecordedEvents()
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
