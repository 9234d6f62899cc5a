// Package reserve counts the cards of jobs: allocated, minimum, elastic, and the reservation of a
// job that is admitted.
//
// # Terms
//
//	minimum      the cards of the minMember smallest unfinished pods of a job;
//	             card.request states them while the job has no pods
//	elastic      max(0, allocated − minimum): the cards that the job can lose and still run
//	reservation  max(0, minimum − allocated − gated): the cards that an admitted job waits for
//	group        the pods of a job with one selector and one resource
//
// # Example
//
// A job has minMember 3 and four pods that each request 2 cards of A|B. One pod
// runs on a node with B. The minimum is 6 cards of A|B and allocated is 2 of them,
// so the reservation is 2 pods of 2 cards of A|B. It is in no account. Admission asks
// whether it can be assigned together with the minimum of the next job.
//
// # Searches
//
// An assignment of pods of several sizes takes a search. All searches of a session have one budget,
// which is counted in arcs (package quota/assign). A quarter of it is for the reservations of jobs that
// were admitted before. Reservations that can no longer be served are dropped. The queues with waiting
// jobs share the rest equally, so that the jobs of one queue cannot use up the budget of another.
//
// A question that was refused is not searched again before a refund. Equal jobs of a queue therefore
// cost as much as one.
//
// The package knows jobs and their tasks. Package cards reads nodes, pods and queues.
package reserve
