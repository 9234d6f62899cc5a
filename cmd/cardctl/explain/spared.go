package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// explainReclaim finds what keeps the scheduler from reclaiming for a job that waits for room: policies, or a
// configuration in which reclaim does not consider the job.
func (e *explainer) explainReclaim(f *Finding, job *api.JobInfo) {
	tasks := e.waiting(job)
	if len(tasks) == 0 {
		return
	}

	task := tasks[0]
	why := e.Quota.Preempt(task)
	byPolicy := why != nil &&
		(why.Rule == report.TrainingJob || why.Rule == report.ReclaimDelayed || why.Rule == report.ReclaimBudgetUsed)

	if why == nil && f.Rule == NodesFull {
		f.Spared = e.sparedFrom(f.Queue, e.resourcesOf(task))
		for _, s := range f.Spared {
			f.Advice = append(f.Advice, s.String())
		}
	}
	if (why == nil || byPolicy) && (f.Rule == NodesFull || f.Rule == report.OverQuota) {
		e.explainBorrowers(f, task)
		if why == nil && len(f.Lacks) > 0 {
			f.Untaken = e.untaken(f, job, task)
		}
		e.adviseBorrowers(f)
	}

	if byPolicy {
		f.NoReclaim = why
		f.Advice = append(f.Advice, "nothing is evicted for it: "+why.In(format.Gi))
	}
}

// queueCard is a card, or another resource, of a queue.
type queueCard struct{ queue, card string }

// lentPods counts the pods that have a lent card and may be evicted.
type lentPods struct {
	all, young int
	noticed    int       // they have notice
	until      time.Time // the time at which the notice of the first of them ends
}

// sparedFrom counts the pods that policies protect from a queue, by policy and queue. Only pods count that have one of
// the cards, and only in queues that have more of it than they deserve.
func (e *explainer) sparedFrom(reclaimer string, cards []string) []Spared {
	key := reclaimer + " " + strings.Join(cards, "|")
	return remembered(e.spared, key, func() []Spared { return e.countSpared(reclaimer, cards) })
}

func (e *explainer) countSpared(reclaimer string, cards []string) (all []Spared) {
	count := map[Spared]int{}
	for lent, pods := range e.lentPods() {
		if lent.queue == reclaimer || !slices.Contains(cards, lent.card) {
			continue
		}

		// The first policy that protects all pods of the queue counts.
		if fence := e.Quota.Fence(lent.queue, reclaimer); fence != "" {
			count[Spared{Policy: policy.ReclaimFence, Queue: fence}] += pods.all
		} else if b, used := e.Quota.EvictionBudget(lent.queue, reclaimer); used {
			count[Spared{Policy: b.Policy, Queue: b.Queue, Until: b.Until}] += pods.all
		} else {
			until := pods.until.UTC().Format(time.RFC3339)
			count[Spared{Policy: policy.MinRuntime, Queue: lent.queue}] += pods.young
			count[Spared{Policy: policy.EvictionGrace, Queue: lent.queue, Until: until}] += pods.noticed
		}
	}

	for s, pods := range count {
		if pods > 0 {
			s.Pods = pods
			all = append(all, s)
		}
	}

	slices.SortFunc(all, func(a, b Spared) int {
		return cmp.Or(strings.Compare(a.Policy.String(), b.Policy.String()), strings.Compare(a.Queue, b.Queue))
	})
	return all
}

// countLent counts the preemptable pods on the cards that their queues borrow.
func (e *explainer) countLent() map[queueCard]lentPods {
	all := map[queueCard]lentPods{}
	for _, job := range e.Session.Jobs {
		queue := e.Session.Queues[job.Queue]
		if queue == nil || !queue.Reclaimable() {
			continue
		}

		for _, task := range job.TaskStatusIndex[api.Running] {
			if task.Preemptable {
				e.addLent(all, queue.Name, task)
			}
		}
	}
	return all
}

// addLent counts a pod for each card of the pod that its queue borrows.
func (e *explainer) addLent(all map[queueCard]lentPods, queue string, task *api.TaskInfo) {
	for name := range e.Quota.Charged(task) {
		if !e.borrows(queue, name) {
			continue
		}

		pods := all[queueCard{queue, name}]
		pods.all++
		if e.Quota.Protection(task).Young {
			pods.young++
		}

		if until, noticed := e.Quota.Notice(task); noticed {
			pods.noticed++
			if pods.until.IsZero() || until.Before(pods.until) {
				pods.until = until
			}
		}

		all[queueCard{queue, name}] = pods
	}
}

// borrows reports whether a queue has more of a card than it deserves and is guaranteed.
func (e *explainer) borrows(queue, card string) bool {
	h, _ := e.holding(queue, card)
	return h.Allocated > max(h.Deserved, h.Guarantee)
}
