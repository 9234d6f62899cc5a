package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Preemptable keeps, of the victims that all other plugins agree on, those that free what a
// preemptor with cards lacks, and none for one that the quotas do not admit without them. It calls
// the other plugins itself: Volcano takes the victims of the first tier that names any, so an
// answer from a tier in which no other plugin has one would overrule them. Volcano asks about the
// tasks of one node at a time, from many goroutines.
//
// DIVERGES: upstream evicts pods for a task that the quotas refuse afterwards, if its job
// counts as ready for other pods, such as those without requests.
func (s *Session) Preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.asks(preemptor) {
		return nil, util.Abstain
	}
	if !s.rules.plans {
		return s.preemptable(preemptor, preemptees)
	}
	// Plans decide between jobs (Preempt). Within a job, nobody waits for the end of a notice.
	unasked := func(task *api.TaskInfo) bool { return task.Job != preemptor.Job || s.hasNotice(task) }
	offered := slices.DeleteFunc(slices.Clone(preemptees), unasked)
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
func (s *Session) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.Books.Waits(preemptor) {
		return nil, util.Reject
	}
	e := s.evictorOf(preemptor, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
	if e.Queue != index.None && !s.Intake.Eligible(e.Queue).OK() {
		return nil, util.Reject // allocatable refuses it afterwards
	}
	all := len(preemptees)
	preemptees = s.unspared(preemptees)
	if len(preemptees) == 0 && all > 0 {
		return nil, util.Reject
	}
	if !e.hasCards {
		answer := s.admitsPreemption(&e, preemptees)
		if answer == util.Abstain && len(preemptees) < all {
			return s.agreedInQueue(preemptor, preemptees), util.Permit // the others know nothing of who is spared
		}
		return nil, answer
	}
	useful := s.useful(&e, preemptees)
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
func (s *Session) unspared(tasks []*api.TaskInfo) []*api.TaskInfo {
	if !slices.ContainsFunc(tasks, s.Spares) {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), s.Spares)
}

// admitsPreemption abstains where the quotas admit an evictor without cards, once the victims of
// the other plugins are gone.
func (s *Session) admitsPreemption(e *evictor, preemptees []*api.TaskInfo) int {
	switch {
	case e.Queue == index.None:
		return util.Abstain
	case !s.place(e, "") || !s.fitsWithout(e, preemptees):
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

// leavesRoomWithout reports whether the node of some victims has room for an evictor beside what is
// earmarked there for others, once they are gone.
func (s *Session) leavesRoomWithout(e *evictor, victims []*api.TaskInfo) bool {
	if len(victims) == 0 {
		return true
	}
	node := s.Volcano.Nodes[victims[0].NodeName]
	return node == nil || s.Books.LeavesRoom(e.Task, node, false, victims)
}

// useful returns the preemptees that free what an evictor with cards lacks on their node. Where
// the quotas have no room for a card of the node, they have that card. Volcano evicts until there
// is room for some card of a list, which other nodes may have.
func (s *Session) useful(e *evictor, preemptees []*api.TaskInfo) []*api.TaskInfo {
	charge := fastres.NewVector(e.charge.Len())
	node := ""
	usable := false
	useful := make([]*api.TaskInfo, 0, len(preemptees))
	var full []fastres.Dim
	for i, task := range preemptees {
		if i == 0 || task.NodeName != node {
			node, usable = task.NodeName, s.place(e, task.NodeName)
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

// fullCards appends the cards on the evictor's node of which the quotas have too few left.
func (s *Session) fullCards(full []fastres.Dim, e *evictor) []fastres.Dim {
	a := e.onNode()
	for d := range e.charge.Requested() {
		if s.Names.IsCard(d) && !s.FitsDim(&s.Books.Future, &a, d, e.charge.Get(d)).OK() {
			full = append(full, d)
		}
	}
	return full
}
