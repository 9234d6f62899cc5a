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
	// Whole: jobs may be taken as a whole. Without it, they keep their minimum.
	Whole bool
	// Checks bounds the sets of victims that are tried after the greedy search. 0 stands for 256.
	Checks int
}

// Pod is a pod of the claimant.
type Pod struct {
	// Kind is the same for pods that are alike: they request the same, and can run on the same nodes.
	Kind     int
	Requests []float64 // by resource of the node
}

// Node is a node.
type Node struct {
	Name string
	// Free is what the node has left once terminating pods are gone, less what is kept for others. It may be negative.
	Free []float64
}

// Job is a job with pods that may be evicted.
type Job struct {
	Name string
	// Spare is the number of pods above the minimum, and Roles the same for each role that has a minimum of its own.
	// Below 0, the job is broken.
	Spare int
	Roles map[string]int
	// Kept: the job is not taken as a whole.
	Kept  bool
	Class int         // is added to the class of each pod
	Pods  []Candidate // all pods that have a node
}

// Candidate is a pod of a job.
type Candidate struct {
	Name  string
	Role  string
	Node  int       // None for a node that the problem does not have
	Frees []float64 // by resource of the node
	// For has the resources for which the pod may be evicted: a pod with cards is not evicted for the sake of cpu.
	For   []bool
	Class int   // the lower class is evicted first
	Lost  int64 // the work that is lost with it, 0 or more
	Order int   // decides between equal candidates: the lower one is evicted first
	Fixed bool  // it is not evicted
}

// Accounts decides what the queues and their policies say of a plan. It keeps the accounts as if the pods of a plan
// were evicted and placed.
type Accounts interface {
	// Mark returns the present state, and Undo returns to it.
	Mark() int
	Undo(mark int)
	// Evict evicts pods of a job together. If they are spared, nothing changes.
	Evict(job int, pods []int) Spared
	// Place charges a pod of the claimant on a node. If a bound refuses it, nothing changes.
	Place(pod, node int) quota.Verdict
	// MayTake reports whether others may be evicted for a pod on a node: its queue deserves what it requests there.
	MayTake(pod, node int) bool
	// Relieves reports whether the eviction of a pod of a job makes room under a bound that refuses a pod of the
	// claimant.
	Relieves(pod, node, job, victim int) bool
	// CanRun reports whether a node suits a pod, apart from resources. It does not depend on the plan.
	CanRun(pod, node int) bool
	// Preference orders the nodes of a pod that cost the same: the lower one is taken first.
	Preference(pod, node int) int
	// Charged numbers what a pod is charged on a node. Where the number is the same, the bounds decide the same.
	Charged(pod, node int) int
	// Settled decides about the whole plan: whether the queue deserves all that was taken for it.
	Settled() quota.Verdict
}

// Spared says why a candidate is not evicted.
type Spared int

// Why a candidate is not evicted.
const (
	Taken       Spared = iota // it is evicted
	ByMinimum                 // its job needs it
	ByDeserved                // its queue has no more than it deserves
	ByGuarantee               // its queue, or one above, is guaranteed it
	ByPolicy                  // a fence, a service class or a minimum run time
	ByBudget                  // a budget of evictions is used up
	ByOthers                  // another plugin of the scheduler, such as pdb or conformance
)

// Plan is the result of a search.
type Plan struct {
	Nodes   []int // of each pod of the claimant, nil if there is none for all of them
	Victims []Victim
	Broken  int  // the jobs that fall below their minimum
	Best    bool // no other set of victims is better
	Failure *Failure
}

// Found reports whether all pods of the claimant have a node.
func (p *Plan) Found() bool { return p.Nodes != nil }

// Victim is a pod that is evicted.
type Victim struct{ Job, Pod int }

// Failure says what keeps a claimant from starting: the first pod that gets no node, and the node where it lacks least.
type Failure struct {
	Pod     int
	Node    int           // None if it can run on no node
	Lacks   []float64     // by resource of the node, after all evictions that are allowed
	Verdict quota.Verdict // of the bounds; Admitted where the node alone refuses
	Spared  map[Victim]Spared
}
