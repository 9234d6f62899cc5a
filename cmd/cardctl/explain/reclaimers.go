package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// reclaimers finds the waiting jobs of other queues that can reclaim pods of a running job.
// It calls the hooks of the action reclaim (actions/reclaim).
func (e *explainer) reclaimers(f *Finding, job *api.JobInfo) {
	queue := e.Session.Queues[job.Queue]
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
	f.Safety, f.Unsaved = e.safety(queue, f, victims, fixed), e.unsaved(victims)
	f.Notice = e.notice(victims)
	if !queue.Reclaimable() || len(victims) == 0 {
		return
	}
	slices.SortFunc(victims, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	for id, other := range e.Session.Jobs {
		to := e.Session.Queues[other.Queue]
		if other.Queue == job.Queue || to == nil || other.IsPending() || !e.JobStarving(other) {
			continue
		}
		tasks := e.waiting(other)
		if len(tasks) == 0 || !release.Preemptive(e.Session.Session)(to, tasks[0]) {
			continue
		}
		if taken := e.Reclaimable(tasks[0], victims); len(taken) > 0 {
			c := Reclaimer{Owner: e.ownerOf(id), Queue: string(other.Queue)}
			for _, task := range taken {
				c.Pods = append(c.Pods, task.Name)
			}
			slices.Sort(c.Pods)
			f.Reclaimers = append(f.Reclaimers, c)
		}
	}
	slices.SortFunc(f.Reclaimers, func(a, b Reclaimer) int { return strings.Compare(a.Owner, b.Owner) })
}

// unsaved describes how much work is lost if all pods are evicted that may be, "" where no checkpoint tells.
func (e *explainer) unsaved(preemptable []*api.TaskInfo) string {
	var sum time.Duration
	since := false
	for _, task := range preemptable {
		lost, saved := e.Quota.Unsaved(task)
		sum, since = sum+lost, since || saved
	}
	if !since {
		return ""
	}
	return fmt.Sprintf("the eviction of all its pods would lose %s of work, since their checkpoints", sum.Round(time.Second))
}

// notice describes how many pods have notice, and from when on they may be evicted, "" for none.
func (e *explainer) notice(preemptable []*api.TaskInfo) string {
	n, first := 0, time.Time{}
	for _, task := range preemptable {
		if until, told := e.Quota.Notice(task); told {
			n++
			if first.IsZero() || until.Before(first) {
				first = until
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of its pods have notice, and may be evicted from %s on", n, first.UTC().Format(time.RFC3339))
}

// safety describes how much of what is allocated to a job's queue can be reclaimed.
func (e *explainer) safety(queue *api.QueueInfo, f *Finding, preemptable []*api.TaskInfo, fixed int) string {
	switch {
	case !queue.Reclaimable():
		return fmt.Sprintf("no job can reclaim it: queue %s has reclaimable: false", queue.Name)
	case e.accounts[queue.Name].Broken != nil:
		return fmt.Sprintf("no job can reclaim it: queue %s does not reach the root", queue.Name)
	case len(preemptable) == 0 && fixed > 0:
		return "no job can reclaim it: its pods have volcano.sh/preemptable: \"false\""
	}
	protection := e.protection(preemptable)
	from := "other queues"
	if protection.Fence != "" {
		from = "queues inside of the reclaim fence " + protection.Fence
	}
	switch {
	case protection.Spared != "":
		return "no job can reclaim it: it " + protection.Spared
	case protection.Training:
		return fmt.Sprintf("jobs of inference in %s can reclaim it, down to what is guaranteed to queue %s", from, queue.Name)
	}
	var over []string
	account := e.accounts[queue.Name]
	for _, h := range account.Holdings {
		if h.Allocated > h.Deserved && (h.Card || e.Plugin != plugin.Name) && h.Resource != "pods" {
			over = append(over, fmt.Sprintf("%s %s (%s of %s deserved)", Amount(h.Resource, h.Allocated-max(h.Deserved, h.Guarantee)), h.Resource,
				Amount(h.Resource, h.Allocated), Amount(h.Resource, h.Deserved)))
		}
	}
	if len(over) == 0 {
		return fmt.Sprintf("no job can reclaim it: queue %s has no more than it deserves", queue.Name)
	}
	return fmt.Sprintf("queue %s has more than it deserves, and %s that have less can reclaim it: %s", queue.Name, from,
		strings.Join(over, ", "))
}

// protection returns how the policies protect running tasks: the answer for the first one that
// some queue may reclaim.
func (e *explainer) protection(tasks []*api.TaskInfo) (protection inspect.Protection) {
	for _, task := range tasks {
		protection = e.Quota.Protection(task)
		if protection.Spared == "" {
			break
		}
	}
	return protection
}
