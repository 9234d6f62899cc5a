package queues

import (
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// Policy is a policy that is in force in a queue.
type Policy struct {
	Policy string     `json:"policy"` // the annotation, or the argument of the plugin
	Key    policy.Key `json:"-"`
	Value  string     `json:"value"` // as it is set: the annotation, or its words for the key
	// Queue has the annotation: the queue itself or an ancestor. It is "" for an argument.
	Queue string `json:"setBy,omitempty"`
	// Whole: it is one bound, or one fence, for Queue with all queues below it.
	Whole bool `json:"wholeSubtree,omitempty"`
}

// Name returns the name of the policy without the prefix of Volcano's annotations.
func (p Policy) Name() string { return policy.Short(p.Policy) }

// policies finds the policies that are in force in queues.
type policies struct {
	parents     map[string]string
	annotations map[string]map[string]string // of the queues with policies
	proportion  bool
}

// SetBy describes for readers who sets the policy.
func (p Policy) SetBy() string {
	switch {
	case p.Queue == "":
		return "the scheduler's configuration"
	case p.Whole:
		return p.Queue + ", for all queues below it together"
	}
	return p.Queue
}

// PolicyRow describes a share, a policy, a budget or a window of a queue for readers.
type PolicyRow struct{ Policy, Value, SetBy, Now string }

// PolicyRows describes the shares, policies, budgets and windows of a queue for readers.
func (q *Queue) PolicyRows() (rows []PolicyRow) {
	for _, s := range q.Shares {
		rows = append(rows, PolicyRow{policy.Short(s.Annotation), s.Card + " " + s.String(), q.Queue, ""})
	}

	setBy := "" // of the budgets, which stand in place of the text of the annotation
	for _, p := range q.Policies {
		if p.Policy == card.BudgetKey && p.Queue == q.Queue && len(q.Budgets) > 0 {
			setBy = p.SetBy()
			continue
		}
		rows = append(rows, PolicyRow{p.Name(), p.Value, p.SetBy(), ""})
	}
	for i := range q.Budgets {
		b := &q.Budgets[i]
		rows = append(rows, PolicyRow{policy.Short(card.BudgetKey), b.Limit(), setBy, b.State()})
	}
	for _, w := range q.Windows {
		rows = append(rows, PolicyRow{policy.Short(override.Key), WindowText(w), "", WindowState(w)})
	}
	return rows
}

// WindowText describes a window for readers: its time, and the values that it sets.
func WindowText(w inspect.Window) string {
	text := w.When + ":"
	for _, key := range slices.Sorted(maps.Keys(w.Sets)) {
		text += " " + policy.Short(key) + " " + w.Sets[key]
	}
	return text
}

// WindowState describes for readers whether a window is in force, and until when.
func WindowState(w inspect.Window) string {
	switch {
	case w.Holds && w.Next != nil:
		return "in force until " + format.Minute(*w.Next)
	case w.Holds:
		return "in force"
	case w.Next != nil:
		return "begins at " + format.Minute(*w.Next)
	}
	return "over"
}

func newPolicies(session *engine.Session, tree []inspect.Account) *policies {
	p := &policies{
		parents:     map[string]string{},
		annotations: map[string]map[string]string{},
		proportion:  session.Plugin == plugin.ProportionName,
	}
	for _, a := range tree {
		p.parents[a.Queue] = a.Parent
		annotations := session.Quota.Annotations(a.Queue)
		if policy.Annotated(annotations) {
			p.annotations[a.Queue] = annotations
		}
	}

	return p
}

// inForce returns the policies that are in force in a queue.
func (p *policies) inForce(a inspect.Account) (all []Policy) {
	if len(p.annotations) == 0 {
		return nil
	}

	var path []string
	var annotations []map[string]string
	for name := range index.Upward(a.Queue, func(name string) string { return p.parents[name] }) {
		path = append(path, name)
		annotations = append(annotations, p.annotations[name])
	}

	// Without hierarchy, queues inherit from the root, and have none of its bounds.
	flat := path[len(path)-1] != index.RootName
	if flat {
		path = append(path, index.RootName)
		annotations = append(annotations, p.annotations[index.RootName])
	}

	for _, held := range policy.InForce(annotations) {
		if flat && held.Whole && path[held.Level] == index.RootName {
			continue
		}

		// Under the name proportion, the plugin ignores the policies of reclaim and preempt.
		if !held.Takes || !p.proportion {
			all = append(all, Policy{
				Policy: held.Name, Key: held.Key, Value: held.Text, Queue: path[held.Level], Whole: held.Whole})
		}
	}
	return all
}
