package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamcapacity "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestQueuesSettleAtWhatTheyDeserve fills 32 GPUs with jobs of one pod. Two departments
// deserve 16 each, their teams 8, 8 and 16. docs/migration.md has the example.
func TestQueuesSettleAtWhatTheyDeserve(t *testing.T) {
	c := workload.Cluster{Hierarchy: true, Nodes: []workload.Node{{Name: "n", Allocatable: workload.Resources{"cpu": 64000, "memory": 1 << 40, "pods": 100, testbed.GPU: 32}}}}
	deserve := func(name, parent string, gpus int64) {
		c.Queues = append(c.Queues, workload.Queue{Name: name, Parent: parent, Weight: 1, Deserved: workload.Resources{testbed.GPU: gpus}})
	}
	deserve("root", "", 32)
	deserve("vision", "root", 16)
	deserve("speech", "root", 16)
	teams := []string{"detect", "track", "asr"}
	for i, gpus := range []int64{8, 8, 16} {
		deserve(teams[i], []string{"vision", "vision", "speech"}[i], gpus)
		for j := range 32 {
			name := fmt.Sprintf("%s-%d", teams[i], j)
			c.Jobs = append(c.Jobs, workload.Job{Name: name, Queue: teams[i], Phase: workload.Inqueue, MinMember: 1,
				Tasks: []workload.Task{{Name: name, Status: workload.TaskPending, Request: workload.Resources{"cpu": 100, testbed.GPU: 1}}}})
		}
	}
	allocated := func(build framework.PluginBuilder) (gpus []int) {
		info, err := cluster.Build(c, t.Name())
		require.NoError(t, err)
		framework.RegisterPluginBuilder(gang.PluginName, gang.New)
		framework.RegisterPluginBuilder(session.CapacityName, build)
		ssn := offline.Open(offline.NewCache(info), offline.Tiers(true, gang.PluginName, session.CapacityName))
		defer framework.CloseSession(ssn)
		allocate.New().Execute(ssn)
		gpus = make([]int, len(teams))
		for _, job := range ssn.Jobs {
			for i, team := range teams {
				if string(job.Queue) == team {
					gpus[i] += len(job.TaskStatusIndex[api.Allocated]) + len(job.TaskStatusIndex[api.Binding])
				}
			}
		}
		return gpus
	}
	assert.Equal(t, []int{8, 8, 16}, allocated(session.NewCapacity))
	assert.Equal(t, []int{0, 0, 32}, allocated(upstreamcapacity.New), "ancestors keep the share of the session's start")
}
