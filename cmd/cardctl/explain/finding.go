// Package explain says of each job why it waits, or what may become of it. It asks
// the scheduler: every answer is that of a hook of an open session, and the numbers
// are those that the quota plugin gives.
package explain

import (
	"fmt"
	"strings"

	"github.com/capacity-card/capacity-card/plugin"
)

// State is what a job does.
type State string

// The states of jobs.
const (
	Waiting   State = "Waiting"   // some pod, or the whole job, is refused something
	Startable State = "Startable" // nothing is in the way: the next cycle places what waits
	Running   State = "Running"   // no pod waits
	Finished  State = "Finished"
)

// Stage is where in a cycle a job is held up.
type Stage string

// The stages, in the order in which a job comes to them.
const (
	Enqueue  Stage = "enqueue"  // the job may not have its pods
	Gang     Stage = "gang"     // the job has not the pods that it needs to start
	Allocate Stage = "allocate" // the queue may not have more
	Node     Stage = "node"     // the queue may, but no node is fit
)

// Rules beside those of package plugin.
const (
	NotEnoughPods plugin.Rule = "NotEnoughPods" // fewer than minAvailable, or none yet
	Gated         plugin.Rule = "Gated"         // all pods that wait have scheduling gates
	Overused      plugin.Rule = "Overused"      // proportion: the queue has all it deserves
	OtherPlugin   plugin.Rule = "OtherPlugin"   // the quota plugin has nothing against it, another one has
	NodesFull     plugin.Rule = "NodesFull"     // nodes that are fit have no room
	NodesUnfit    plugin.Rule = "NodesUnfit"    // selectors, affinities, taints
)

// Finding is what there is to say about one job.
type Finding struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`  // of the PodGroup
	Owner     string `json:"owner"` // kind/name of what users know
	Queue     string `json:"queue"`
	Phase     string `json:"phase"`
	State     State  `json:"state"`
	Pods      Pods   `json:"pods"`

	Stage Stage       `json:"stage,omitempty"`
	Rule  plugin.Rule `json:"rule,omitempty"`
	// Level is the queue whose bound or state it is: the job's, or one above it.
	Level   string         `json:"level,omitempty"`
	Pod     string         `json:"pod,omitempty"` // the first one that is refused
	Message string         `json:"message,omitempty"`
	Reason  *plugin.Reason `json:"reason,omitempty"` // as the quota plugin gives it
	Nodes   []Nodes        `json:"nodes,omitempty"`
	Advice  []string       `json:"advice,omitempty"`

	// Of a running job.
	Claims []Claim `json:"claims,omitempty"`
	Safety string  `json:"safety,omitempty"` // what reclaim may take of its queue, in words
}

// Pods counts the pods of a job.
type Pods struct {
	Total   int `json:"total"`
	Minimum int `json:"minimum"` // minAvailable
	Placed  int `json:"placed"`  // on a node
	Waiting int `json:"waiting"`
	Fit     int `json:"fit"` // of those that wait: how many could be placed now
}

// Nodes are those that one thing is wrong with.
type Nodes struct {
	Why   string   `json:"why"`
	Count int      `json:"count"`
	Names []string `json:"names"` // the first few
}

// Claim is a job of another queue that could take pods of a running one.
type Claim struct {
	Owner string   `json:"owner"`
	Queue string   `json:"queue"`
	Pods  []string `json:"pods"` // that it could take
}

// Matches reports whether a job goes by a name: that of its PodGroup or of its
// owner, with or without the namespace in front.
func (f *Finding) Matches(name string) bool {
	_, owner, _ := strings.Cut(f.Owner, "/")
	for _, own := range []string{f.Name, owner, f.Owner} {
		if name == own || name == f.Namespace+"/"+own {
			return true
		}
	}
	// A Deployment's PodGroup belongs to its ReplicaSet, whose name has a hash.
	cut := strings.LastIndexByte(owner, '-')
	return strings.HasPrefix(f.Owner, "ReplicaSet/") && cut > 0 && name == owner[:cut]
}

// Amount is a quantity as this tool shows it: memory in Gi, everything else in
// whole units.
func Amount(resource string, quantity float64) string {
	if quantity > 1e15 && resource != "memory" || quantity > 1e24 {
		return "unlimited"
	}
	if resource == "memory" {
		return trim(quantity/(1<<30)) + "Gi"
	}
	return trim(quantity)
}

func trim(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", x), "0"), ".")
}

// words are what a reason says, with memory in Gi.
func words(r *plugin.Reason) string {
	text := r.String()
	for _, s := range r.Shortages {
		if s.Resource == "memory" {
			inGi := fmt.Sprintf("requested <%s>, total would be <%s>, but %s is <%s>",
				Amount(s.Resource, s.Requested), Amount(s.Resource, s.Total), s.Against, Amount(s.Resource, s.Bound))
			own := s.String()
			text = strings.Replace(text, own, own[:strings.Index(own, "requested <")]+inGi, 1)
		}
	}
	return text
}
