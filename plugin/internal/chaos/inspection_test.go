package chaos

import (
	"context"
	"errors"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// checkInspection asks the inspection and the hooks about each pod that waits, and about each node for it. Both give
// the same answer and the same reason. If the hooks admit a pod, a simulation without changes admits it, too.
func (c *chaosCycle) checkInspection(name string) {
	i := session.InspectionOf(c.own)
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || c.Queues[job.Queue] == nil {
			continue
		}
		shown := job.JobFitErrors
		for _, task := range job.TaskStatusIndex[api.Pending] {
			why := i.Allocate(task)
			may := c.own.AllocatableOf(c.Queues[job.Queue], task)
			switch {
			case may != (why == nil):
				violated(name, "allocatable answers %t for %s, the inspection: %v", may, task.Name, why)
			case may:
				c.checkSimulation(name, job, task)
			}
			c.checkInspectedNodes(name, task)
		}
		job.JobFitErrors = shown
	}
}

// checkSimulation asks a simulation without changes about a task that may be allocated. The earmarks of its job count in
// a simulation alone.
func (c *chaosCycle) checkSimulation(name string, job *api.JobInfo, task *api.TaskInfo) {
	for _, sibling := range job.Tasks {
		if c.own.Books.Waits(sibling) {
			return
		}
	}
	if c.own.PrePredicate(task) != nil {
		return
	}
	clone := c.GetCycleState(task.UID).Clone()
	if !c.SimulateAllocatableFn(context.Background(), clone, c.Queues[job.Queue], task) {
		violated(name, "a simulation refuses %s, which may be allocated", task.Name)
	}
	c.seen["simulations of pods that may be allocated"]++
}

func (c *chaosCycle) checkInspectedNodes(name string, task *api.TaskInfo) {
	if c.own.Cards == nil || c.own.PrePredicate(task) != nil {
		return
	}
	for _, node := range c.NodeList {
		why, err := session.InspectionOf(c.own).Node(task, node.Name), c.own.Predicate(task, node)
		if (err == nil) != (why == nil) {
			violated(name, "the predicate answers %v for %s, the inspection: %v", err, task.Name, why)
		}
		var refusal *api.FitError
		if errors.As(err, &refusal) && refusal.Reasons()[0] != why.String() {
			violated(name, "the predicate says %q of %s, the inspection %q", refusal.Reasons()[0], task.Name, why)
		}
	}
}
