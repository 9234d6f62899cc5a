package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// reclaimers finds the jobs that pods of a running job are evicted for, and what spares the others.
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

	f.Reclaimers = e.trial.losesTo(e.groups[job.UID])
	f.Wanted = e.wantedFrom(job)
	f.Safety = e.safety(f, queue, victims, len(running)-len(victims))
	f.Unsaved = e.unsaved(victims)
	f.Notice = e.notice(victims)
}

// wantedFrom returns the waiting jobs that lack cards of a running job and do not get them.
func (e *explainer) wantedFrom(job *api.JobInfo) (all []Wanted) {
	g := e.groups[job.UID]
	owner := g.Namespace + "/" + g.Owner
	for id, claim := range e.trial.claims {
		waiting := e.groups[id]
		w := Wanted{Owner: waiting.Namespace + "/" + waiting.Owner, Queue: waiting.Spec.Queue}
		for _, s := range claim.Spared {
			if s.Owner == owner {
				w.By = append(w.By, s.why())
			}
		}
		if len(w.By) > 0 {
			all = append(all, w)
		}
	}

	slices.SortFunc(all, func(a, b Wanted) int { return strings.Compare(a.Owner, b.Owner) })
	return first(all, mostHolders)
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

// safety names the pods of a job that the next cycles evict, and the reasons that protect the others. fixed is the
// number of its pods that are not preemptable.
func (e *explainer) safety(f *Finding, queue *api.QueueInfo, victims []*api.TaskInfo, fixed int) string {
	evicted := 0
	for _, r := range f.Reclaimers {
		evicted += len(r.Pods)
	}

	protection := e.protection(victims)
	switch {
	case evicted > 0:
		return fmt.Sprintf("pods of it that are evicted for others: %d", evicted)
	case !queue.Reclaimable():
		return fmt.Sprintf("no job can reclaim it: queue %s has reclaimable: false", queue.Name)
	case e.accounts[queue.Name].Broken != nil:
		return fmt.Sprintf("no job can reclaim it: queue %s does not reach the root", queue.Name)
	case len(victims) == 0 && fixed > 0:
		return "no job can reclaim it: its pods have volcano.sh/preemptable: \"false\""
	case protection.Spared != "":
		return "no job can reclaim it: it " + protection.Spared
	}

	borrowed := e.borrowedBy(queue.Name, victims)
	if len(borrowed) == 0 && !protection.Training {
		return fmt.Sprintf("no job can reclaim it: queue %s has no more than it deserves of its cards", queue.Name)
	}
	if len(borrowed) == 0 {
		return "the next cycles evict none of its pods"
	}
	return fmt.Sprintf("the next cycles evict none of its pods; queue %s has more than it deserves: %s",
		queue.Name, strings.Join(borrowed, ", "))
}

// borrowedBy returns the amounts that a queue borrows of the cards and resources that some pods have.
func (e *explainer) borrowedBy(queue string, victims []*api.TaskInfo) (borrowed []string) {
	for _, h := range e.accounts[queue].Holdings {
		uses := func(task *api.TaskInfo) bool { return e.requestOf(task, h.Resource) > 0 }
		lent := (h.Card || e.Plugin != plugin.Name) && h.Resource != "pods" && e.borrows(queue, h.Resource)
		if lent && slices.ContainsFunc(victims, uses) {
			borrowed = append(borrowed, fmt.Sprintf("%s %s (%s of %s deserved)",
				Amount(h.Resource, h.Allocated-max(h.Deserved, h.Guarantee)), h.Resource,
				Amount(h.Resource, h.Allocated), Amount(h.Resource, h.Deserved)))
		}
	}
	return borrowed
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
