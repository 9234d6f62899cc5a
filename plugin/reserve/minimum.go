package reserve

import (
	"cmp"
	"math"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// chooseMembers finds the pods of the minimum and adds up their requests.
func (j *Job) chooseMembers(s *cards.Snapshot) {
	staying := 0
	for i, task := range j.tasks {
		if finished(task) {
			continue
		}

		m := member{task: task, request: j.requests[i]}
		if task.Status == api.Releasing {
			m.ends = 1
		} else {
			staying++
		}
		for r := range s.Requests(m.request) {
			m.total += r.Amount
		}
		j.unfinished = append(j.unfinished, m)
	}

	slices.SortFunc(j.unfinished, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.ends, y.ends), cmp.Compare(x.total, y.total),
			cmp.Compare(x.task.Name, y.task.Name), cmp.Compare(x.task.UID, y.task.UID))
	})

	// A pod that is being deleted is in the minimum only if too few others are left.
	j.unfinished = j.unfinished[:max(staying, j.minMembers)]
	j.setMembers(s, j.unfinished[:j.minMembers])
}

// setMembers makes some pods the minimum of the job.
func (j *Job) setMembers(s *cards.Snapshot, members []member) {
	j.members = members
	for _, m := range j.members {
		for r := range s.Requests(m.request) {
			j.groups[j.group(r)].min += r.Amount
		}
	}
}

// shareMinimum sets the minimum of a job without pods. It is the cards that card.request states, limited
// for each resource to the amount in minResources. Earlier entries get the amount first.
func (j *Job) shareMinimum(s *cards.Snapshot) {
	var left map[cards.ResourceID]card.Milli
	for i := range j.groups {
		g := &j.groups[i]
		g.min = g.stated

		resource, most, bounded := s.MostOf(j.minResources, g.sample.Selector)
		if !bounded {
			continue
		}

		if left == nil {
			left = map[cards.ResourceID]card.Milli{}
		}
		if _, known := left[resource]; !known {
			left[resource] = most
		}

		g.min = min(g.min, left[resource])
		left[resource] -= g.min
	}
}

// AddElastic adds the cards that the job has beyond its minimum to x:
//
//	max(0, allocated − min)
//
// of each selector. The minimum keeps the preferred cards.
func (j *Job) AddElastic(s *cards.Snapshot, x fastres.Vector) {
	for i, g := range j.groups {
		if g.allocated <= g.min {
			continue
		}

		keep := g.min
		for _, d := range j.dimsOf(s, i) {
			has := j.allocatedOf(i, d)
			kept := min(keep, has)
			keep -= kept
			if has > kept {
				s.Add(x, d, has-kept)
			}
		}
	}
}

// dimsOf returns the cards of a group's selector, the preferred first. Then come other cards of its
// tasks, on nodes with a label that changed, in the order of their names.
func (j *Job) dimsOf(s *cards.Snapshot, group int) []fastres.Dim {
	j.dims = append(j.dims[:0], j.groups[group].cards()...)
	listed := len(j.dims)
	for _, a := range j.allocated {
		if a.group == group && !slices.Contains(j.dims, a.dim) {
			j.dims = append(j.dims, a.dim)
		}
	}

	others := j.dims[listed:]
	slices.SortFunc(others, func(x, y fastres.Dim) int { return cmp.Compare(s.CardName(x), s.CardName(y)) })
	return j.dims
}

// allocatedOf returns the allocated amount of one card in a group.
func (j *Job) allocatedOf(group int, d fastres.Dim) (sum card.Milli) {
	for _, a := range j.allocated {
		if a.group == group && a.dim == d {
			sum += a.milli
		}
	}
	return sum
}

// appendMissing appends the demands of the job's minimum that it does not have yet:
//
//	max(0, min − allocated)
//
// of each selector, pod by pod; card by card while the job has no pods. A remainder
// smaller than a pod is a demand of its own.
func (j *Job) appendMissing(to []assign.Demand, s *cards.Snapshot, q index.Queue) []assign.Demand {
	for _, g := range j.groups {
		to = j.appendGroup(to, s, q, g, g.missing(), func(*api.TaskInfo) bool { return false })
	}
	return to
}

// AppendReservation appends the demands that the admitted job still waits for. They are the missing part
// of its minimum without the pods that have scheduling gates.
func (j *Job) AppendReservation(to []assign.Demand, s *cards.Snapshot, q index.Queue) []assign.Demand {
	for _, g := range j.groups {
		to = j.appendGroup(to, s, q, g, max(0, g.missing()-g.gated), j.Gates.Gated)
	}
	return to
}

// appendOthers appends the demands of appendMissing without the demands of one of the job's pods.
func (j *Job) appendOthers(to []assign.Demand, s *cards.Snapshot, task *api.TaskInfo,
	p *cards.PodRequest) []assign.Demand {
	is := func(other *api.TaskInfo) bool { return other.UID == task.UID }
	counts := slices.ContainsFunc(j.members, func(m member) bool { return is(m.task) })

	for _, g := range j.groups {
		left := g.missing()
		for r := range s.Requests(p) {
			if counts && g.sample.Alike(r) {
				left -= min(left, r.Amount)
			}
		}
		to = j.appendGroup(to, s, 0, g, left, is)
	}
	return to
}

// appendGroup appends the demands of the part of a group's minimum that is left. These are the pods that
// have no node, except the pods to skip, and the remainder.
func (j *Job) appendGroup(to []assign.Demand, s *cards.Snapshot, q index.Queue, g group, left card.Milli,
	skip func(*api.TaskInfo) bool) []assign.Demand {
	for _, m := range j.members {
		if api.AllocatedStatus(m.task.Status) || skip(m.task) {
			continue
		}

		for r := range s.Requests(m.request) {
			if g.sample.Alike(r) && left > 0 {
				size := min(left, r.Amount)
				to = appendDemand(to, assign.Demand{Queue: q, Cards: r.Selector.Dims, Size: float64(size), Count: 1})
				left -= size
			}
		}
	}
	return j.appendAlike(to, q, g, left)
}

// appendAlike appends equal pods of amount in total, and the remainder. A job without pods does not state
// their size; they take one card each.
func (j *Job) appendAlike(to []assign.Demand, q index.Queue, g group, amount card.Milli) []assign.Demand {
	size := cmp.Or(j.podSize, card.Cards(1))
	if len(j.members) > 0 {
		size = amount // a remainder: pods of the minimum were larger than the allocated pods
	}

	count := card.Milli(math.Floor(float64(amount / max(size, 1))))
	to = appendDemand(to, assign.Demand{Queue: q, Cards: g.cards(), Size: float64(size), Count: int(count)})
	if rest := amount - count*size; rest > 0 {
		to = appendDemand(to, assign.Demand{Queue: q, Cards: g.cards(), Size: float64(rest), Count: 1})
	}
	return to
}

// appendDemand appends a demand, or adds it to the last one if that has equal pods.
func appendDemand(to []assign.Demand, demand assign.Demand) []assign.Demand {
	if demand.Count == 0 {
		return to
	}

	if n := len(to); n > 0 {
		last := &to[n-1]
		if last.Queue == demand.Queue && last.Size == demand.Size && slices.Equal(last.Cards, demand.Cards) {
			last.Count += demand.Count
			return to
		}
	}
	return append(to, demand)
}
