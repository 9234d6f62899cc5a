// Package plan chooses the pods to evict so that a job can start.
//
// A plan gives each pod of the claimant a node, and names the victims: the pods to evict. The claimant is the set of
// pods that a job lacks to its minimum, or one pod beyond the minimum. It is placed as a whole or not at all.
//
// # What is taken first
//
//  1. Idle resources. They cost nothing.
//  2. Pods that their jobs have above the minimum.
//  3. Whole jobs, if the problem allows it: all pods of the job, on all nodes.
//
// # Which plan is better
//
// Plans are compared by the first of these that differs:
//
//  1. the number of jobs that fall below their minimum
//  2. from the highest class of victims down: the work that is lost in the class, then the number of its victims
//  3. the number of all victims
//
// The class of a victim is its protection: a higher priority has a higher class. A job below its minimum does no work.
// If whole jobs may be taken, such a job loses single pods, and no work is lost with them.
//
// # Example
//
// A gang needs two nodes with 8 cards each. Node n1 is idle, job b runs three pods of 8 cards on n2, n3 and n4, and its
// minimum is 1. All pods have the same class.
//
//	gang-0  n1  idle
//	gang-1  n2  b-0 is evicted: b has two pods more than its minimum
//
// If the minimum of b is 3, b is taken as a whole or not at all: gang-1 gets n2, and b loses three pods.
//
// # Every victim is needed
//
// A victim is evicted for a resource that it may be evicted for (Candidate.For), or for room under a bound. If any
// victim stays (a whole job counts as one), the pods do not fit, or another victim would be evicted for a resource that
// it may not be evicted for. A plan without victims means that the pods fit on idle resources: they wait for the action
// allocate.
//
// # How long the search takes
//
// The search has three steps:
//
//  1. greedy: each pod in turn gets the node where the cheapest victims make room
//  2. reduction: victims that are not needed stay
//  3. enumeration: other sets of victims are tried, the cheapest first
//
// Problem.Checks bounds the number of sets that are tried. Plan.Best reports that no other set is better. With few
// candidates, the plan is always the best.
//
// The package knows no session of the scheduler. It asks about queues, guarantees, limits, budgets and policies through
// Accounts.
//
// Upstream: none. Volcano's actions reclaim and preempt place one pod at a time, on the first node where victims make
// room.
package plan
