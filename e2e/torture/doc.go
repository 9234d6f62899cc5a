// Package torture runs Volcano with our scheduler on a real control plane. Tenants and admins act at random, and faults
// are injected. The package records the objects that the API server stores. A checker then proves that the promises
// held at every revision.
//
// A run is a sequence of rounds. The seed of a round draws the cluster, the configuration, the actions of tenants and
// admins, and the faults. A round ends with a cluster at rest. The draws repeat with the seed, but the order in which
// processes act does not. Therefore a finding comes with its seed and its history. The history repeats it exactly
// (Run).
//
// Two schedulers run as separate processes with leader election, each behind its own proxy. They restart when they end,
// as in a Deployment.
//
// All code is test code. The rounds are in package torture_test. Recorder and checker are in package torture.
//
// # Histories
//
// A history has every change of some kinds of objects, with its revision of etcd. A Recorder follows one watch for each
// kind. It resumes a watch where it ended, so a broken connection loses no change. If the API server has discarded
// changes meanwhile, the history has a Gap, and the state after it.
//
// A history is a file of JSON lines, compressed. Each watch is in order of revision, and the watches are written as
// they arrive; Read sorts them. All kinds share the revisions of one etcd, so a history is one sequence of states of
// the cluster.
//
// A history also has marks. They are actions of a test that no object shows, such as a killed process.
//
// # The checker
//
// The checker replays a history, and names the revisions that break a promise of capacity-card. It is written from the
// documentation, like the oracle. It shares no code with the engine except the parsing of names and annotations
// (index/card).
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
package torture
