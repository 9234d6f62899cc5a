package reclaim

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Reclaimable returns the tasks among reclaimees that reclaimer may evict. A task is no victim if its queue does not
// exist or does not reach the root. Volcano asks about the tasks of one node at a time.
func (s *Rules) Reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if s.inquiries.has(reclaimer) {
		return reclaimees, util.Permit
	}
	if s.Books.Waits(reclaimer) {
		return nil, util.Permit
	}

	frame := s.Frames.Open()
	defer frame.Close()
	e := &s.reclaimer
	*e = s.evictorOf(reclaimer, frame.Vector(), frame.Vector())
	if !s.MayTake(e.Queue, reclaimer).OK() {
		return nil, util.Permit
	}
	if s.rules.ordered && e.Queue == index.None {
		return nil, util.Reject
	}

	if s.rules.ordered {
		reclaimees = s.evictionOrder(reclaimer, reclaimees)
	}
	victims := s.victimsAmong(e, reclaimees)
	s.evictions.name(victims)

	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s may evict %d of %d tasks: %v",
			s.Plugin, reclaimer.Namespace, reclaimer.Name, len(victims), len(reclaimees), victims)
	}
	return victims, util.Permit
}

// evictionOrder returns tasks in the order in which Volcano evicts them for a task. Volcano's own
// queue decides, with the comparisons of all plugins; it takes 1.5 allocations per task.
func (s *Rules) evictionOrder(reclaimer *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	queue := s.Volcano.BuildVictimsPriorityQueue(tasks, reclaimer)
	ordered := make([]*api.TaskInfo, 0, len(tasks))
	for !queue.Empty() {
		ordered = append(ordered, queue.Pop().(*api.TaskInfo))
	}
	return ordered
}

// victimsAmong returns the tasks that an evictor may evict, one after the other, node by node.
func (s *Rules) victimsAmong(e *evictor, tasks []*api.TaskInfo) (victims []*api.TaskInfo) {
	s.beginVictims()
	if !e.hasCards {
		return s.appendVictims(nil, "", e, tasks, len(tasks))
	}

	for rest := tasks; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].NodeName == rest[0].NodeName {
			n++
		}
		victims = s.appendVictims(victims, rest[0].NodeName, e, rest[:n], len(tasks))
		rest = rest[n:]
	}
	return victims
}

// appendVictims appends the tasks among reclaimees that an evictor may evict. It appends none unless all of
// them together let the evictor in at every level. node is where the evictor gets its cards. most is the
// number of all tasks that it is asked about.
func (s *Rules) appendVictims(victims []*api.TaskInfo, node string, e *evictor, reclaimees []*api.TaskInfo,
	most int) []*api.TaskInfo {
	if !s.place(e, node) {
		return victims
	}
	s.setRequest(e)

	frame := s.Frames.Open()
	defer frame.Close()
	charge := frame.Vector()

	before := len(victims)
	job, q := api.JobID(""), index.None
	for _, task := range reclaimees {
		if task.Job != job { // tasks of one job often follow one another (BenchmarkReclaimable)
			job = task.Job
			q = s.QueueOf(task)
		}

		if !s.evict(e, q, task, charge) {
			continue
		}
		if victims == nil {
			victims = make([]*api.TaskInfo, 0, most)
		}
		victims = append(victims, task)
	}

	if s.rules.proportion || e.Queue == index.None || s.fitsWithoutVictims(e) {
		return victims
	}
	return victims[:before]
}

// evict decides about one victim of q on the node where the evictor is placed. It counts the victim as gone on all its
// accounts. charge is memory for the charge of the victim.
func (s *Rules) evict(e *evictor, q index.Queue, task *api.TaskInfo, charge fastres.Vector) bool {
	if q == index.None || s.Index.Broken(q) != nil {
		return false
	}

	protection := s.Protection(e.Reclaimer, q, task)
	if protection == quota.Spared {
		return false
	}

	if e.hasCards {
		pod := s.Cards.Read(task) // once: pods of queues without cards are not in the table of pods yet
		s.Intake.SetChargeOn(charge, q, task, pod, e.cards)
		if !s.frees(e, q, task, pod, charge) || s.HasLoans() && !s.takesLoan(e, q, charge) {
			return false
		}
	} else {
		s.Intake.SetCharge(charge, q, task, task.NodeName)
	}

	if protection == quota.ByDeserved && s.keeps(q, charge) {
		return false
	}

	if !s.AllowsVictim(q, e.Queue) || !s.take(q, charge, e.Queue, e.request, e.charge, protection) {
		return false
	}

	s.CountVictim(q, e.Queue, 1)
	s.leave(q, task, charge)
	return true
}

// keeps reports whether q has no more than it deserves of some card in a charge, nor of a group of the card.
func (s *Rules) keeps(q index.Queue, charge fastres.Vector) bool {
	if !s.Cards.Counted(q) {
		return false
	}

	for d := range charge.Requested() {
		if s.isModel(d) && s.memory.victims.KeepsCard(q, d) && s.keepsGroups(q, d) {
			return true
		}
	}
	return false
}

func (s *Rules) keepsGroups(q index.Queue, d fastres.Dim) bool {
	return !slices.ContainsFunc(s.Names.Groups(d), func(share index.Share) bool {
		return s.Index.Deserved.Row(q).Has(share.Group) && !s.memory.victims.KeepsCard(q, share.Group)
	})
}
