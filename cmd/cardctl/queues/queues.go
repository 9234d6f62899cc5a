// Package queues lists the queues of a session with what they deserve and have, for
// tables and for JSON.
package queues

import (
	"iter"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// Queue is a queue with the resources that it holds.
type Queue struct {
	Queue     string    `json:"queue"`
	Parent    string    `json:"parent,omitempty"`
	Depth     int       `json:"depth"`
	State     string    `json:"state,omitempty"`
	Share     float64   `json:"share"`
	Broken    string    `json:"broken,omitempty"`
	Waiting   int       `json:"waitingJobs"` // its own and those below
	Resources []Holding `json:"resources"`
	Policies  []Policy  `json:"policies,omitempty"` // those that hold in it
	// Windows are the times in which other values hold in it.
	Windows []inspect.Window `json:"windows,omitempty"`
	// Bounds are the resources and cards that it has a bound of its own of.
	Bounds map[string]bool `json:"-"`
	// Past holds its usage over time, nil where queues are not ordered by that.
	Past *Past `json:"past,omitempty"`
}

// Policy is a policy that holds in a queue.
type Policy struct {
	Policy string `json:"policy"` // the annotation, or the argument of the plugin
	Value  string `json:"value"`  // as it is set
	// Queue is the one that sets it: the queue itself or an ancestor, "" for the scheduler's
	// configuration.
	Queue string `json:"setBy,omitempty"`
	// Whole: it is one bound, or one fence, for Queue with all queues below it.
	Whole bool `json:"wholeSubtree,omitempty"`
}

// InqueueTimeout is the argument of the plugin that holds where no annotation does.
const InqueueTimeout = arguments.InqueueTimeout

// Name is the name of the policy without the prefix of Volcano's annotations.
func (p Policy) Name() string { return policy.Short(p.Policy) }

// Holding has the quantities of a resource of a queue.
type Holding struct {
	Resource   string   `json:"resource"`
	Card       bool     `json:"card,omitempty"`
	Deserved   *float64 `json:"deserved"` // null: no bound
	Guarantee  float64  `json:"guarantee"`
	Allocated  float64  `json:"allocated"`
	Inqueue    float64  `json:"inqueue"`
	Capability *float64 `json:"capability"`
}

// List returns the queues of a session in the order of the tree. CountWaiting completes them.
func List(world *engine.World, session *engine.Session) []Queue {
	tree := session.Tree()
	policies := newPolicies(session, tree)
	all, pasts := []Queue{}, map[string]*Past{}
	for _, u := range Usages(session, func(string) bool { return true }, "") {
		pasts[u.Queue] = &u.Past
	}
	for _, a := range tree {
		q := newQueue(world, a)
		q.Past = pasts[a.Queue]
		q.Policies, q.Windows = policies.of(a), session.Quota.Windows(a.Queue)
		q.Bounds = boundsOf(session, a.Queue)
		all = append(all, q)
	}
	return all
}

// boundsOf returns what a queue has a bound of its own of.
func boundsOf(session *engine.Session, queue string) map[string]bool {
	all := map[string]bool{}
	for name := range engine.Cards(session.Quota.Annotations(queue)[card.QuotaKey]) {
		all[name] = true
	}
	for name := range session.Quota.Spec(queue).Capability {
		all[string(name)] = true
	}
	return all
}

// NextWindow returns when a window of the queue begins or ends next, nil for never.
func (q *Queue) NextWindow() (next *time.Time) {
	for _, w := range q.Windows {
		if w.Next != nil && (next == nil || w.Next.Before(*next)) {
			next = w.Next
		}
	}
	return next
}

// policies finds the policies that hold in queues.
type policies struct {
	parents     map[string]string
	annotations map[string]map[string]string // of those queues that have policies
	proportion  bool
}

func newPolicies(session *engine.Session, tree []inspect.Account) *policies {
	p := &policies{parents: map[string]string{}, annotations: map[string]map[string]string{}, proportion: session.Plugin == plugin.ProportionName}
	for _, a := range tree {
		p.parents[a.Queue] = a.Parent
		if annotations := session.Quota.Annotations(a.Queue); policy.Annotated(annotations) {
			p.annotations[a.Queue] = annotations
		}
	}
	return p
}

// of returns the policies that hold in a queue. Those of reclaim and preempt have no effect
// under the name proportion.
func (p *policies) of(a inspect.Account) (all []Policy) {
	if len(p.annotations) == 0 && a.InqueueTimeout == 0 {
		return nil
	}
	var path []string
	var annotations []map[string]string
	for name := range index.Upward(a.Queue, func(name string) string { return p.parents[name] }) {
		path, annotations = append(path, name), append(annotations, p.annotations[name])
	}
	timeout := a.InqueueTimeout > 0 // of the argument, unless an annotation sets it
	for _, held := range policy.InForce(annotations) {
		if !held.Takes || !p.proportion {
			all = append(all, Policy{Policy: held.Name, Value: held.Text, Queue: path[held.Level], Whole: held.Whole})
		}
		timeout = timeout && held.Name != policy.InqueueTimeoutKey
	}
	if timeout {
		all = append(all, Policy{Policy: InqueueTimeout, Value: a.InqueueTimeout.String()})
	}
	return all
}

// CountWaiting sets how many jobs wait in each queue and below it. all has all queues, and waiting the
// queue of each job that waits.
func CountWaiting(all []Queue, waiting iter.Seq[string]) {
	places := map[string]int{}
	for i := range all {
		places[all[i].Queue] = i
	}
	parent := func(name string) string {
		if i, known := places[name]; known {
			return all[i].Parent
		}
		return ""
	}
	for queue := range waiting {
		for name := range index.Upward(queue, parent) {
			if i, known := places[name]; known {
				all[i].Waiting++
			}
		}
	}
}

func newQueue(world *engine.World, a inspect.Account) Queue {
	q := Queue{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Share: a.Share, Resources: []Holding{}}
	if object := world.Queue(a.Queue); object != nil {
		q.State = string(object.Status.State)
	}
	if a.Broken != nil {
		q.Broken = a.Broken.Error()
	}
	for _, h := range a.Holdings {
		if h.Resource == "pods" || h.Card && h.Allocated == 0 && h.Inqueue == 0 && h.Deserved == 0 && engine.Bounded(h.Capability) == nil {
			continue
		}
		q.Resources = append(q.Resources, Holding{
			Resource: h.Resource, Card: h.Card, Deserved: engine.Bounded(h.Deserved), Guarantee: h.Guarantee,
			Allocated: h.Allocated, Inqueue: h.Inqueue, Capability: engine.Bounded(h.Capability),
		})
	}
	return q
}

// Use is the part of a capability that is allocated or reserved, 0 without a capability.
func (h *Holding) Use() float64 {
	if h.Capability == nil || *h.Capability == 0 {
		return 0
	}
	return (h.Allocated + h.Inqueue) / *h.Capability
}

// Use is that of the resource with the highest use, of the cards if there are any.
func (q *Queue) Use() float64 {
	highest := 0.0
	for _, h := range q.shown(false) {
		highest = max(highest, h.Use())
	}
	return highest
}

// shown are the resources that have rows: cards, then others if there are no cards, or
// for a wide table.
func (q *Queue) shown(wide bool) []Holding {
	isCard := func(h Holding) bool { return h.Card }
	rows := slices.DeleteFunc(slices.Clone(q.Resources), func(h Holding) bool { return !h.Card })
	if wide || len(rows) == 0 {
		rows = append(rows, slices.DeleteFunc(slices.Clone(q.Resources), isCard)...)
	}
	return rows
}
