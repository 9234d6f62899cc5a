// Package index holds the queues of a session in dense form. Names become positions, the
// tree becomes flat slices, and each account becomes one vector for each queue.
//
// # Words
//
//	queue     a number, parents before children, valid for one session
//	top       a queue without a parent
//	root      the top of the tree; there is none in flat mode
//	path      a queue and its ancestors, from the queue up
//	broken    of a queue: it does not reach the root, because a parent does not exist or
//	          the parents form a cycle
//	account   one vector for each queue: capability, realCapability, deserved, guarantee,
//	          allocated, request, inqueue, elastic
//	version   a state of allocated; rows of earlier versions are kept for snapshots
//	snapshot  allocated at one moment
//	overlay   a snapshot with private changes
//
// # Units
//
// Vectors have the units of package fastres.
//
// # Invariants
//
//   - A parent's number is smaller than its children's. So a forward loop visits parents
//     first, and a backward loop visits children first.
//   - A name keeps its dimension for the life of its Names. All vectors of a session have
//     the same length.
//   - allocated of a parent = Σ allocated of its children + charges of the parent itself
//   - A snapshot never shows a later change, and an overlay never changes the index.
//
// Builds with the tag "invariants" check them when Index.Check is called.
//
// # What it is not
//
// It decides nothing: the rules are in package quota. An index is for one goroutine. Only
// overlays may be cloned and read concurrently.
package index
