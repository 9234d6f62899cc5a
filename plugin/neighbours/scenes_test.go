package neighbours

import (
	"fmt"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

const gpu = "nvidia.com/gpu"

// cores returns a quantity of cpu.
func cores(n int64) workload.Resources { return workload.Resources{"cpu": n * 1000} }

// node returns a node with n cores and enough of everything else.
func node(name string, n int64) workload.Node {
	has := cores(n)
	has["memory"], has["pods"] = 64<<30, 100
	return workload.Node{Name: name, Labels: map[string]string{}, Allocatable: has}
}

// cardNode returns a node with n cards of one model.
func cardNode(name, model string, n int64) workload.Node {
	made := node(name, 64)
	made.Labels["nvidia.com/gpu.product"] = model
	made.Allocatable[gpu] = n
	return made
}

// bounded returns a queue with a capability and deserved of n cores.
func bounded(name string, n int64) workload.Queue {
	return workload.Queue{Name: name, Weight: 1, Capability: cores(n), Deserved: cores(n)}
}

// deserving returns a queue that deserves n cores, without a capability.
func deserving(name string, n int64) workload.Queue {
	return workload.Queue{Name: name, Weight: 1, Deserved: cores(n)}
}

// quoted returns a queue with a quota of cards.
func quoted(name, quota string) workload.Queue {
	return workload.Queue{Name: name, Weight: 1, Annotations: map[string]string{"volcano.sh/card.quota": quota}}
}

// job makes a job of n pending pods of one core each, with minMember 1.
func job(name, queue string, n int, change ...func(*workload.Job)) workload.Job {
	j := workload.Job{Name: name, Queue: queue, Phase: workload.Inqueue, MinMember: 1}
	for i := range n {
		j.Tasks = append(j.Tasks, workload.Task{Name: fmt.Sprintf("%s-%d", name, i), Request: cores(1), Status: workload.TaskPending})
	}
	for _, c := range change {
		c(&j)
	}
	return j
}

// on makes the pods of a job run on a node.
func on(node string) func(*workload.Job) { return first(1<<10, node) }

// first makes the first n pods of a job run on a node.
func first(n int, node string) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Running
		for i := range j.Tasks[:min(n, len(j.Tasks))] {
			j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, node
		}
	}
}

// enqueueing makes a job pending, with a minimum of n cores.
func enqueueing(n int64) func(*workload.Job) {
	return func(j *workload.Job) { j.Phase, j.MinResources = workload.Pending, cores(n) }
}

func needs(members int32) func(*workload.Job) { return func(j *workload.Job) { j.MinMember = members } }

func priority(p int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = p } }

// annotated sets an annotation on the job and on each of its pods.
func annotated(key, value string) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Annotations = with(j.Annotations, key, value)
		for i := range j.Tasks {
			j.Tasks[i].Annotations = with(j.Tasks[i].Annotations, key, value)
		}
	}
}

// requesting makes every pod request n of a resource as well.
func requesting(resource string, n int64) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range j.Tasks {
			j.Tasks[i].Request[resource] = n
		}
	}
}

// named sets the card list of every pod.
func named(list string) func(*workload.Job) {
	return func(j *workload.Job) {
		annotated("volcano.sh/card.name", list)(j)
		requesting(gpu, 1)(j)
	}
}

func with(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

// pod returns a task of a session.
func pod(info *api.ClusterInfo, name string) *api.TaskInfo {
	for _, job := range info.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no pod " + name)
}

func jobOf(info *api.ClusterInfo, name string) *api.JobInfo {
	return info.Jobs[api.JobID(cluster.Namespace+"/"+name)]
}

func queueOf(info *api.ClusterInfo, name string) *scheduling.Queue {
	return info.Queues[api.QueueID(name)].Queue
}
