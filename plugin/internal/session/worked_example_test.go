package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// TestTreeOfTwoTeams compares an example number by number: two teams of two queues
// each in a cluster of 100 cores, in which a task of 10 cores is allocated.
// docs/dev/requirements/capacity.tsv names its source.
func TestTreeOfTwoTeams(t *testing.T) {
	both := func(cpu, memory int64) workload.Resources {
		return workload.Resources{"cpu": cpu * 1000, "memory": memory << 30}
	}
	queue := func(name, parent string, deserved, capability, guarantee workload.Resources) workload.Queue {
		return workload.Queue{Name: name, Parent: parent, Weight: 1, Deserved: deserved, Capability: capability, Guarantee: guarantee}
	}
	ten := func(name, queue string, running, waiting int) workload.Job {
		j := workload.Job{Name: name, Queue: queue, Phase: workload.Running, MinMember: 1}
		for i := range running + waiting {
			task := workload.Task{Name: name + "-" + string(rune('a'+i)), Request: coresOf(10), Status: workload.TaskPending}
			if i < running {
				task.Status, task.Node = workload.TaskRunning, "node"
			}
			j.Tasks = append(j.Tasks, task)
		}
		return j
	}
	c := workload.Cluster{
		Hierarchy: true,
		Nodes:     []workload.Node{{Name: "node", Allocatable: workload.Resources{"cpu": 100000, "memory": 400 << 30, "pods": 100}}},
		Queues: []workload.Queue{
			queue("root", "", both(100, 400), both(100, 400), both(40, 160)),
			queue("team-a", "root", both(60, 240), both(70, 300), both(20, 80)),
			queue("team-b", "root", both(40, 160), both(50, 200), both(20, 80)),
			queue("training", "team-a", both(40, 160), both(50, 200), both(10, 40)),
			queue("inference", "team-a", both(20, 80), both(30, 120), both(10, 40)),
			queue("batch", "team-b", both(30, 120), both(40, 160), both(15, 60)),
			queue("interactive", "team-b", both(10, 40), both(20, 80), both(5, 20)),
		},
		Jobs: []workload.Job{ten("train", "training", 3, 1), ten("batch", "batch", 3, 0)},
	}
	serve := ten("serve", "inference", 1, 0)
	serve.Tasks[0].Request = coresOf(15)
	c.Jobs = append(c.Jobs, serve)

	for _, build := range []framework.PluginBuilder{session.NewCapacity, session.New} {
		f := openFixture(t, c, build)
		shares := func(want map[string]float64) {
			t.Helper()
			for queue, share := range want {
				assert.Equal(t, share, f.Own.Index.Share(f.Own.Index.Lookup(queue)), queue)
			}
		}
		before := map[string]float64{"training": 0.75, "inference": 0.75, "team-a": 0.75, "team-b": 0.75, "root": 0.75}
		shares(before)
		order := func(l, r string) int { return f.Own.CompareQueues(f.Queue(l), f.Queue(r)) }
		assert.Zero(t, order("training", "batch"), "the teams have equal shares")

		statement := framework.NewStatement(f.Session)
		require.NoError(t, statement.Allocate(f.Task("train-d"), f.Nodes["node"]))
		for queue, cpu := range map[string]float64{"training": 40, "team-a": 55, "root": 85, "inference": 15, "team-b": 30} {
			assert.Equal(t, cpu*1000, f.Allocated(queue).MilliCPU, queue)
		}
		shares(map[string]float64{"training": 40. / 40, "team-a": 55. / 60, "root": 85. / 100, "inference": 15. / 20, "team-b": 30. / 40})
		assert.Negative(t, order("batch", "training"), "team-b has the smaller share")
		assert.Negative(t, order("inference", "training"), "siblings go by their own shares")
		statement.Discard()
		shares(before)

		bound := func(queue string) float64 {
			return f.Own.Index.RealCapability.Row(f.Own.Index.Lookup(queue)).Get(0) / 1000
		}
		for queue, want := range map[string]float64{
			"root": 100, "team-a": 70, "team-b": 50, // 100 − 40 + 20 = 80 is more than either's capability
			"training": 50, "inference": 30, // 70 − 20 + 10
			"batch": 40, "interactive": 20, // 50 − 20 + 15 = 45, 50 − 20 + 5 = 35
		} {
			assert.Equal(t, want, bound(queue), queue)
		}
	}
}
