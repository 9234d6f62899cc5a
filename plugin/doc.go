// Package plugin registers the quota engine with the Volcano scheduler.
//
// One engine serves three names, each a drop-in for the plugin of that name:
//
//	capacity       upstream's capacity, flat and hierarchical
//	proportion     upstream's proportion
//	capacity-card  cpu, memory, and quotas per card model (package index/card)
//
// The main function of a scheduler calls Register before the scheduler starts.
// The rest of the scheduler's configuration stays as it is.
//
// Under the name capacity, cards count in queues with a card annotation and below
// them; without any, nothing about cards is computed. Under the name capacity-card
// they count in all queues. A leaf without a quota of a card has none of it, except
// under the name capacity where only the root has an annotation.
//
// # Arguments
//
// Volcano's own option enableHierarchy of a plugin makes quotas a tree. The
// arguments of the engine are:
//
//	cardUnlimitedCpuMemory  bool, false        exempts pods with cards from cpu and memory quotas
//	deservedFrom            spec | weight      source of deserved: the queue's spec, or its
//	                                           weight among its siblings; spec
//	hierarchyFrom           parent | annotation
//	                                           source of the tree: spec.parent, or the annotation
//	                                           volcano.sh/hierarchy with its weights; parent
//	nodeOrderWeight         number > 0, 1      weight of the preference in a card list A|B
//	reclaimDamping          int ≥ 0, 0         number of ancestors of a victim that reclaim
//	                                           considers; above 0 reclaim is damped
//	rootCapability          total | unlimited  bound of the root; total
//	unsetCapability         zero | unlimited   bound of a leaf that sets no cpu or memory
//	                                           capability; zero for capacity-card, unlimited
//	                                           (in a tree, the parent's) for the others
//	untypedCards            charge | reject | ignore
//	                                           treatment of pods that request cards and name
//	                                           none; charge
//
// deservedFrom, hierarchyFrom and reclaimDamping have no effect under the
// name proportion, and hierarchyFrom has none where quotas are flat. An unknown
// argument, or one with a wrong value, is logged once, and the default is used.
//
// # A session
//
//	openSession    package intake reads queues and jobs into package index
//	admission.go   JobEnqueueable, JobEnqueued, Allocatable
//	placement.go   Predicate and NodeOrder, for cards
//	events.go      Allocate and Deallocate: charges and refunds
//	queue_gates.go reservations of pods whose queue allocation gate is removed
//	eviction.go    Preemptive, Reclaimable, Preemptable
//	simulate.go    what-if simulations of preemption
//	queues.go      QueueOrder, VictimQueueOrder, Overused
//
// A hook reads what a task or job requests, applies a rule of package quota to the
// accounts, and returns the verdict; package report explains a refusal.
//
// Volcano builds a new plugin for each session. What is kept across sessions is in
// memory, which a builder lends to one session at a time.
package plugin
