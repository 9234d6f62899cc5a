package intake

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// policies are the policy annotations of queues. They are kept while the queues stay the
// same, and the last good values as long as the queues exist. The zero policies are ready.
type policies struct {
	tree     *index.Tree
	session  uint64                    // of the annotations, see objects.Queues
	read     map[string]*policy.Values // of the queues that have any policy annotation, with the last good value of a wrong text
	inForce  []*policy.Values          // by queue; nil where no queue has any
	maxJobs  []int                     // by queue; nil where no queue bounds its jobs
	budgeted []bool                    // by queue: it has a budget of card-hours, or is below one; nil where none has
	problems []objects.Problems        // of queues whose annotations the last call of update has read
}

// update reads the annotations that have changed, and sets the values in force in a session.
func (p *policies) update(queues *objects.Queues, session *Session) {
	p.problems = nil
	if changed := queues.Annotations() > p.session; changed || p.tree != session.tree {
		maps.DeleteFunc(p.read, func(name string, _ *policy.Values) bool { return queues.Get(name) == nil })
		for _, queue := range queues.Since(p.session) {
			p.readQueue(queue, session.settings)
		}
		p.tree, p.session = session.tree, queues.Annotations()
		p.inherit()
	}
	session.policies = p.inForce
	session.maxJobs = p.maxJobs
	session.budgeted = p.budgeted
}

// readQueue reads the annotations of a queue. A wrong text keeps the last good value.
func (p *policies) readQueue(queue *objects.Queue, settings Settings) {
	before, found := p.read[queue.Object.Name], objects.Problems{Queue: queue.Object}
	delete(p.read, queue.Object.Name)
	if policy.Annotated(queue.Annotations) {
		texts := policy.Read(queue.Annotations)
		values, problems := texts.Parse()
		limit := values[policy.NamespaceCapability].Resources
		for _, key := range slices.Sorted(maps.Keys(problems)) {
			text := "; it counts as not set"
			if before != nil && before[key].Set && !queue.CreatedSince(p.session) {
				values[key] = before[key]
				text = "; the last good value stays in force"
			}
			found.Texts = append(found.Texts, fmt.Sprintf("annotation %s: %s%s", problems[key].Key, problems[key].Reason, text))
		}
		for _, problem := range slices.Concat(settings.LimitProblems(limit), settings.FairShareProblems(&values)) {
			found.Texts = append(found.Texts, fmt.Sprintf("annotation %s: %s", problem.Key, problem.Reason))
		}
		if p.read == nil {
			p.read = map[string]*policy.Values{}
		}
		p.read[queue.Object.Name] = &values
	}
	p.problems = append(p.problems, found)
}

// inherit computes the values in force: those of a queue itself, and of its nearest ancestors.
func (p *policies) inherit() {
	p.inForce = nil
	p.maxJobs = nil
	p.budgeted = nil
	if len(p.read) == 0 {
		return
	}
	p.inForce = make([]*policy.Values, p.tree.Len())
	below := make([]*policy.Values, p.tree.Len()) // what the children inherit
	for q := range index.Queue(p.tree.Len()) {
		var own, inherited *policy.Values
		if read := p.read[p.tree.Name(q)]; read != nil {
			own = read
		}
		if parent := p.tree.Parent(q); parent != index.None {
			inherited = below[parent]
		}
		p.inForce[q], below[q] = policy.Inherit(own, inherited)
		if p.inForce[q] != nil && p.inForce[q].MaxJobs() > 0 {
			if p.maxJobs == nil {
				p.maxJobs = make([]int, p.tree.Len())
			}
			p.maxJobs[q] = p.inForce[q].MaxJobs()
		}
		if parent := p.tree.Parent(q); own != nil && len(own.Budgets()) > 0 || p.budgeted != nil && parent != index.None && p.budgeted[parent] {
			if p.budgeted == nil {
				p.budgeted = make([]bool, p.tree.Len())
			}
			p.budgeted[q] = true
		}
	}
}

// noPolicies are the values of a queue for which no annotation holds.
var noPolicies policy.Values

// HasPolicies reports whether a policy annotation holds for some queue.
func (s *Session) HasPolicies() bool { return s.policies != nil }

// Policies returns the values in force in a queue.
func (s *Session) Policies(q index.Queue) *policy.Values {
	if s.policies == nil || s.policies[q] == nil {
		return &noPolicies
	}
	return s.policies[q]
}

// MaxJobs returns how many jobs may be admitted in each queue and below, 0 for any number. It
// is nil where no queue bounds them.
func (s *Session) MaxJobs() []int { return s.maxJobs }

// Budgeted reports, by queue, whether it has a budget of card-hours, or is below one that has. It is nil where none
// has.
func (s *Session) Budgeted() []bool { return s.budgeted }

// PolicyProblems returns the problems of the policy annotations that this session has read, in the
// order of the queues' names.
func (s *State) PolicyProblems() []objects.Problems { return s.policies.problems }
