package plan

import "github.com/capacity-card/capacity-card/quota"

// None is the node of a pod that runs on no node of the problem.
const None = -1

// Problem is a claimant, the nodes, and the jobs that may lose pods. Quantities of nodes are in the units of package
// fastres.
type Problem struct {
	Pods     []Pod // of the claimant, in the order in which they are placed
	Nodes    []Node
	Jobs     []Job
	Accounts Accounts

	// Whole allows to take whole jobs. Without it, all jobs keep their minimum.
	Whole bool

	// Checks bounds the number of sets of victims that are tried after the greedy search. 0 stands for 256.
	Checks int
}

// Pod is a pod of the claimant.
type Pod struct {
	// Kind is equal for pods with equal requests that can run on the same nodes.
	Kind int

	Requests []float64 // by resource of the node
}

// Node is a node.
type Node struct {
	Name string

	// Free has the resources that are left once terminating pods are gone, without resources that are kept for others.
	// It may be negative.
	Free []float64
}

// Job is a job with pods that may be evicted.
type Job struct {
	Name string

	// Spare is the number of pods above the minimum. A job with a negative number is broken.
	Spare int

	// Roles is the number of pods above the minimum of each role that has a minimum.
	Roles map[string]int

	Class int         // is added to the class of each pod
	Pods  []Candidate // all pods that have a node
}

// Candidate is a pod of a job.
type Candidate struct {
	Name  string
	Role  string
	Node  int       // None for a node that the problem does not have
	Frees []float64 // by resource of the node

	// For marks the resources for which the pod may be evicted: a pod with cards is not evicted for cpu.
	For []bool

	Class int   // the lower class is evicted first
	Lost  int64 // the work that is lost with it, 0 or more
	Order int   // decides between equal candidates: the lower one is evicted first
	Fixed bool  // it is not evicted
}

// Accounts applies the rules of the queues and their policies to a plan. It keeps the accounts as if the pods of the
// plan were evicted and placed.
type Accounts interface {
	// Mark returns the present state, and Undo returns to it.
	Mark() int
	Undo(mark int)

	// Evict evicts pods of a job together. If they are spared, nothing changes.
	Evict(job int, pods []int) Spared

	// Place charges a pod of the claimant on a node. If a bound refuses it, nothing changes.
	Place(pod, node int) quota.Verdict

	// Explain decides as Place does, and keeps the comparison by which a bound refuses. It charges nothing.
	Explain(pod, node int) quota.Verdict

	// MayTake reports whether others may be evicted for a pod on a node: its queue deserves the request.
	MayTake(pod, node int) bool

	// Relieves reports whether the eviction of a pod of a job makes room under a bound that refuses a pod of the
	// claimant.
	Relieves(pod, node, job, victim int) bool

	// CanRun reports whether a node suits a pod, apart from resources. It does not depend on the plan.
	CanRun(pod, node int) bool

	// Preference orders the nodes of a pod that cost the same: the lower one is taken first.
	Preference(pod, node int) int

	// Charged returns a number for the charge of a pod on a node, None if the pod cannot be charged there. The bounds
	// decide equally for equal numbers.
	Charged(pod, node int) int

	// Settled decides about the whole plan: whether the queue deserves all resources that are taken for it.
	Settled() quota.Verdict
}

// Spared says why a candidate is not evicted.
type Spared int

// Why a candidate is not evicted.
const (
	Taken       Spared = iota // it is evicted
	ByMinimum                 // its job needs it
	ByDeserved                // its queue has no more than it deserves
	ByGuarantee               // a guarantee of its queue or of an ancestor protects it
	ByLending                 // another rule of lending, such as a soft quota, lets its queue keep it
	ByPolicy                  // a fence, a service class or a minimum run time
	ByBudget                  // a budget of evictions is used up
	ByOthers                  // another plugin of the scheduler, such as pdb or conformance
)

// Plan is the result of a search.
type Plan struct {
	Nodes   []int // by pod of the claimant; nil if not all of them have a node
	Victims []Victim
	Broken  int  // the jobs that fall below their minimum
	Best    bool // no other set of victims is better
	Failure *Failure
}

// Found reports whether all pods of the claimant have a node.
func (p *Plan) Found() bool { return p.Nodes != nil }

// Victim is a pod that is evicted.
type Victim struct{ Job, Pod int }

// Failure says why a claimant cannot start: the first pod without a node, and the node where this pod lacks least.
type Failure struct {
	Pod     int
	Node    int           // None if it can run on no node
	Lacks   []float64     // by resource of the node, after all evictions that are allowed
	Verdict quota.Verdict // of the bounds; Admitted if the node alone refuses
	Spared  map[Victim]Spared
}
