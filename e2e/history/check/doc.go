// Package check replays a history of a cluster, and names the revisions that break a promise of capacity-card. It is
// written from the documentation, like the oracle. It shares no code with the engine except the parsing of names and
// annotations (index/card).
//
// # When a pod counts
//
// A pod counts against the quotas of its queue, the ancestors of the queue, its namespace, and the groups of its card.
// It counts from the revision that sets spec.nodeName, until it is deleted or in the phase Succeeded or Failed. A pod
// under deletion counts (terminatingCards: hold). It counts for the card that its node had for the requested resource
// when the pod was bound. Later changes of the node do not matter.
//
// # The window
//
// A scheduler decides on the state that it has seen. The history has the stored state. The scheduler alone binds pods,
// so it knows all of them. But it learns of edits of queues and nodes a moment later. Therefore each decision is
// compared with the values that were in force at some time in a window before it. The window is Lag long, and longer if
// there are faults in it. The value that admits most counts. Report.Excused counts these excuses by name.
//
// # Rules
//
// The constants of type Rule are the rules. The rules of placement and eviction hold at every revision. The rules of
// rest hold at a mark Quiet. A test sets it when nothing has changed for some cycles.
package check
