package reserve

import (
	"slices"
	"sort"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// kind is equal pods of a job, or the cards of one entry of card.request.
type kind struct {
	members []member // unfinished pods; nil for cards
	group   int      // of cards
	count   int
}

// Chosen says how many pods of each kind are in the minimum of a job. nil is the usual choice: the
// smallest pods.
type Chosen []int

// SeveralKinds reports whether pods of the job, or entries of card.request, request different cards.
func (j *Job) SeveralKinds() bool {
	if len(j.tasks) == 0 {
		return len(j.groups) > 1
	}
	return j.podSize == 0 && len(j.unfinished) > j.minMembers
}

// ChooseMinimum finds kinds of pods of a job for its minimum that may all be reserved at once, where the usual choice
// may not. fits decides about the job with the minimum as it is then.
//
// It takes as many pods of each kind as fit, the smallest first. If all pods with a choice have the
// same size, no other choice has more: the sets of pods that can be assigned are the independent sets
// of a matroid.
func (j *Job) ChooseMinimum(s *cards.Session, fits func() bool) (chosen Chosen, ok bool) {
	kinds, left := j.kinds()
	chosen = make(Chosen, len(kinds))
	for i, k := range kinds {
		most := min(k.count, left)
		n := sort.Search(most, func(n int) bool {
			chosen[i] = n + 1
			j.apply(s, kinds, chosen)
			return !fits()
		})
		chosen[i] = n
		left -= n
	}
	if left > 0 {
		j.apply(s, kinds, nil)
		return nil, false
	}
	j.apply(s, kinds, chosen)
	return chosen, true
}

// UseChosen makes chosen the minimum of the job, as ChooseMinimum did for the same job.
func (j *Job) UseChosen(s *cards.Session, chosen Chosen) {
	if kinds, _ := j.kinds(); len(kinds) == len(chosen) {
		j.apply(s, kinds, chosen)
	}
}

// kinds returns the kinds of pods, those with pods on nodes first, and the number of pods in the minimum.
func (j *Job) kinds() (kinds []kind, left int) {
	if len(j.tasks) == 0 {
		for i, g := range j.groups {
			kinds = append(kinds, kind{group: i, count: int(g.stated / card.Cards(1))})
			left += int(g.min / card.Cards(1))
		}
		return kinds, left
	}
	for _, placed := range []bool{true, false} {
		first := len(kinds)
		for _, m := range j.unfinished {
			if api.AllocatedStatus(m.task.Status) != placed {
				continue
			}
			at := first + slices.IndexFunc(kinds[first:], func(k kind) bool { return k.members[0].request == m.request })
			if at < first {
				at = len(kinds)
				kinds = append(kinds, kind{})
			}
			kinds[at].members = append(kinds[at].members, m)
			kinds[at].count++
		}
	}
	return kinds, j.minMembers
}

// apply makes some pods of each kind the minimum of the job, or those of the usual choice.
func (j *Job) apply(s *cards.Session, kinds []kind, chosen Chosen) {
	for i := range j.groups {
		j.groups[i].min = 0
	}
	switch {
	case len(j.tasks) == 0 && chosen == nil:
		j.shareMinimum(s)
	case len(j.tasks) == 0:
		for i, k := range kinds {
			j.groups[k.group].min = card.Cards(int64(chosen[i]))
		}
	case chosen == nil:
		j.setMembers(s, j.unfinished[:j.minMembers])
	default:
		var members []member
		for i, k := range kinds {
			members = append(members, k.members[:chosen[i]]...)
		}
		j.setMembers(s, members)
	}
}

// setMembers makes some pods the minimum of the job.
func (j *Job) setMembers(s *cards.Session, members []member) {
	j.members = members
	for _, m := range j.members {
		for r := range s.Requests(m.request) {
			j.groups[j.group(r.Selector, r.Resource)].min += r.Amount
		}
	}
}

// shareMinimum sets the minimum of a job without pods: what card.request states, and of each resource
// no more than minResources has. The entries that come first get it.
func (j *Job) shareMinimum(s *cards.Session) {
	var left map[cards.ResourceID]card.Milli
	for i := range j.groups {
		g := &j.groups[i]
		g.min = g.stated
		resource, most, bounded := s.MostOf(j.minResources, g.selector)
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
