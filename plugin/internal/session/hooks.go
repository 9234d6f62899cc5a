package session

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// register registers the session's hooks with Volcano. Volcano calls Predicate,
// NodeOrder and the Simulate hooks from many goroutines, all others from the one
// that runs the session.
func (s *session) register(hierarchy bool) {
	ssn, name := s.Volcano, s.variant.Name
	ssn.AddQueueOrderFn(name, s.queueOrder)
	if s.OrdersJobs() {
		ssn.AddJobOrderFn(name, s.jobOrder)
		if problem := s.jobOrderProblem(); problem != "" {
			s.warnOnce(problem)
		}
	}
	ssn.AddJobEnqueueableFn(name, s.admit.JobEnqueueable)
	ssn.AddJobEnqueuedFn(name, s.admit.JobEnqueued)
	ssn.AddAllocatableFn(name, s.allocatable)
	if s.variant.Proportion {
		ssn.AddOverusedFn(name, s.overused)
	}

	ssn.AddReclaimableFn(name, s.reclaim.Reclaimable)
	release.AddPreemptiveFn(ssn, name, s.preemptive)
	if !s.variant.Proportion {
		release.AddUnifiedEvictableFn(ssn, name, s.reclaim.EvictableForGang)
	}
	if hierarchy || s.OrdersVictims() {
		ssn.AddVictimQueueOrderFn(name, s.victimQueueOrder)
	}

	ssn.AddPrePredicateFn(name, s.prePredicate)
	ssn.AddSimulateAddTaskFn(name, s.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(name, s.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(name, s.simulateAllocatable)

	if s.Cards != nil {
		ssn.AddPredicateFn(name, s.predicate)
		ssn.AddSimulatePredicateFn(name, s.simulatePredicate)
		ssn.AddNodeOrderFn(name, s.nodeOrder)
	}
	if !s.variant.Proportion {
		ssn.AddPreemptableFn(name, s.reclaim.Preemptable)
	}
	if s.settings.BeyondMinimum {
		ssn.AddJobStarvingFns(name, s.reclaim.JobStarving)
		if problem := s.reclaim.StarvingProblem(); problem != "" {
			s.warnOnce(problem)
		}
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: s.onAllocate, DeallocateFunc: s.onDeallocate})
}

// preemptive reports whether a queue may reclaim for tasks.
func (s *session) preemptive(queue *api.QueueInfo, tasks []*api.TaskInfo) bool {
	q := s.number(queue)
	s.PrepareQueue(q)
	return s.reclaim.Preemptive(q, tasks)
}
