// Package release holds all that differs between releases of Volcano. Other
// packages call it and know no release. This version is for v1.14.1.
package release

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// SetTotals sets what all queues of a tree are guaranteed and deserve. Plugins of
// v1.14.1 read it from the session; v1.14.2 has no such fields.
func SetTotals(ssn *framework.Session, guarantee, deserved *api.Resource) {
	ssn.TotalGuarantee, ssn.TotalDeserved = guarantee, deserved
}

// AddPreemptiveFn registers the hook that answers whether a queue may reclaim for
// a task. From v1.15 on Volcano passes several tasks.
func AddPreemptiveFn(ssn *framework.Session, plugin string, preemptive func(*api.QueueInfo, *api.TaskInfo) bool) {
	ssn.AddPreemptiveFn(plugin, func(queue, task any) bool {
		return preemptive(queue.(*api.QueueInfo), task.(*api.TaskInfo))
	})
}
