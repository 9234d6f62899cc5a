// Package intake reads a Volcano session into the index: the queue tree, the
// bounds of queues, and the resources that their jobs use, request and have reserved.
//
// # Terms
//
//	dimension   the position of a resource or card in each vector of a session
//	bounds      capability, realCapability, deserved and guarantee of all queues;
//	            they are derived from configuration and kept while it stays the same
//	tally       the accounts of a part of the jobs, counted by one goroutine
//
// # Order of work
//
//	Tree           queues by parent or by annotation        index.Tree
//	Read           until the vectors have a dimension for every name:
//	               bounds of queues, then tallies of jobs   index.Index
//	Pending        the pending requests of each queue, for damped reclaim
//
// A State lives as long as the scheduler. It is a cache: a session gives the same
// answers with a new State. It serves one session at a time.
package intake
