// Package session is the plugin in one session of Volcano: it opens, answers hooks, and closes.
//
//	open.go        package intake reads queues and jobs into package index
//	features.go    the constraints that are on (packages below plugin/constraint)
//	hooks.go       the hooks that Volcano calls
//	allocation.go  Allocatable, Predicate and NodeOrder
//	events.go      Allocate and Deallocate: charges and refunds
//	simulate.go    PrePredicate and the Simulate hooks: what-if simulations on a snapshot
//	order.go       QueueOrder, JobOrder, VictimQueueOrder, Overused
//
// action.go has the actions reclaim and preempt, which carry out plans of package reclaim. That package also has
// Preemptive, Reclaimable, UnifiedEvictable, Preemptable and JobStarving, and package admit JobEnqueueable and
// JobEnqueued.
//
// A hook reads the requests of a task or job, applies a rule of package quota to the accounts, and returns the verdict.
// Package report explains a refusal. Package inspect shows a session to programs.
//
// Volcano builds a new plugin for each session. The state across sessions is in a Memory, which a builder lends to one
// session at a time.
package session
