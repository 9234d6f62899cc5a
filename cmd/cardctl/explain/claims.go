package explain

import (
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin"
)

// claims finds the jobs of other queues that wait and could take pods of a running
// job: the action reclaim asks the same hooks (actions/reclaim).
func (x *explainer) claims(f *Finding, job *api.JobInfo) {
	queue := x.Session.Queues[job.Queue]
	if queue == nil {
		return
	}
	var victims []*api.TaskInfo
	fixed := 0
	for _, task := range job.TaskStatusIndex[api.Running] {
		if task.Preemptable {
			victims = append(victims, task)
		} else {
			fixed++
		}
	}
	f.Safety = x.safety(queue, f, len(victims), fixed)
	if !queue.Reclaimable() || len(victims) == 0 {
		return
	}
	slices.SortFunc(victims, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	for id, other := range x.Session.Jobs {
		claimant := x.Session.Queues[other.Queue]
		if other.Queue == job.Queue || claimant == nil || other.IsPending() || !x.JobStarving(other) {
			continue
		}
		tasks := x.waiting(other)
		if len(tasks) == 0 || !x.Preemptive(claimant, tasks[0]) {
			continue
		}
		if taken := x.Reclaimable(tasks[0], victims); len(taken) > 0 {
			c := Claim{Owner: x.ownerOf(id), Queue: string(other.Queue)}
			for _, task := range taken {
				c.Pods = append(c.Pods, task.Name)
			}
			slices.Sort(c.Pods)
			f.Claims = append(f.Claims, c)
		}
	}
	slices.SortFunc(f.Claims, func(a, b Claim) int { return strings.Compare(a.Owner, b.Owner) })
}

// safety says how much of what a job's queue has may be taken back.
func (x *explainer) safety(queue *api.QueueInfo, f *Finding, preemptable, fixed int) string {
	switch {
	case !queue.Reclaimable():
		return fmt.Sprintf("nobody can reclaim it: queue %s has reclaimable: false", queue.Name)
	case preemptable == 0 && fixed > 0:
		return "nobody can reclaim it: its pods have volcano.sh/preemptable: \"false\""
	}
	var over []string
	account := x.accounts[queue.Name]
	for _, h := range account.Holdings {
		if h.Allocated > h.Deserved && (h.Card || x.Plugin != plugin.Name) && h.Resource != "pods" {
			over = append(over, fmt.Sprintf("%s %s (%s of %s deserved)", Amount(h.Resource, h.Allocated-max(h.Deserved, h.Guarantee)), h.Resource,
				Amount(h.Resource, h.Allocated), Amount(h.Resource, h.Deserved)))
		}
	}
	if len(over) == 0 {
		return fmt.Sprintf("nobody can reclaim it: queue %s has no more than it deserves", queue.Name)
	}
	return fmt.Sprintf("queue %s has more than it deserves, and other queues that have less can take it back: %s", queue.Name, strings.Join(over, ", "))
}
