package soft

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// readWaiting reads the pending tasks of all jobs: some jobs are admitted later in the session.
func (r *rule) readWaiting() {
	s := r.session
	r.jobs = make([][]*job, s.Index.Len())
	r.kindOf = map[api.TaskID]*kind{}

	for _, info := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(info.Queue))
		if q == index.None || len(info.TaskStatusIndex[api.Pending]) == 0 {
			continue
		}
		if !s.Intake.Eligible(q).OK() || !s.Cards.Counted(q) {
			continue
		}

		kinds := r.kindsIn(q, info)
		if slices.ContainsFunc(kinds, func(k kind) bool { return k.amounts != nil }) {
			r.jobs[q] = append(r.jobs[q], r.newJob(q, info, slices.Clone(kinds)))
			r.changed(q)
		}
	}
}

// kindsIn returns the pending tasks of a job by request. The memory is used again: most jobs request no card
// with a soft quota.
func (r *rule) kindsIn(q index.Queue, info *api.JobInfo) []kind {
	r.kinds = r.kinds[:0]
	at := -1
	for _, task := range info.TaskStatusIndex[api.Pending] {
		if task.SchGated {
			continue
		}

		pod := r.session.Cards.PodRequest(q, task.Pod)
		if at < 0 || r.kinds[at].pod != pod {
			at = slices.IndexFunc(r.kinds, func(k kind) bool { return k.pod == pod })
		}
		if at < 0 {
			at = len(r.kinds)
			r.kinds = append(r.kinds, kind{pod: pod, task: task, amounts: r.amounts(q, pod)})
		}
		r.kinds[at].tasks++
	}
	return r.kinds
}

// newJob returns a job with its kinds, and notes the kind of each task.
func (r *rule) newJob(q index.Queue, info *api.JobInfo, kinds []kind) *job {
	for _, task := range info.TaskStatusIndex[api.Pending] {
		pod := r.session.Cards.PodRequest(q, task.Pod)
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.pod == pod })
		if at >= 0 && !task.SchGated {
			r.kindOf[task.UID] = &kinds[at]
		}
	}
	return &job{info, kinds}
}

// amounts returns the cards with a soft quota that a pod requests: the first card of each list. It is nil for none.
func (r *rule) amounts(q index.Queue, pod *cards.PodRequest) (amounts []float64) {
	add := func(d fastres.Dim, milli float64) {
		c := r.soft.Column(d)
		if c < 0 || milli <= 0 {
			return
		}
		if amounts == nil {
			amounts = make([]float64, len(r.dims))
		}
		amounts[c] += milli
	}

	for request := range r.session.Cards.Requests(pod) {
		if len(request.Selector.Dims) == 0 || !r.session.Cards.Allowed(q, request).OK() {
			continue
		}
		d := request.Selector.Dims[0]
		add(d, float64(request.Of(d)))
		for _, share := range r.session.Names.Groups(d) {
			add(share.Group, share.Of(float64(request.Of(d))))
		}
	}
	return amounts
}
