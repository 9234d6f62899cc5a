package reserve

import (
	"slices"
	"sort"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// kind is a set of equal pods of a job, or of the cards in one entry of card.request.
type kind struct {
	members []member // unfinished pods; nil for cards
	group   int      // of cards
	count   int
}

// Chosen has the number of pods of each kind in the minimum of a job. nil is the usual choice: the
// smallest pods.
type Chosen []int

// SeveralKinds reports whether pods of the job, or entries of card.request, request different cards.
func (j *Job) SeveralKinds() bool {
	if len(j.tasks) == 0 {
		return len(j.groups) > 1
	}
	return j.podSize == 0 && len(j.unfinished) > j.minMembers
}

// mostQuestions bounds the questions of ChooseMinimum. Any user can make a job of thousands of different pods.
const mostQuestions = 1024

// ChooseMinimum finds pods for the minimum of a job that can all be reserved at once, if the smallest
// pods cannot. fits decides about the job with the minimum that is set at that time.
//
// It takes as many pods of each kind as fit, the smallest first. If all pods with a choice have the same
// size, no other choice has more: the sets of pods that can be assigned are the independent sets of a
// matroid. It finds none where that takes too many questions.
func (j *Job) ChooseMinimum(s *cards.Snapshot, fits func() bool) (chosen Chosen, ok bool) {
	kinds, left := j.kinds()
	chosen = make(Chosen, len(kinds))

	asked := 0
	for i, k := range kinds {
		most := min(k.count, left)
		n := sort.Search(most, func(n int) bool {
			if asked == mostQuestions {
				return true
			}
			asked++
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

// UseChosen makes the result of ChooseMinimum for the same job its minimum.
func (j *Job) UseChosen(s *cards.Snapshot, chosen Chosen) {
	if kinds, _ := j.kinds(); len(kinds) == len(chosen) {
		j.apply(s, kinds, chosen)
	}
}

// kinds returns the kinds of pods, with the pods that have nodes first. left is the size of the minimum,
// in pods or cards.
func (j *Job) kinds() (kinds []kind, left int) {
	if len(j.tasks) > 0 {
		return append(j.kindsOf(true), j.kindsOf(false)...), j.minMembers
	}

	for i, g := range j.groups {
		kinds = append(kinds, kind{group: i, count: int(g.stated / card.Cards(1))})
		left += int(g.min / card.Cards(1))
	}
	return kinds, left
}

// kindsOf returns the kinds of the unfinished pods that have nodes, or have none.
func (j *Job) kindsOf(placed bool) (kinds []kind) {
	for _, m := range j.unfinished {
		if api.AllocatedStatus(m.task.Status) != placed {
			continue
		}

		at := slices.IndexFunc(kinds, func(k kind) bool { return k.members[0].request == m.request })
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, kind{})
		}
		kinds[at].members = append(kinds[at].members, m)
		kinds[at].count++
	}
	return kinds
}

// apply makes some pods of each kind the minimum of the job, or the usual choice if chosen is nil.
func (j *Job) apply(s *cards.Snapshot, kinds []kind, chosen Chosen) {
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
