package plugin

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// preemptable keeps, of the victims that all other plugins agree on, those that
// free what a preemptor with cards lacks, and none for one that the quotas do not admit
// without them. It calls the other plugins itself: Volcano takes the victims of the first
// tier that names any, so an answer from a tier in which no other plugin has one would
// overrule them. Volcano asks about the tasks of one node at a time, from many goroutines.
//
// DIVERGES: upstream evicts pods for a task that the quotas refuse afterwards, if its job
// counts as ready for other pods, such as those without requests.
func (s *session) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if _, own := s.asking.Load(preemptor); own {
		return nil, util.Abstain
	}
	if s.books.Waits(preemptor) {
		return nil, util.Reject
	}
	c := s.claimOf(preemptor)
	if c.queue != index.None && !s.takesJobs(c.queue).OK() {
		return nil, util.Reject // allocatable refuses it afterwards
	}
	c.charge = fastres.NewVector(s.intake.Dims.Length())
	all := len(preemptees)
	if preemptees = s.preemptible(preemptees); len(preemptees) == 0 && all > 0 {
		return nil, util.Reject
	}
	if !c.hasCards {
		answer := s.admitsPreemption(&c, preemptees)
		if answer == util.Abstain && len(preemptees) < all {
			return s.victimsOfOthers(preemptor, preemptees), util.Permit // the others know nothing of who is spared
		}
		return nil, answer
	}
	useful := s.useful(&c, preemptees)
	if len(useful) == 0 {
		return nil, util.Reject
	}
	victims := s.victimsOfOthers(preemptor, useful)
	if !s.admitsWithout(&c, victims) || !s.leavesRoomWithout(&c, victims) {
		return nil, util.Reject
	}
	return victims, util.Permit
}

// admitsPreemption abstains where the quotas admit a claim without cards, once the victims of
// the other plugins are gone.
func (s *session) admitsPreemption(c *claim, preemptees []*api.TaskInfo) int {
	switch {
	case c.queue == index.None:
		return util.Abstain
	case !s.place(c, "") || !s.admitsWithout(c, preemptees):
		return util.Reject
	}
	admitted := s.admitsWithout(c, nil)
	if admitted && s.books.Empty() {
		return util.Abstain
	}
	victims := s.victimsOfOthers(c.task, preemptees)
	if (admitted || s.admitsWithout(c, victims)) && s.leavesRoomWithout(c, victims) {
		return util.Abstain
	}
	return util.Reject
}

// leavesRoomWithout reports whether the node of some victims has room for a claim beside what is
// earmarked there for others, once they are gone.
func (s *session) leavesRoomWithout(c *claim, victims []*api.TaskInfo) bool {
	if len(victims) == 0 {
		return true
	}
	node := s.ssn.Nodes[victims[0].NodeName]
	return node == nil || s.books.LeavesRoom(c.task, node, false, victims)
}

// victimsOfOthers returns the preemptees that all other plugins agree on.
func (s *session) victimsOfOthers(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) []*api.TaskInfo {
	question := *preemptor
	s.asking.Store(&question, true)
	defer s.asking.Delete(&question)
	return s.ssn.Preemptable(&question, preemptees)
}

// useful returns the preemptees that free what a claim with cards lacks on their node. Where
// the quotas have no room for a card of the node, they have that card. Volcano evicts until
// there is room for some card of a list, which other nodes may have.
func (s *session) useful(c *claim, preemptees []*api.TaskInfo) []*api.TaskInfo {
	request, node, usable := fastres.NewVector(c.charge.Len()), "", false
	useful := make([]*api.TaskInfo, 0, len(preemptees))
	var full []fastres.Dim
	for i, task := range preemptees {
		if i == 0 || task.NodeName != node {
			if node, usable = task.NodeName, s.place(c, task.NodeName); usable {
				full = s.fullCards(full[:0], c)
			}
		}
		q := s.queueOf(task)
		if q == index.None || !usable {
			continue
		}
		s.intake.SetCharge(request, q, task, node)
		if s.frees(c, q, task, request) && !slices.ContainsFunc(full, func(d fastres.Dim) bool { return request.Get(d) == 0 }) {
			useful = append(useful, task)
		}
	}
	return useful
}

// fullCards appends the cards on the claim's node of which the quotas have too few left.
func (s *session) fullCards(full []fastres.Dim, c *claim) []fastres.Dim {
	for d := range c.charge.Requested() {
		if s.memory.names.IsCard(d) && !s.fitsCard(&s.books.Future, c.queue, c.task, d, c.charge.Get(d)).OK() {
			full = append(full, d)
		}
	}
	return full
}

// admitsWithout reports whether the quotas admit a claim on the node where it was placed
// once some tasks are gone, beside what is reserved for others.
func (s *session) admitsWithout(c *claim, tasks []*api.TaskInfo) bool {
	without := s.books.Future.Queues
	if len(tasks) > 0 {
		without = &quota.Draft{Accounts: without}
		s.refundAll(without, tasks, func(q index.Queue, _ *api.TaskInfo) index.Queue { return q })
	}
	return quota.Allocatable(without, s.limit, c.queue, c.charge).OK() &&
		keepsGuarantees(s.books.Future.Guarantees, without, c.queue, c.charge).OK() && s.fitsBeside(without, c.queue, c.task, c.charge).OK() &&
		s.fitsClaimsWithout(c.queue, c.task, tasks) && s.fitsNamespaceWithout(c, tasks)
}
