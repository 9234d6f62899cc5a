// Package policy reads the policy annotations of queues: text in, values out.
//
// # Words
//
//	key      a policy annotation, such as volcano.sh/max-jobs
//	value    what an annotation sets, or nothing
//	inherit  the value of a queue holds for all queues below it that set none themselves
//
// # Adding a policy
//
// A policy has a Key, a row in rules, and a method of Values that the rest of the module
// reads it with. Inheritance, last good values, events, and the checks of cardctl follow
// from the row.
//
// # What it is not
//
// It keeps nothing between calls and decides nothing. plugin/intake keeps the values of the
// queues, and knows which queue is below which.
package policy
