package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// SetTask makes x the request of a task of q without its cards, and returns the statements of the pod about cards.
// complete: x has a dimension for each resource of the request. It is safe for many goroutines.
func (s *Inputs) SetTask(x fastres.Vector, q index.Queue, task *api.TaskInfo) (pod *cards.PodRequest, complete bool) {
	pod = s.cards.PodRequest(q, task.Pod)
	return pod, s.setRequest(x, task, pod)
}

func (s *Inputs) setRequest(x fastres.Vector, task *api.TaskInfo, pod *cards.PodRequest) (complete bool) {
	complete = s.Dims.Set(x, task.Resreq)
	if !pod.None() && s.cards.UnlimitedCPUMemory() && s.cards.Uses(pod) {
		x.Set(fastres.CPU, 0)
		x.Set(fastres.Memory, 0)
	}
	return complete
}

// SetCharge makes x the charge of q for a task on a node: its request and the cards that it has there.
func (s *Inputs) SetCharge(x fastres.Vector, q index.Queue, task *api.TaskInfo, nodeName string) (complete bool) {
	pod, complete := s.SetTask(x, q, task)
	if !pod.None() {
		s.cards.AddTo(x, pod, nodeName)
	}
	return complete
}

// SetChargeOn is SetCharge for a caller that already has the statements of the pod (Stated) and the node.
func (s *Inputs) SetChargeOn(x fastres.Vector, q index.Queue, task *api.TaskInfo, pod *cards.PodRequest,
	n *cards.Node) (complete bool) {
	pod = s.cards.CountedIn(q, pod)
	complete = s.setRequest(x, task, pod)
	if !pod.None() {
		s.cards.AddOn(x, pod, n)
	}
	return complete
}

// SetMinimum makes x the minimum resources of a job, and reports whether x has a dimension for all of them.
func (s *Inputs) SetMinimum(x fastres.Vector, job *api.JobInfo) (complete bool) {
	r := reader{dims: &s.Dims}
	r.setMinimum(x, job)
	if len(r.missing) == 0 {
		return true
	}

	// A minimum may name a resource that no task, queue or node of the session has. No queue has a quota of it, and the
	// vectors have spare dimensions for such names.
	internRequested(s.Dims.names, r.missing)
	again := reader{dims: &s.Dims}
	again.setMinimum(x, job)
	return len(again.missing) == 0
}

// SetGated makes x the sum of the requests of the job's pods with scheduling gates.
func (s *Inputs) SetGated(x fastres.Vector, job *api.JobInfo) {
	allocated, _ := CountTasks(job)
	r := reader{dims: &s.Dims}
	r.setGated(x, s.settings.Gates, job, allocated)
}
