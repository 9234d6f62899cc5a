package testbed

import (
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Serving makes a job one of a service class.
func Serving(class string) func(*workload.Job) {
	return func(j *workload.Job) { j.Annotations = map[string]string{policy.ServiceTypeKey: class} }
}

// OfPriority gives a job a priority.
func OfPriority(p int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = p } }

// Pending makes a pending job of n small tasks.
func Pending(name, queue string, n int) workload.Job {
	j := workload.Job{Name: name, Queue: queue, Phase: workload.Pending, MinMember: 1, MinResources: Small}
	for i := range n {
		j.Tasks = append(j.Tasks, workload.Task{
			Name: name + "-" + string(rune('a'+i)), Request: Small, Status: workload.TaskPending,
		})
	}
	return j
}

// Running makes a job with n small tasks that run.
func Running(name, queue string, n int) workload.Job {
	j := Pending(name, queue, n)

	j.Phase = workload.Running
	for i := range j.Tasks {
		j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, "node"
	}
	return j
}

// Cores returns a quantity of cpu.
func Cores(n int64) workload.Resources { return workload.Resources{"cpu": n * 1000} }

// CardRequest makes a job without pods that states card.request.
func CardRequest(text string, phase workload.Phase) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase, j.Tasks = phase, nil
		j.Annotations = map[string]string{"volcano.sh/card.request": text}
	}
}

// First gives the first n pods of a job a status and a node.
func First(n int, status workload.Status, node string) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range n {
			j.Tasks[i].Status, j.Tasks[i].Node = status, node
		}
	}
}

// On makes the pods of a job run on a node.
func On(node string) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Running
		for i := range j.Tasks {
			j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, node
		}
	}
}

// Members gives a job a minimum number of pods.
func Members(n int32) func(*workload.Job) { return func(j *workload.Job) { j.MinMember = n } }

// InPhase gives the PodGroup of a job a phase.
func InPhase(p workload.Phase) func(*workload.Job) {
	return func(j *workload.Job) { j.Phase = p }
}

// Requesting makes every pod request n of a resource in place of GPUs.
func Requesting(resource string, n int64) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range j.Tasks {
			delete(j.Tasks[i].Request, GPU)
			j.Tasks[i].Request[resource] = n
		}
	}
}
