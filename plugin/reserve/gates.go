package reserve

import "volcano.sh/volcano/pkg/scheduler/api"

// QueueGate is the name of the queue allocation gate. A pod opts in by an annotation with the same key.
const QueueGate = "scheduling.volcano.sh/queue-allocation-gate"

// Gates tells which scheduling gates count (release.Rules.QueueGates). If true, a queue allocation gate
// that is the only gate of a pod does not count.
type Gates bool

// Gated reports whether a task waits for others to remove a scheduling gate.
func (g Gates) Gated(task *api.TaskInfo) bool {
	if !task.SchGated || !bool(g) || task.Pod == nil {
		return task.SchGated
	}

	gates := task.Pod.Spec.SchedulingGates
	return len(gates) != 1 || gates[0].Name != QueueGate
}

// OptedIn reports whether the pod of a task has the annotation.
func OptedIn(task *api.TaskInfo) bool {
	return task.Pod != nil && task.Pod.Annotations[QueueGate] == "true"
}
