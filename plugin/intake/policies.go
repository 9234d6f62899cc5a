package intake

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// policies holds the policy annotations of queues. They are kept while the queues stay the same. The last good values
// are kept as long as the queue exists. The zero policies is ready.
type policies struct {
	tree     *index.Tree
	session  uint64                    // in which the annotations were read, see objects.Queues
	read     map[string]*policy.Values // by name of a queue with policy annotations
	inForce  []*policy.Values          // by queue; nil where no queue has any
	budgeted []bool                    // by queue: it or an ancestor has a budget of card-hours; nil where none has
	problems []objects.Problems        // of the annotations that this session has read
}

// update reads the annotations that have changed, and sets the values in force in a session.
func (p *policies) update(queues *objects.Queues, session *Inputs) {
	p.problems = nil
	if queues.Annotations() > p.session || p.tree != session.tree {
		maps.DeleteFunc(p.read, func(name string, _ *policy.Values) bool { return queues.Get(name) == nil })
		for _, queue := range queues.Since(p.session) {
			texts := p.readQueue(queue, session.settings)
			p.problems = append(p.problems, objects.Problems{Queue: queue.Object, Texts: texts})
		}

		p.tree = session.tree
		p.session = queues.Annotations()
		p.inherit()
	}

	session.policies = p.inForce
	session.budgeted = p.budgeted
}

// readQueue reads the annotations of a queue, and returns their problems. A wrong text keeps the last good value.
func (p *policies) readQueue(queue *objects.Queue, settings Settings) (found []string) {
	delete(p.read, queue.Object.Name)
	if !policy.Annotated(queue.Annotations) {
		return nil
	}

	values, wrong := policy.Parse(queue.Annotations)
	ineffective := slices.Concat(settings.LimitProblems(&values), settings.FairShareProblems(&values))
	for _, w := range wrong {
		text := "; it counts as not set"
		inForce, _ := queue.Before(w.Key)
		before, _ := policy.Parse(map[string]string{w.Key: inForce})
		if before.SetsAny(w.Keys) {
			text = "; the last good value stays in force"
			for _, key := range w.Keys {
				values[key] = before[key]
			}
			queue.Misread(w.Key, inForce)
		} else {
			queue.Misread(w.Key, "")
		}
		found = append(found, fmt.Sprintf("annotation %s: %s%s", w.Key, w.Reason, text))
	}

	for _, problem := range ineffective {
		found = append(found, fmt.Sprintf("annotation %s: %s", problem.Key, problem.Reason))
	}

	if p.read == nil {
		p.read = map[string]*policy.Values{}
	}
	p.read[queue.Object.Name] = &values
	return found
}

// inherit computes the values in force in each queue: its own values, and the values of its nearest ancestors. Without
// hierarchy, each queue inherits from the queue root.
func (p *policies) inherit() {
	p.inForce = nil
	p.budgeted = nil
	if len(p.read) == 0 {
		return
	}

	p.inForce = make([]*policy.Values, p.tree.Len())
	below := make([]*policy.Values, p.tree.Len()) // the values that the children inherit
	_, belowRoot := policy.Inherit(p.read[index.RootName], nil)
	for q := range index.Queue(p.tree.Len()) {
		inherited := belowRoot
		parent := p.tree.Parent(q)
		switch {
		case parent != index.None:
			inherited = below[parent]
		case p.tree.Name(q) == index.RootName:
			inherited = nil
		}
		own := p.read[p.tree.Name(q)]
		p.inForce[q], below[q] = policy.Inherit(own, inherited)

		above := parent != index.None && p.budgeted != nil && p.budgeted[parent]
		if above || own != nil && len(own.Budgets()) > 0 {
			if p.budgeted == nil {
				p.budgeted = make([]bool, p.tree.Len())
			}
			p.budgeted[q] = true
		}
	}
}

// noPolicies holds the values of a queue without policy annotations.
var noPolicies policy.Values

// HasPolicies reports whether a policy annotation is in force in any queue.
func (s *Inputs) HasPolicies() bool { return s.policies != nil }

// Policies returns the values in force in a queue.
func (s *Inputs) Policies(q index.Queue) *policy.Values {
	if s.policies == nil || s.policies[q] == nil {
		return &noPolicies
	}
	return s.policies[q]
}

// AnyPolicy reports whether the values in force in some queue have a property.
func (s *Inputs) AnyPolicy(has func(*policy.Values) bool) bool {
	return slices.ContainsFunc(s.policies, func(p *policy.Values) bool { return p != nil && has(p) })
}

// Budgeted reports by queue whether it or an ancestor has a budget of card-hours. It returns nil if no queue has one.
func (s *Inputs) Budgeted() []bool { return s.budgeted }

// PolicyProblems returns the problems of the policy annotations that this session has read, in the order of queue
// names.
func (s *State) PolicyProblems() []objects.Problems { return s.policies.problems }
