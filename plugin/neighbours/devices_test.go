package neighbours

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/devices/nvidia/gpushare"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestDeviceShare places pods that share GPUs by memory. The node "full" has enough
// memory for one more pod, but not on a single GPU.
func TestDeviceShare(t *testing.T) {
	gpushare.GpuSharingEnable = true // as the argument does, but before the nodes are created
	defer func() { gpushare.GpuSharingEnable = false }()
	const memory, number = gpushare.VolcanoGPUResource, gpushare.VolcanoGPUNumber
	c := drawn()
	for i := range c.Nodes {
		c.Nodes[i].Allocatable[memory], c.Nodes[i].Allocatable[number] = 16, 2
	}
	c.Jobs = []workload.Job{
		job("busy", "other", 2, on("full"), requesting(memory, 5)), job("busier", "other", 2, on("full")), job("new", "q", 2, requesting(memory, 5)),
	}
	for i, gpu := range []string{"0", "1"} {
		c.Jobs[0].Tasks[i].Annotations = map[string]string{gpushare.GPUIndex: gpu}
	}
	pair{
		neighbour: "deviceshare", actions: "allocate",
		tiers:   [][]string{{quota}, {"{name: deviceshare, arguments: {deviceshare.GPUSharingEnable: true}}", binpack}},
		cluster: c,
		edit: func(info *api.ClusterInfo) {
			for _, job := range info.Jobs {
				for _, task := range job.Tasks {
					container := &task.Pod.Spec.Containers[0] // devices read limits
					container.Resources.Limits = container.Resources.Requests
					if node := info.Nodes[task.NodeName]; node != nil {
						node.Others[gpushare.DeviceName].(api.Devices).AddResource(task.Pod)
					}
				}
			}
		},
		both: "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
	}.run(t)
}
