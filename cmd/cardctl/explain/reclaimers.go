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

// reclaimers finds the waiting jobs of other queues that can reclaim pods of a running job. It calls the hooks of the
// action reclaim (actions/reclaim).
func (e *explainer) reclaimers(f *Finding, job *api.JobInfo) {
	queue := e.Session.Queues[job.Queue]
	if queue == nil {
		return
	}

	running := job.TaskStatusIndex[api.Running]
	var victims []*api.TaskInfo
	for _, task := range running {
		if task.Preemptable {
			victims = append(victims, task)
		}
	}

	f.Safety = e.safety(queue, victims, len(running)-len(victims))
	f.Unsaved = e.unsaved(victims)
	f.Notice = e.notice(victims)
	if !queue.Reclaimable() || len(victims) == 0 {
		return
	}

	slices.SortFunc(victims, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, other := range e.Session.Jobs {
		if pods := e.reclaimable(other, job, victims); len(pods) > 0 {
			g := e.groups[other.UID]
			f.Reclaimers = append(f.Reclaimers,
				Reclaimer{Owner: g.Namespace + "/" + g.Owner, Queue: string(other.Queue), Pods: pods})
		}
	}
	slices.SortFunc(f.Reclaimers, func(a, b Reclaimer) int { return strings.Compare(a.Owner, b.Owner) })
}

// reclaimable returns the names of the pods of a job that another job can reclaim for its first pod.
func (e *explainer) reclaimable(reclaimer, job *api.JobInfo, victims []*api.TaskInfo) (names []string) {
	to := e.Session.Queues[reclaimer.Queue]
	if reclaimer.Queue == job.Queue || to == nil || reclaimer.IsPending() || !e.JobStarving(reclaimer) {
		return nil
	}

	tasks := e.waiting(reclaimer)
	if len(tasks) == 0 || !release.Preemptive(e.Session.Session)(to, tasks[0]) {
		return nil
	}

	for _, task := range e.Reclaimable(tasks[0], victims) {
		names = append(names, task.Name)
	}
	slices.Sort(names)
	return names
}

// unsaved says how much work is lost if all victims are evicted, "" if no checkpoint tells.
func (e *explainer) unsaved(victims []*api.TaskInfo) string {
	var sum time.Duration
	known := false
	for _, task := range victims {
		lost, saved := e.Quota.Unsaved(task)
		sum += lost
		known = known || saved
	}

	if !known {
		return ""
	}

	return fmt.Sprintf("the eviction of all its pods would lose %s of work, since their checkpoints",
		sum.Round(time.Second))
}

// notice says how many victims have notice, and when the first of them may be evicted, "" for none.
func (e *explainer) notice(victims []*api.TaskInfo) string {
	var ends []time.Time
	for _, task := range victims {
		if until, noticed := e.Quota.Notice(task); noticed {
			ends = append(ends, until)
		}
	}

	if len(ends) == 0 {
		return ""
	}
	first := slices.MinFunc(ends, time.Time.Compare).UTC().Format(time.RFC3339)
	return fmt.Sprintf("%d of its pods have notice, and may be evicted from %s on", len(ends), first)
}

// safety says how much of the allocation of a queue can be reclaimed from a job. fixed is the number of its pods that
// are not preemptable.
func (e *explainer) safety(queue *api.QueueInfo, victims []*api.TaskInfo, fixed int) string {
	switch {
	case !queue.Reclaimable():
		return fmt.Sprintf("no job can reclaim it: queue %s has reclaimable: false", queue.Name)
	case e.accounts[queue.Name].Broken != nil:
		return fmt.Sprintf("no job can reclaim it: queue %s does not reach the root", queue.Name)
	case len(victims) == 0 && fixed > 0:
		return "no job can reclaim it: its pods have volcano.sh/preemptable: \"false\""
	}

	protection := e.protection(victims)
	from := "other queues"
	if protection.Fence != "" {
		from = "queues inside of the reclaim fence " + protection.Fence
	}
	switch {
	case protection.Spared != "":
		return "no job can reclaim it: it " + protection.Spared
	case protection.Training:
		return fmt.Sprintf("jobs of inference in %s can reclaim it, down to what is guaranteed to queue %s",
			from, queue.Name)
	}

	var borrowed []string
	for _, h := range e.accounts[queue.Name].Holdings {
		if h.Allocated > h.Deserved && (h.Card || e.Plugin != plugin.Name) && h.Resource != "pods" {
			borrowed = append(borrowed, fmt.Sprintf("%s %s (%s of %s deserved)",
				Amount(h.Resource, h.Allocated-max(h.Deserved, h.Guarantee)), h.Resource,
				Amount(h.Resource, h.Allocated), Amount(h.Resource, h.Deserved)))
		}
	}

	if len(borrowed) == 0 {
		return fmt.Sprintf("no job can reclaim it: queue %s has no more than it deserves", queue.Name)
	}
	return fmt.Sprintf("queue %s has more than it deserves, and %s that have less can reclaim it: %s",
		queue.Name, from, strings.Join(borrowed, ", "))
}

// protection returns the protection of the victims by policies. The first victim decides that a queue may reclaim.
func (e *explainer) protection(victims []*api.TaskInfo) (protection inspect.Protection) {
	for _, task := range victims {
		protection = e.Quota.Protection(task)
		if protection.Spared == "" {
			break
		}
	}
	return protection
}
