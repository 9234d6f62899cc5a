// Package explain finds the reason why a job waits, and the jobs that can reclaim a running one. Every answer comes
// from a hook of an open session, and the numbers come from the quota plugin.
package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// State is whether a job waits or runs.
type State string

// The states of jobs.
const (
	Waiting   State = "Waiting"   // the job, or one of its pods, is refused
	Startable State = "Startable" // nothing refuses it: the next cycle places its pods
	Running   State = "Running"   // no pod waits
	Finished  State = "Finished"
)

// Stage is the step of a cycle that refuses a job.
type Stage string

// The stages, in the order of a cycle.
const (
	Enqueue  Stage = "enqueue"  // the job is not admitted
	Gang     Stage = "gang"     // the job has fewer pods than it needs to start
	Allocate Stage = "allocate" // the queue has no room
	Node     Stage = "node"     // the queue has room, but no node fits
)

// Rules that package report does not have.
const (
	NotEnoughPods report.Rule = "NotEnoughPods" // fewer than minAvailable, or none yet
	Gated         report.Rule = "Gated"         // all pods that wait have scheduling gates
	Overused      report.Rule = "Overused"      // proportion: the queue has its deserved share
	OtherPlugin   report.Rule = "OtherPlugin"   // the quota plugin permits it, another plugin refuses it
	NodesTooSmall report.Rule = "NodesTooSmall" // a pod requests more than any node with such cards has
	NodesFull     report.Rule = "NodesFull"     // nodes with such cards have no room
	NodesUnfit    report.Rule = "NodesUnfit"    // selectors, affinities, taints
)

