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
// A policy has a Key, a row in annotations, a place in inherited if queues below inherit it, and a method of Values.
// The last valid values, events, and the checks of cardctl follow from the row. Value.lifts names values that switch a
// policy off.
//
// # What it is not
//
// It keeps nothing between calls and decides nothing. plugin/intake keeps the values of the
// queues, and knows which queue is below which.
package policy
