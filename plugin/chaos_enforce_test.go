package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"
)

// noteEnforced notes the tasks that were evicted when the session opened: nothing else has been evicted yet.
func (c *chaosCycle) noteEnforced() {
	c.enforced = map[api.TaskID]bool{}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil {
			continue
		}
		for _, p := range j.All() {
			if task := job.Tasks[api.TaskID(p.Object.UID)]; task.Status == api.Releasing && p.Object.DeletionTimestamp == nil {
				c.enforced[task.UID] = true
				c.evictor[task.Name] = "enforce-quota"
			}
		}
	}
}
