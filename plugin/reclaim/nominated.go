package reclaim

import "volcano.sh/volcano/pkg/scheduler/api"

// forgetLostNodes lets pending tasks preempt again that wait for a node which is gone. Volcano's preempt passes over
// a pod for as long as status.nominatedNodeName names a node that the session does not have, and nobody clears that
// name. Their earmarks have ended with the node.
//
// DIVERGES: upstream never preempts for such a pod again (preempt/preempt.go, taskEligibleToPreempt; upstream issue
// 5131).
func (s *Rules) forgetLostNodes() {
	for _, job := range s.Volcano.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			node := task.Pod.Status.NominatedNodeName
			if node == "" || s.Volcano.Nodes[node] != nil {
				continue
			}

			pod := *task.Pod // Volcano's cache shares the old one
			pod.Status.NominatedNodeName = ""
			task.Pod = &pod
		}
	}
}
