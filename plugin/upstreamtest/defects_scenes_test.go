package upstreamtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// refuses reports whether a job is not admitted.
func refuses(job string) func(*testing.T, *framework.Session) bool {
	return func(t *testing.T, s *framework.Session) bool {
		require.Contains(t, s.Jobs, api.JobID("default/"+job))
		return !s.JobEnqueueable(s.Jobs[api.JobID("default/"+job)])
	}
}

// takes reports whether pods of the queue x are victims of one of the queue y.
func takes(t *testing.T, s *framework.Session) bool {
	var candidates []*api.TaskInfo
	for i := range 4 {
		candidates = append(candidates, taskOf(s, fmt.Sprintf("x-%d", i)))
	}
	return len(s.Reclaimable(taskOf(s, "y-0"), candidates)) > 0
}

// withGates turns the feature gate on while shows runs.
func withGates(shows func(*testing.T, *framework.Session) bool) func(*testing.T, *framework.Session) bool {
	return func(t *testing.T, s *framework.Session) bool {
		require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("SchedulingGatesQueueAdmission=true"))
		defer func() {
			require.NoError(t, utilfeature.DefaultMutableFeatureGate.Set("SchedulingGatesQueueAdmission=false"))
		}()
		return shows(t, s)
	}
}

func taskOf(s *framework.Session, name string) *api.TaskInfo {
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no task " + name)
}

// content is a cluster without jobs yet.
type content workload.Cluster

func (c content) with(jobs ...workload.Job) workload.Cluster {
	c.Jobs = jobs
	return workload.Cluster(c)
}

func flat(queues ...workload.Queue) content { return content{Queues: queues} }

func tree(queues ...workload.Queue) content {
	return content{Hierarchy: true, Queues: append([]workload.Queue{{Name: "root"}}, queues...)}
}

func cpu(cores int64) workload.Resources { return workload.Resources{"cpu": cores * 1000} }

func inner(name, parent string) workload.Queue { return workload.Queue{Name: name, Parent: parent} }

// leaf deserves cores and is bounded by as many.
func leaf(name, parent string, cores int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Deserved: cpu(cores), Capability: cpu(cores)}
}

func bounded(name, parent string, cores int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Capability: cpu(cores)}
}

// queue deserves milli thousandths of a core.
func queue(name, parent string, milli int64) workload.Queue {
	return workload.Queue{Name: name, Parent: parent, Deserved: workload.Resources{"cpu": milli}}
}

// wide are many queues, and small a job in each of them.
func wide(n int) (queues []workload.Queue) {
	for i := range n {
		queues = append(queues, workload.Queue{Name: fmt.Sprintf("q%d", i), Weight: 1, Deserved: cpu(1)})
	}
	return queues
}

func small(n int) (jobs []workload.Job) {
	for i := range n {
		name := fmt.Sprintf("q%d", i)
		jobs = append(jobs, job(name, name, workload.Inqueue, pods(name, 1, 1)))
	}
	return jobs
}

// lending has a queue x below team that borrows, and a queue y below dept that reclaims. Some of the
// queues are replaced.
func lending(changed ...workload.Queue) workload.Cluster {
	queues := []workload.Queue{inner("team", "root"), queue("x", "team", 1000), inner("dept", "root"), leaf("y", "dept", 8)}
	for i, q := range queues {
		for _, c := range changed {
			if c.Name == q.Name {
				queues[i] = c
			}
		}
	}
	return tree(queues...).with(job("x", "x", workload.Running, running("x", 4, 1)),
		job("own", "y", workload.Running, running("own", 2, 1)), job("y", "y", workload.Inqueue, pods("y", 1, 1)))
}

// deep has a chain of inner queues, and below it the inner queues a, which has one core, and b, each with a
// leaf and a pod of two cores.
func deep(depth int) workload.Cluster {
	var queues []workload.Queue
	parent := "root"
	for i := 1; i < depth-1; i++ {
		name := fmt.Sprintf("d%d", i)
		queues = append(queues, inner(name, parent))
		parent = name
	}
	queues = append(queues, bounded("a", parent, 1), inner("b", parent), leaf("a1", "a", 4), leaf("b1", "b", 4))
	return tree(queues...).with(job("a", "a1", workload.Inqueue, pods("a", 1, 2)), job("b", "b1", workload.Inqueue, pods("b", 1, 2)))
}

// job has a minimum of all its pods.
func job(name, queue string, phase workload.Phase, tasks []workload.Task) workload.Job {
	var milli int64
	for _, t := range tasks {
		milli += t.Request["cpu"]
	}
	return workload.Job{Name: name, Queue: queue, Phase: phase, MinMember: int32(len(tasks)),
		MinResources: workload.Resources{"cpu": milli}, Tasks: tasks}
}

func pods(job string, n int, cores int64) (tasks []workload.Task) {
	for i := range n {
		tasks = append(tasks, workload.Task{Name: fmt.Sprintf("%s-%d", job, i), Request: cpu(cores), Status: workload.TaskPending})
	}
	return tasks
}

func running(job string, n int, cores int64) []workload.Task {
	tasks := pods(job, n, cores)
	for i := range tasks {
		tasks[i].Status, tasks[i].Node = workload.TaskRunning, "n"
	}
	return tasks
}

// queueGated pods wait, or waited, for Volcano's queue allocation gate, which is removed.
func queueGated(tasks []workload.Task) []workload.Task {
	for i := range tasks {
		tasks[i].Annotations = map[string]string{cluster.QueueGate: "true"}
	}
	return tasks
}
