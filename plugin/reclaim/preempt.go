package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Preemptable returns the victims that all other plugins accept and that free a card the preemptor lacks. If the
// preemptor would still exceed a quota without them, it returns none. Without cards, it abstains where the quotas admit
// the preemptor. Volcano asks about the tasks of one node at a time, from many goroutines.
//
// It asks the other plugins itself, because Volcano takes the victims of the first tier that names any. An
// answer from a tier in which no other plugin has one would overrule the others.
//
// DIVERGES: upstream evicts pods for a task that the quotas refuse afterwards, if its job
// counts as ready for other pods, such as those without requests.
func (s *Rules) Preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.inquiries.has(preemptor) {
		return nil, util.Abstain
	}
	if !s.rules.plans {
		return s.preemptable(preemptor, preemptees)
	}

	// Plans decide between jobs (Preempt). Within a job, nobody waits for the end of a notice.
	planned := func(task *api.TaskInfo) bool { return task.Job != preemptor.Job || s.hasNotice(task) }
	offered := slices.DeleteFunc(slices.Clone(preemptees), planned)
	if len(offered) == 0 && len(preemptees) > 0 {
		return nil, util.Reject
	}

	victims, vote := s.preemptable(preemptor, offered)
	if vote == util.Abstain && len(offered) < len(preemptees) {
		return s.agreedInQueue(preemptor, offered), util.Permit
	}
	return victims, vote
}

// preemptable returns the victims on a node that Volcano's action may evict.
func (s *Rules) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.Books.Waits(preemptor) {
		return nil, util.Reject
	}
	e := s.evictorOf(preemptor, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
	if e.Queue != index.None && !s.Intake.Eligible(e.Queue).OK() {
		return nil, util.Reject // allocatable refuses it afterwards
	}

	unspared := s.unspared(preemptees)
	if len(unspared) == 0 && len(preemptees) > 0 {
		return nil, util.Reject
	}
	if !e.hasCards {
		vote := s.admitsPreemption(&e, unspared)
		if vote == util.Abstain && len(unspared) < len(preemptees) {
			return s.agreedInQueue(preemptor, unspared), util.Permit // the others do not know who is spared
		}
		return nil, vote
	}

	useful := s.useful(&e, unspared)
	if len(useful) == 0 {
		return nil, util.Reject
	}

	victims := s.agreedInQueue(preemptor, useful)
	if !s.fitsWithout(&e, victims) || !s.leavesRoomWithout(&e, victims) {
		return nil, util.Reject
	}
	return victims, util.Permit
}

// unspared returns the tasks that no policy spares from jobs of their own queue.
func (s *Rules) unspared(tasks []*api.TaskInfo) []*api.TaskInfo {
	if !slices.ContainsFunc(tasks, s.Spares) {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), s.Spares)
}

// admitsPreemption abstains where the quotas admit an evictor without cards, once the victims of
// the other plugins are gone.
func (s *Rules) admitsPreemption(e *evictor, preemptees []*api.TaskInfo) int {
	if e.Queue == index.None {
		return util.Abstain
	}
	if !s.place(e, "") || !s.fitsWithout(e, preemptees) {
		return util.Reject
	}

	admitted := s.fitsWithout(e, nil)
	if admitted && s.Books.Empty() {
		return util.Abstain
	}

	victims := s.agreedInQueue(e.Task, preemptees)
	if (admitted || s.fitsWithout(e, victims)) && s.leavesRoomWithout(e, victims) {
		return util.Abstain
	}
	return util.Reject
}

// leavesRoomWithout reports whether an evictor has room on the node of some victims once they are gone, next to
// the earmarks of other jobs there.
func (s *Rules) leavesRoomWithout(e *evictor, victims []*api.TaskInfo) bool {
	if len(victims) == 0 {
		return true
	}
	node := s.Volcano.Nodes[victims[0].NodeName]
	return node == nil || s.Books.LeavesRoom(e.Task, node, false, victims)
}

// useful returns the preemptees that free something that an evictor with cards lacks on their node. Where
// the quotas have no room for a card of the node, they have that card. Volcano evicts until there
// is room for some card of a list, which other nodes may have.
func (s *Rules) useful(e *evictor, preemptees []*api.TaskInfo) []*api.TaskInfo {
	charge := fastres.NewVector(e.charge.Len())
	useful := make([]*api.TaskInfo, 0, len(preemptees))
	node := ""
	usable := false
	var full []fastres.Dim

	for i, task := range preemptees {
		if i == 0 || task.NodeName != node {
			node = task.NodeName
			usable = s.place(e, node)
			if usable {
				full = s.fullCards(full[:0], e)
			}
		}
		q := s.QueueOf(task)
		if q == index.None || !usable {
			continue
		}

		s.Intake.SetCharge(charge, q, task, node)
		hasNone := func(d fastres.Dim) bool { return charge.Get(d) == 0 }
		if s.frees(e, q, task, s.Cards.Stated(task.Pod), charge) && !slices.ContainsFunc(full, hasNone) {
			useful = append(useful, task)
		}
	}
	return useful
}

// fullCards appends the cards on the evictor's node that the quotas have too little room for.
func (s *Rules) fullCards(full []fastres.Dim, e *evictor) []fastres.Dim {
	a := e.onNode()
	for d := range e.charge.Requested() {
		if s.Names.IsCard(d) && !s.FitsDim(&s.Books.Future, &a, d, e.charge.Get(d)).OK() {
			full = append(full, d)
		}
	}
	return full
}
