package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// register registers the session's hooks with Volcano. Volcano calls Predicate,
// NodeOrder and the Simulate hooks from many goroutines, all others from the one
// that runs the session.
func (s *session) register(hierarchy bool) {
	ssn, name := s.ssn, s.variant.name
	ssn.AddQueueOrderFn(name, s.queueOrder)
	ssn.AddJobEnqueueableFn(name, s.jobEnqueueable)
	ssn.AddJobEnqueuedFn(name, s.jobEnqueued)
	ssn.AddAllocatableFn(name, s.allocatable)
	if s.variant.proportion {
		ssn.AddOverusedFn(name, s.overused)
	}

	ssn.AddReclaimableFn(name, s.reclaimable)
	release.AddPreemptiveFn(ssn, name, s.preemptive)
	if !s.variant.proportion {
		release.AddUnifiedEvictableFn(ssn, name, s.evictableForGang)
	}
	if hierarchy {
		ssn.AddVictimQueueOrderFn(name, s.victimQueueOrder)
	}

	ssn.AddPrePredicateFn(name, s.prePredicate)
	ssn.AddSimulateAddTaskFn(name, s.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(name, s.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(name, s.simulateAllocatable)

	if s.cards != nil || s.settings.byWork {
		ssn.AddPredicateFn(name, s.predicate)
	}
	if s.cards != nil {
		ssn.AddSimulatePredicateFn(name, s.simulatePredicate)
		ssn.AddNodeOrderFn(name, s.nodeOrder)
	}
	if !s.variant.proportion {
		ssn.AddPreemptableFn(name, s.preemptable)
	}
	if s.settings.beyondMinimum {
		ssn.AddJobStarvingFns(name, s.jobStarving)
		s.warnStarving()
	}
	if s.cards != nil {
		ssn.AddJobPipelinedFn(name, s.jobPipelined)
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: s.onAllocate, DeallocateFunc: s.onDeallocate})
}
