package session

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// register registers the session's hooks with Volcano. Volcano calls Predicate, NodeOrder and the Simulate hooks from
// many goroutines, and all others from the goroutine that runs the session.
func (s *Session) register(hierarchy bool) {
	ssn := s.Volcano
	name := s.Variant.Name

	ssn.AddQueueOrderFn(name, s.queueOrder)
	if s.OrdersJobs() {
		ssn.AddJobOrderFn(name, s.jobOrder)
		if problem := s.jobOrderProblem(); problem != "" {
			s.warnOnce(problem)
		}
	}

	ssn.AddJobEnqueueableFn(name, s.Admit.JobEnqueueable)
	ssn.AddJobEnqueuedFn(name, s.Admit.JobEnqueued)
	ssn.AddAllocatableFn(name, s.AllocatableOf)
	if s.Variant.Proportion {
		ssn.AddOverusedFn(name, s.overused)
	}

	ssn.AddReclaimableFn(name, s.Reclaim.Reclaimable)
	release.AddPreemptiveFn(ssn, name, s.Preemptive)
	if !s.Variant.Proportion {
		release.AddUnifiedEvictableFn(ssn, name, s.Reclaim.EvictableForGang)
	}
	if hierarchy || s.OrdersVictims() {
		ssn.AddVictimQueueOrderFn(name, s.victimQueueOrder)
	}

	ssn.AddPrePredicateFn(name, s.PrePredicate)
	ssn.AddSimulateAddTaskFn(name, s.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(name, s.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(name, s.simulateAllocatable)

	if s.Cards != nil {
		ssn.AddPredicateFn(name, s.Predicate)
		ssn.AddSimulatePredicateFn(name, s.simulatePredicate)
		ssn.AddNodeOrderFn(name, s.nodeOrder)
	}
	if !s.Variant.Proportion {
		ssn.AddPreemptableFn(name, s.Reclaim.Preemptable)
	}

	if s.Settings.BeyondMinimum {
		ssn.AddJobStarvingFns(name, s.Reclaim.JobStarving)
		if problem := s.Reclaim.StarvingProblem(); problem != "" {
			s.warnOnce(problem)
		}
	}

	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: s.OnAllocate, DeallocateFunc: s.onDeallocate})
}

// Preemptive reports whether a queue may reclaim for tasks.
func (s *Session) Preemptive(queue *api.QueueInfo, tasks []*api.TaskInfo) bool {
	q := s.number(queue)
	s.PrepareQueue(q)
	return s.Reclaim.Preemptive(q, tasks)
}
