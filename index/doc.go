// Package index holds a session's queues as numbers: names become dense
// positions once, the tree becomes flat slices, and the accounts of every queue
// become rows of vectors.
//
// # Words
//
//	queue     a number, parents before children, valid for one session
//	path      a queue, its parent, and so on up to the top of its tree
//	root      the queue that all others hang from; absent when quotas are flat
//	broken    a queue that does not reach the root: unknown parent, or a cycle
//	account   one vector per queue: allocated, request, inqueue, elastic,
//	          guarantee, capability, realCapability, deserved
//	snapshot  the allocated accounts as they were at one moment
//	overlay   a snapshot plus private changes
//
// # Invariants
//
//   - A parent's number is smaller than its children's, so one forward loop goes
//     down the tree and one backward loop goes up.
//   - Names keep their dimension for as long as the Names live, and all vectors
//     of one session have one length.
//   - allocated of a parent = Σ allocated of its children + what was charged to
//     the parent itself.
//   - A snapshot never sees a later change, and no overlay changes the index.
//
// Build with the tag "invariants" to have them checked after every change.
//
// # What it is not
//
// It decides nothing: the rules are in package quota. It is for one goroutine;
// only overlays may be cloned and read from many at once.
package index
