package testbed

import (
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Serving makes a job one of a service class.
func Serving(class string) func(*workload.Job) {
	return func(j *workload.Job) { j.Annotations = map[string]string{policy.ServiceTypeKey: class} }
}

// CardRequest makes a job without pods that states card.request.
func CardRequest(text string, phase workload.Phase) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase, j.Tasks = phase, nil
		j.Annotations = map[string]string{"volcano.sh/card.request": text}
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
