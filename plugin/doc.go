// Package plugin is the quota engine as plugins of the Volcano scheduler: it
// reads a session into package index, answers Volcano's questions with the rules
// of package quota, and turns the answers into words, events and metrics. It is
// the only package that knows Volcano.
//
// One engine serves three names, each a drop-in for the plugin of that name:
//
//	capacity       upstream's capacity, flat and hierarchical
//	proportion     upstream's proportion
//	capacity-card  quotas per card model; until cards are built, cpu and memory
//
// A scheduler main calls Register before it starts; the rest of the scheduler's
// configuration stays as it is.
//
// # Arguments
//
//	rootCapability   total | unlimited  what the root is bound to; total
//	unsetCapability  zero | unlimited   what a cpu or memory bound that a leaf does
//	                                    not set means; zero for capacity-card,
//	                                    unlimited (the parent's, in a tree) for the others
//
// Volcano's own option enableHierarchy of a plugin makes quotas a tree. An unknown argument, or
// one with a wrong value, is reported once and the default is used.
//
// # What lives across sessions
//
// Volcano builds a plugin anew in each session. What is worth keeping (memory
// of the accounts, dimensions of names, gauges, what was already said) is in
// memory, which a builder lends to one session at a time.
package plugin