// Finding is the explanation of one job.
type Finding struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`  // of the PodGroup
	Owner     string `json:"owner"` // kind/name of the object that users create
	Queue     string `json:"queue"`
	Phase     string `json:"phase"`
	State     State  `json:"state"`
	Ended     string `json:"ended,omitempty"` // the phase in which the job ended, such as Completed or Failed
	Pods      Pods   `json:"pods"`
	// Cards are the cards that the pods of a waiting job name, sorted.
	Cards card.List `json:"cards,omitempty"`

	Stage Stage       `json:"stage,omitempty"`
	Rule  report.Rule `json:"rule,omitempty"`
	// Level is the queue that refuses the job by a bound or by its state: the queue of the job, or an ancestor.
	Level   string         `json:"level,omitempty"`
	Pod     string         `json:"pod,omitempty"` // the first one that is refused
	Message string         `json:"message,omitempty"`
	Reason  *report.Reason `json:"reason,omitempty"` // as the quota plugin gives it
	// Bounds are all bounds that refuse the pods the job lacks to start, taken together. They include the shortages
	// of Reason and the bounds of the queues above.
	Bounds  []report.Shortage `json:"bounds,omitempty"`
	Nodes   []Nodes           `json:"nodes,omitempty"`
	Advice  []string          `json:"advice,omitempty"`
	Holders []Holders         `json:"holders,omitempty"` // of the missing resources
	// Since is the creation time of the job. Place is its place among the waiting jobs of its queue, in the order in
	// which the scheduler tries them. The first job has place 1.
	Since *metav1.Time `json:"since,omitempty"`
	Place int          `json:"place,omitempty"`
	// Behind are the cards for which sibling queues go first because of their usage over time. They are siblings of
	// the queue of the job or of an ancestor.
	Behind []Behind `json:"behind,omitempty"`
	// Verdict is when a waiting job can run. It is nil where it was not tried.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Evicts are the pods that the next cycles evict for the job, or that have notice for it. Claim is why nothing is
	// evicted for it, and Untaken the sentence about that.
	Evicts  []Evictions `json:"evicts,omitempty"`
	Claim   *Claim      `json:"claim,omitempty"`
	Untaken string      `json:"untaken,omitempty"`
	// Remedy is the smallest change with which the job starts. It was tried on a copy of the cluster.
	Remedy string `json:"remedy,omitempty"`
	// Lacks are the resources for which the queue of the job has less than it deserves while other queues borrow.
	Lacks []Part `json:"lacks,omitempty"`
	// Borrowers are the queues that have more of these resources than they deserve.
	Borrowers []Part `json:"borrowers,omitempty"`
	// Changes are the values that windows set in the queues of its path, now and next.
	Changes []Change `json:"changes,omitempty"`
	// Unlabeled counts the nodes that have the resource and lack the label that names the card.
	Unlabeled int `json:"unlabeled,omitempty"`
	// Unused are the guarantees that other queues do not use, where guarantees keep the job waiting.
	Unused []Unused `json:"unused,omitempty"`
	// Leaves are some leaf queues below its queue, if its queue is an inner queue and takes no jobs.
	Leaves []string `json:"leaves,omitempty"`
	// TimedOut reports that the job was Inqueue for too long: nothing is reserved for it any more.
	TimedOut bool `json:"timedOut,omitempty"`

	// Broken says that the job has lost pods of its minimum, "" for other jobs.
	Broken string `json:"broken,omitempty"`

	// The fields of a running job. Reclaimers are the jobs that its pods are evicted for, with these pods.
	Reclaimers []Evictions `json:"reclaimers,omitempty"`
	// Wanted are the waiting jobs that lack cards of the job and do not get them.
	Wanted []Wanted `json:"wanted,omitempty"`
	Safety string   `json:"safety,omitempty"` // the pods that the next cycles evict, in words
	// Unsaved says how much work is lost if its pods are evicted, where checkpoints tell.
	Unsaved string `json:"unsaved,omitempty"`
	// Notice says how many of its pods have notice, and when they may be evicted.
	Notice string `json:"notice,omitempty"`
}

// id returns the key of the job in a session.
func (f *Finding) id() api.JobID { return api.JobID(f.Namespace + "/" + f.Name) }

// Waits reports whether pods of the job wait: something refuses them, or the next cycle places them.
func (f *Finding) Waits() bool {
	return f.State == Waiting || f.State == Startable && f.Pods.Waiting > 0
}

// Part is the allocated and the deserved amount of one resource in a queue.
type Part struct {
	Queue     string  `json:"queue"`
	Resource  string  `json:"resource"`
	Allocated float64 `json:"allocated"`
	Deserved  float64 `json:"deserved"`
}

// String is the advice about it.
func (p Part) String() string {
	return fmt.Sprintf("queue %s has %s %s and deserves %s",
		p.Queue, Amount(p.Resource, p.Allocated), p.Resource, Amount(p.Resource, p.Deserved))
}

// Unused is a guarantee that its queue uses only in part.
type Unused struct {
	Queue     string  `json:"queue"`
	Resource  string  `json:"resource"`
	Allocated float64 `json:"allocated"`
	Guarantee float64 `json:"guarantee"`
}

// String is the advice about it.
func (u Unused) String() string {
	return fmt.Sprintf("queue %s is guaranteed %s %s and has %s",
		u.Queue, Amount(u.Resource, u.Guarantee), u.Resource, Amount(u.Resource, u.Allocated))
}

// Pods counts the pods of a job.
type Pods struct {
	Total   int `json:"total"`
	Minimum int `json:"minimum"` // minAvailable
	Placed  int `json:"placed"`  // on a node
	Waiting int `json:"waiting"`
	Fit     int `json:"fit"` // waiting pods that could be placed now
}

// Holders are the jobs that have a resource of a queue, in descending order of the quantity.
type Holders struct {
	Queue    string   `json:"queue"`
	Resource string   `json:"resource"`
	Jobs     []Holder `json:"jobs"`
	More     int      `json:"more,omitempty"` // that Jobs leaves out
}

// Holder is a job that has an amount of a resource.
type Holder struct {
	Namespace string  `json:"namespace"`
	Owner     string  `json:"owner"`
	Quantity  float64 `json:"quantity"`
	// Cards are the cards of the job in a group of cards, nil for any other resource.
	Cards map[string]float64 `json:"cards,omitempty"`
}

// ByCard lists the cards of a group that the job has, "" for none.
func (h Holder) ByCard() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(h.Cards)) {
		words = append(words, Amount(name, h.Cards[name])+" "+name)
	}
	return strings.Join(words, ", ")
}

// String lists the holders in words.
func (h Holders) String() string {
	var words []string
	for _, j := range h.Jobs {
		has := Amount(h.Resource, j.Quantity)
		if cards := j.ByCard(); cards != "" {
			has += ": " + cards
		}
		words = append(words, fmt.Sprintf("%s/%s (%s)", j.Namespace, j.Owner, has))
	}

	more := ""
	if h.More > 0 {
		more = fmt.Sprintf(" and %d more", h.More)
	}

	return fmt.Sprintf("%s of %s is used by %s%s", h.Resource, h.Queue, strings.Join(words, ", "), more)
}

// Nodes counts the nodes that do not fit for one reason.
type Nodes struct {
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // the first few
}

// String is the number of nodes with their names and the reason.
func (n Nodes) String() string {
	return fmt.Sprintf("%d (%s): %s", n.Count, strings.Join(n.Names, ", "), n.Why)
}

// Wanted is a waiting job that lacks cards of a running job, and what protects the pods of the running job.
type Wanted struct {
	Owner string   `json:"owner"`
	Queue string   `json:"queue"`
	By    []string `json:"by"` // in words
}

// String says what protects the pods.
func (w Wanted) String() string {
	return fmt.Sprintf("%s in queue %s lacks such cards, and its pods are spared: %s",
		w.Owner, w.Queue, strings.Join(w.By, "; "))
}

// Matches reports whether name is a name of the job. A job has the names of its PodGroup and of its owner, with or
// without the namespace in front.
func (f *Finding) Matches(name string) bool { return matches(name, f.Namespace, f.Name, f.Owner) }

// IsNamed reports whether name is a name of the job of a group, as Matches does.
func IsNamed(g *engine.Group, name string) bool { return matches(name, g.Namespace, g.Name, g.Owner) }

func matches(name, namespace, podGroup, owner string) bool {
	_, ownerName, _ := strings.Cut(owner, "/")
	return slices.ContainsFunc([]string{podGroup, ownerName, owner, workload(owner)}, func(own string) bool {
		return name == own || name == namespace+"/"+own
	})
}

// JobName returns the name of the job of a group, as users know it.
func JobName(g *engine.Group) string { return workload(g.Owner) }

// workload returns the name of an owner. For a ReplicaSet, it returns the name of the Deployment: it removes the hash
// from the end.
func workload(owner string) string {
	kind, name, _ := strings.Cut(owner, "/")
	if cut := strings.LastIndexByte(name, '-'); kind == "ReplicaSet" && cut > 0 {
		return name[:cut]
	}
	return name
}

// Amount formats a quantity: memory in Gi, any other resource in units.
func Amount(resource string, quantity float64) string {
	if resource != "memory" && quantity > 1e15 || quantity > 1e24 {
		return "unlimited"
	}
	return format.Amount(resource, quantity, format.Gi)
}

// Tenths formats an average, rounded to a tenth.
func Tenths(resource string, x float64) string {
	unit := 0.1
	if resource == "memory" {
		unit *= 1 << 30
	}
	return Amount(resource, math.Round(x/unit)*unit)
}
