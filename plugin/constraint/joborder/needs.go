package joborder

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/quota"
)

// complete reports whether a job has its minimum of pods, or waits for victims with them.
func complete(job *api.JobInfo) bool {
	return !job.IsPending() && job.ReadyTaskNum()+job.WaitingTaskNum() >= job.MinAvailable
}

// started reports whether a job has a pod on a node, or one that waits for victims.
func started(job *api.JobInfo) bool {
	for status, tasks := range job.TaskStatusIndex {
		if len(tasks) > 0 && (api.AllocatedStatus(status) || status == api.Pipelined) {
			return true
		}
	}
	return false
}

// reserved reports whether what an admitted job lacks of its minimum is reserved for it.
func (r *rule) reserved(q index.Queue, job *api.JobInfo) bool {
	return intake.HasMinimum(job) && r.session.Intake.HasReservation(q, job)
}

// lacksQuota reports whether what an admitted job lacks of its minimum does not fit under the quotas of its queue and
// the queues above it. It must fit there if no job had anything, and no other limit may refuse it.
func (r *rule) lacksQuota(q index.Queue, job *api.JobInfo) bool {
	tasks := missing(job)
	if len(tasks) == 0 {
		return false
	}

	now := r.session.Books.Now.Queues
	beside := func(p index.Queue, d fastres.Dim) float64 { return now.AllocatedAt(p, d) }
	alone := func(index.Queue, fastres.Dim) float64 { return 0 }
	return !r.fitAll(q, tasks, beside) && r.fitAll(q, tasks, alone)
}

// missing returns the pods that a job lacks of its minimum, none where it lacks more than nodes and quota for them.
func missing(job *api.JobInfo) []*api.TaskInfo {
	return constraint.Lacking(job, func(x, y *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
}

// fitAll reports whether pods of q fit under the quotas on top of the allocated cards, and under all other limits as
// they are. A pod gets the first card of its list that fits.
func (r *rule) fitAll(q index.Queue, tasks []*api.TaskInfo, has func(index.Queue, fastres.Dim) float64) bool {
	s := r.session
	needs := fastres.NewVector(s.Intake.Dims.Length())
	one := fastres.NewVector(s.Intake.Dims.Length())
	var a constraint.Ask
	fits := func(d fastres.Dim, milli float64) bool {
		if s.LimitRefusesDim(a, d, needs.Get(d)+milli) {
			return false
		}
		return !slices.ContainsFunc(s.Index.Path(q), func(p index.Queue) bool {
			return quota.Numbers{Total: has(p, d) + needs.Get(d) + milli, Bound: s.LimitOf(q).At(p, d)}.Exceeded()
		})
	}

	for _, task := range tasks {
		a = s.Ask(q, task, one)
		if !a.Complete {
			return false
		}

		for d := range one.Requested() {
			if !fits(d, one.Get(d)) {
				return false
			}
		}
		needs.Add(one)

		cardsFit := a.Pod.None() || r.fitCards(needs, a.Pod, fits)
		if !cardsFit || s.LimitRefusesTask(a) {
			return false
		}
	}
	return true
}

// fitCards adds the cards of a pod to the needed cards, and reports whether they fit.
func (r *rule) fitCards(needs fastres.Vector, pod *cards.PodRequest, fits func(fastres.Dim, float64) bool) bool {
	names := r.session.Names
	for request := range r.session.Cards.Requests(pod) {
		at := slices.IndexFunc(request.Selector.Dims, func(d fastres.Dim) bool {
			milli := float64(request.Of(d))
			return fits(d, milli) && !slices.ContainsFunc(names.Groups(d), func(share index.Share) bool {
				return !fits(share.Group, share.Of(milli))
			})
		})
		if at < 0 {
			return false
		}

		d := request.Selector.Dims[at]
		names.AddCard(needs, d, float64(request.Of(d)))
	}
	return true
}
