// Package plugin is the quota engine as plugins of the Volcano scheduler: it
// reads a session into package index, answers Volcano's questions with the rules
// of package quota, and turns the answers into words, events and metrics. It is
// the only package that knows Volcano.
//
// One engine serves three names, each a drop-in for the plugin of that name:
//
//	capacity       upstream's capacity, flat and hierarchical
//	proportion     upstream's proportion
//	capacity-card  cpu, memory, and quotas per card model (package index/card)
//
// A scheduler main calls Register before it starts; the rest of the scheduler's
// configuration stays as it is.
//
// Under the name capacity cards count in queues that have a card annotation, or
// an ancestor with one; without any, nothing about cards is computed. Under
// capacity-card they count everywhere, and a leaf has none but those it has a
// quota for.
//
// # Arguments
//
//	ancestorReclaimLevel    int ≥ 0, 0         how many ancestors of a victim reclaim asks as it
//	                                           asks its queue; above 0 it is damped as well
//	cardUnlimitedCpuMemory  bool, false        card pods are free of cpu and memory
//	deservedFrom            spec | weight      what queues deserve: what they say, or a part by
//	                                           weight of what their parent does; spec
//	hierarchyFrom           parent | annotation
//	                                           where the tree comes from: the queues' parent, or
//	                                           volcano.sh/hierarchy and its weights; parent
//	nodeOrderWeight         number > 0, 1      weight of the preference in A|B
//	rootCapability          total | unlimited  what the root is bound to; total
//	unsetCapability         zero | unlimited   what a cpu or memory bound that a leaf does
//	                                           not set means; zero for capacity-card,
//	                                           unlimited (the parent's, in a tree) for the others
//	untypedCards            charge | reject | ignore
//	                                           what becomes of pods that ask for cards
//	                                           without naming any; charge
//
// deservedFrom, hierarchyFrom and ancestorReclaimLevel mean nothing under the name
// proportion, and hierarchyFrom means nothing where quotas are flat.
//
// Volcano's own option enableHierarchy of a plugin makes quotas a tree. An unknown argument, or
// one with a wrong value, is reported once and the default is used.
//
// # Cards
//
// A card is a dimension of the vectors like any other, charged when a task has a
// node and refunded when it leaves it. Until then a task wants a part of a choice:
// the cards that its pod lists, or all cards of the resource it asks for.
//
//	choice   cards of which a task takes one
//	part     what a task wants of one choice; nearly every task has at most one
//	promise  what an enqueued job waits for and several cards can serve
//
// The files cards*.go hold what is only about them.
//
// # What lives across sessions
//
// Volcano builds a plugin anew in each session. What is worth keeping (memory
// of the accounts, dimensions of names, gauges, what was already said) is in
// memory, which a builder lends to one session at a time.
package plugin
