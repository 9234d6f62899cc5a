// Package reserve holds the cards of jobs: what a job has, its minimum, what it
// can give back, and what is reserved for it once it is admitted.
//
// # Terms
//
//	minimum      the cards of the minMember smallest unfinished pods of a job, or
//	             what card.request states while the job has no pods
//	elastic      max(0, allocated − minimum): what the job can lose and still run
//	reservation  max(0, minimum − allocated − gated): what an admitted job waits for
//	group        the pods of a job with one selector and one resource
//
// # Example
//
// A job has minMember 3 and four pods that each request 2 cards of A|B. One pod
// runs on a node with B. The minimum is 6 cards of A|B and allocated is 2 of them,
// so the reservation is 2 pods of 2 cards of A|B. It is in no account: admission
// asks whether it can be assigned together with the minimum of the next job.
//
// # Searches
//
// An assignment of pods of several sizes takes a search, and all searches of a session
// have one budget, which is counted in arcs (package quota/assign). A quarter of it is
// for the reservations of jobs that were admitted before: those that can no longer be
// served are dropped. The queues with waiting jobs share the rest equally, so that
// the jobs of one queue cannot use up what those of another one need. A question that
// was refused is not searched again before a refund, so equal jobs of a queue cost
// as much as one.
//
// It knows jobs and their tasks; nodes, pods and queues are read by package cards.
package reserve
