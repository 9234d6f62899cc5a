// Package queues lists the queues of a session with their quantities, policies, budgets and usage, for tables and for
// JSON.
package queues

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/status"
)

// Queue is a queue with the resources that it holds.
type Queue struct {
	Queue   string  `json:"queue"`
	Parent  string  `json:"parent,omitempty"`
	Depth   int     `json:"depth"`
	State   string  `json:"state,omitempty"`
	Share   float64 `json:"share"`
	Broken  string  `json:"broken,omitempty"`
	Waiting int     `json:"waitingJobs"` // in the queue and below it
	// Since is the time when the oldest waiting job was created, nil for none.
	Since     *metav1.Time `json:"waitingSince,omitempty"`
	Resources []Holding    `json:"resources"`
	Policies  []Policy     `json:"policies,omitempty"`
	// Shares are the shares of the cards of the nodes that the annotations of the queue state.
	Shares []inspect.StatedShare `json:"shares,omitempty"`
	// Windows are the times with other values of policies.
	Windows []inspect.Window `json:"windows,omitempty"`
	Budgets []Budget         `json:"budgets,omitempty"`
	// Bounds are the resources and cards that the queue itself bounds.
	Bounds map[string]bool `json:"-"`
	// Past is the usage over time, nil if it does not order the queues.
	Past *Past `json:"past,omitempty"`
}

// Holding has the quantities of a resource of a queue.
type Holding status.Holding

// List returns the queues of a session in the order of the tree. CountWaiting completes them.
func List(world *engine.World, session *engine.Session) []Queue {
	tree := session.Tree()
	policies := newPolicies(session, tree)
	pasts := map[string]*Past{}
	for _, u := range Usages(session, func(string) bool { return true }, "") {
		pasts[u.Queue] = &u.Past
	}

	budgets := map[string][]Budget{}
	for _, b := range Budgets(session, func(string) bool { return true }, "") {
		budgets[b.Queue] = append(budgets[b.Queue], b)
	}

	all := []Queue{}
	for _, a := range tree {
		q := newQueue(world, a)
		q.Policies = policies.inForce(a)
		q.Shares = session.Quota.Shares(a.Queue)
		q.Windows = session.Quota.Windows(a.Queue)
		q.Budgets = budgets[a.Queue]
		q.Bounds = bounds(session, a.Queue)
		q.Past = pasts[a.Queue]
		all = append(all, q)
	}

	return all
}

func newQueue(world *engine.World, a inspect.Account) Queue {
	q := Queue{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Share: a.Share, Resources: []Holding{}}
	if object := world.Queue(a.Queue); object != nil {
		q.State = string(object.Status.State)
	}
	if a.Broken != nil {
		q.Broken = a.Broken.Error()
	}

	for _, h := range status.Holdings(a) {
		q.Resources = append(q.Resources, Holding(h))
	}
	return q
}

// bounds returns the resources and cards that a queue itself bounds.
func bounds(session *engine.Session, queue string) map[string]bool {
	all := map[string]bool{}
	for name := range session.Amounts(queue, card.QuotaKey) {
		all[name] = true
	}
	for name := range session.Quota.Spec(queue).Capability {
		all[string(name)] = true
	}

	return all
}

// NextWindow returns the next time when a window of the queue begins or ends, nil for never.
func (q *Queue) NextWindow() (next *time.Time) {
	for _, w := range q.Windows {
		if w.Next != nil && (next == nil || w.Next.Before(*next)) {
			next = w.Next
		}
	}

	return next
}

// CountWaiting counts the waiting jobs in each queue and below it. all contains every queue.
func CountWaiting(all []Queue, waiting []explain.Finding) {
	byName := map[string]*Queue{}
	for i := range all {
		byName[all[i].Queue] = &all[i]
	}

	parent := func(name string) string {
		if q := byName[name]; q != nil {
			return q.Parent
		}
		return ""
	}
	for i := range waiting {
		for name := range index.Upward(waiting[i].Queue, parent) {
			if q := byName[name]; q != nil {
				q.count(waiting[i].Since)
			}
		}
	}
}

// count counts a waiting job that was created at a time, nil for a manifest.
func (q *Queue) count(since *metav1.Time) {
	q.Waiting++
	if since != nil && (q.Since == nil || since.Before(q.Since)) {
		q.Since = since
	}
}

// Use returns the part of the capability that is allocated or reserved. It returns 0 without a capability.
func (h *Holding) Use() float64 {
	if h.Capability == nil || *h.Capability == 0 {
		return 0
	}
	return (h.Allocated + h.Inqueue) / *h.Capability
}

// Use returns the highest use of a card, or of another resource if the queue has no cards.
func (q *Queue) Use() (highest float64) {
	for _, h := range q.shown(false) {
		highest = max(highest, h.Use())
	}
	return highest
}

// shown returns the resources that have rows: the cards, then the other resources. If there are cards, only a wide
// table shows the others.
func (q *Queue) shown(wide bool) (rows []Holding) {
	var others []Holding
	for _, h := range q.Resources {
		if h.Card {
			rows = append(rows, h)
		} else {
			others = append(others, h)
		}
	}

	if wide || len(rows) == 0 {
		rows = append(rows, others...)
	}

	return rows
}
