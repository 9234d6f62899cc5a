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

// explainReclaim finds what keeps the scheduler from reclaiming for a job that waits for room:
// policies, or that reclaim does not look at the job.
func (e *explainer) explainReclaim(f *Finding, job *api.JobInfo) {
	tasks := e.waiting(job)
	if len(tasks) == 0 {
		return
	}
	why := e.Quota.Preempt(tasks[0])
	byPolicy := why != nil && (why.Rule == report.TrainingJob || why.Rule == report.ReclaimDelayed || why.Rule == report.ReclaimBudgetUsed)
	if why == nil && f.Rule == NodesFull {
		f.Spared = e.spared(f.Queue, e.resourcesOf(tasks[0]))
		for _, s := range f.Spared {
			f.Advice = append(f.Advice, s.String())
		}
	}
	if (why == nil || byPolicy) && (f.Rule == NodesFull || f.Rule == report.OverQuota) {
		e.explainBorrowers(f, tasks[0])
		if why == nil && len(f.Lacks) > 0 {
			f.Untaken = e.untaken(f, job, tasks[0])
		}
		e.adviseBorrowers(f)
	}
	if byPolicy {
		f.NoReclaim = why
		f.Advice = append(f.Advice, "nothing is evicted for it: "+why.In(format.Gi))
	}
}

// lent is a card of a queue that has more of it than it deserves.
type lent struct{ queue, card string }

// lentPods counts the pods that have a lent card and may be evicted.
type lentPods struct {
	all, young int
	told       int       // have notice
	until      time.Time // when the first of them may be evicted
}

// spared counts the pods that policies protect from being reclaimed for a queue, by policy and by
// queue. Only those with one of the cards count, of queues that have more of it than they deserve.
func (e *explainer) spared(to string, cards []string) (all []Spared) {
	key := to + " " + strings.Join(cards, "|")
	if known, ok := e.sparedFrom[key]; ok {
		return known
	}
	count := map[Spared]int{}
	for of, pods := range e.lentPods() {
		if of.queue == to || !slices.Contains(cards, of.card) {
			continue
		}
		if fence := e.Quota.Fence(of.queue, to); fence != "" {
			count[Spared{Policy: policy.ReclaimFenceKey, Queue: fence}] += pods.all
		} else if b, used := e.Quota.EvictionBudget(of.queue, to); used {
			count[Spared{Policy: b.Policy, Queue: b.Queue, Until: b.Until}] += pods.all
		} else {
			if pods.young > 0 {
				count[Spared{Policy: policy.MinRuntimeKey, Queue: of.queue}] += pods.young
			}
			if pods.told > 0 {
				count[Spared{Policy: policy.EvictionGraceKey, Queue: of.queue, Until: pods.until.UTC().Format(time.RFC3339)}] += pods.told
			}
		}
	}
	for s, pods := range count {
		s.Pods = pods
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Spared) int {
		return cmp.Or(strings.Compare(a.Policy, b.Policy), strings.Compare(a.Queue, b.Queue))
	})
	e.sparedFrom[key] = all
	return all
}

// lentPods counts the running pods of each queue with cards of which it has more than it deserves.
func (e *explainer) lentPods() map[lent]lentPods {
	if e.lent != nil {
		return e.lent
	}
	e.lent = map[lent]lentPods{}
	for _, job := range e.Session.Jobs {
		queue := e.Session.Queues[job.Queue]
		if queue == nil || !queue.Reclaimable() {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Running] {
			if !task.Preemptable {
				continue
			}
			for name := range e.Quota.Charged(task) {
				of := lent{string(job.Queue), name}
				if !e.borrows(of) {
					continue
				}
				pods := e.lent[of]
				pods.all++
				if e.Quota.Protection(task).Young {
					pods.young++
				}
				if until, told := e.Quota.Notice(task); told {
					pods.told++
					if pods.until.IsZero() || until.Before(pods.until) {
						pods.until = until
					}
				}
				e.lent[of] = pods
			}
		}
	}
	return e.lent
}

// borrows reports whether a queue has more of a card than it deserves and is guaranteed.
func (e *explainer) borrows(of lent) bool {
	h, _ := e.holding(of.queue, of.card)
	return h.Allocated > max(h.Deserved, h.Guarantee)
}
