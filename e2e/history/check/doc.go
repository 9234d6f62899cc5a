// Package check replays a history of a cluster and says at which revision a promise of capacity-card was broken. It is
// written from the documentation, as the oracle is, and shares no code with the engine but the parsing of names and
// annotations (index/card).
//
// # When a pod counts
//
// A pod counts against the quotas of its queue, of the queues above, of its namespace and of the groups of its card
// from the revision at which spec.nodeName is set, until it is deleted or in the phase Succeeded or Failed. A pod that
// is being deleted counts (terminatingCards: hold). It counts for the card that its node had for the resource that it
// requests when it was bound, whatever becomes of the node.
//
// # What the scheduler can know
//
// A scheduler decides on what it has seen, and the history has what is stored. Pods are bound by the scheduler alone,
// so it knows of all of them. But it learns of edits of queues and nodes a moment later. So each decision is held
// against the values that were in force at some time in the window behind it: Lag, and the time of the faults in it.
// Within that window the value counts that admits most. What is excused by this is counted by name in Report.Excused.
//
// # Rules
//
// The constants of type Rule are the rules. Those of placement and eviction hold at every revision, and those of rest
// at a mark Quiet, which a test sets when nothing has changed for some cycles.
package check
