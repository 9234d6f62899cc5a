package reserve

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// Rest finds the cards that a pod leaves to the rest of its job. If a pod with the list A|B takes the
// only A, and another pod of its gang can use only A, the gang never starts.
//
// The zero Rest is ready for use. Its memory lasts across sessions.
type Rest struct {
	job    Job
	last   *api.JobInfo // the job that was read last
	alike  bool         // all its pods with cards request the same cards
	others []assign.Demand
	room   room // the cards that the nodes and quotas leave to the other pods
	dims   int
}

// Begin begins a session with vectors of dims dimensions.
func (r *Rest) Begin(dims int) {
	r.last = nil
	r.dims = dims
}

// Needs returns the cards of a pending pod that the other pods of its job need, nil for nearly every pod.
// Without these cards, the minimum of the job cannot be assigned to the cards that are left; with them,
// it can. left returns the milli-cards that are left of a card. The distribution of cards over nodes
// does not count.
func (r *Rest) Needs(s *cards.Snapshot, job *api.JobInfo, task *api.TaskInfo, p *cards.PodRequest,
	left func(fastres.Dim) float64) (needs []fastres.Dim) {
	if r.last == job && r.alike {
		return nil
	}

	r.job.Read(s, job, s.Read)
	r.last = job
	r.alike = !r.job.hasCards || r.job.podSize > 0
	if r.alike {
		return nil
	}

	r.others = r.job.appendOthers(r.others[:0], s, task, p)
	if len(r.others) == 0 {
		return nil
	}

	r.room.open(r.dims, r.others, left)
	if r.room.serves(r.others) != assign.Yes {
		return nil
	}

	for request := range s.Requests(p) {
		dims := request.Selector.Dims
		if len(dims) < 2 {
			continue // no other card to take instead
		}

		for _, d := range dims {
			if !slices.Contains(needs, d) && r.without(d, float64(request.Of(d))) {
				needs = append(needs, d)
			}
		}
	}
	return needs
}

// without reports whether some of the other pods lack cards once an amount of a card is gone.
func (r *Rest) without(d fastres.Dim, milli float64) bool {
	bound := r.room.bound()
	had := bound.Get(d)
	if had < milli {
		return false // no other pod can use it, or the pod does not get it
	}

	bound.Set(d, had-milli)
	answer := r.room.serves(r.others)
	bound.Set(d, had)
	return answer == assign.No
}
