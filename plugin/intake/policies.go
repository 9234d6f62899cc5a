package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
)

// policies are the policy annotations of queues. They are kept while the queues stay the
// same, and the last good values as long as the queues exist. The zero policies are ready.
type policies struct {
	tree    *index.Tree
	objects []*scheduling.Queue       // by queue, those that were read last
	read    map[string]*queuePolicies // of the queues that have any policy annotation
	inForce []*policy.Values          // by queue; nil where no queue has any
	maxJobs []int                     // by queue; nil where no queue bounds its jobs
	added   []PolicyProblem           // not reported yet
}

// queuePolicies are the policy annotations of one queue.
type queuePolicies struct {
	uid      types.UID
	texts    policy.Texts
	values   policy.Values // with the last good value of a wrong text
	problems map[policy.Key]string
}

// PolicyProblem is a problem of one policy annotation of a queue.
type PolicyProblem struct {
	Queue *scheduling.Queue
	Text  string
}

// update reads the annotations of queues whose objects have changed, and sets the values in
// force in a session.
func (p *policies) update(session *Session) {
	changed := p.tree != session.tree
	if changed {
		p.tree, p.objects = session.tree, make([]*scheduling.Queue, session.tree.Len())
		maps.DeleteFunc(p.read, func(name string, _ *queuePolicies) bool {
			q := session.tree.Lookup(name)
			return q == index.None || session.Queues[q] == nil // a root without an object is in the tree
		})
	}
	for q, queue := range session.Queues {
		if queue == nil || queue.Queue == p.objects[q] {
			continue
		}
		p.objects[q] = queue.Queue
		if p.readQueue(session.tree.Name(index.Queue(q)), queue.Queue, session.settings) {
			changed = true
		}
	}
	if changed {
		p.inherit()
	}
	session.policies, session.maxJobs = p.inForce, p.maxJobs
}

// readQueue reads the annotations of a new or changed object, and reports whether they are
// others than before.
func (p *policies) readQueue(name string, object *scheduling.Queue, settings Settings) (changed bool) {
	before := p.read[name]
	if !policy.Annotated(object.Annotations) {
		delete(p.read, name)
		return before != nil
	}
	texts := policy.Read(object.Annotations)
	switch {
	case before != nil && before.uid != object.UID:
		before = nil
	case before != nil && before.texts == texts:
		return false
	}
	own := &queuePolicies{uid: object.UID, texts: texts, problems: map[policy.Key]string{}}
	values, problems := texts.Parse()
	own.values = values
	for key, problem := range problems {
		text := "; it counts as not set"
		if before != nil && before.values[key].Set {
			own.values[key] = before.values[key]
			text = "; the last good value stays in force"
		}
		own.problems[key] = fmt.Sprintf("annotation %s: %s%s", problem.Key, problem.Reason, text)
	}
	for _, key := range slices.Sorted(maps.Keys(own.problems)) {
		if before == nil || before.texts[key] != texts[key] {
			p.added = append(p.added, PolicyProblem{object, own.problems[key]})
		}
	}
	if k := policy.NamespaceCapability; values[k].Set && (before == nil || before.texts[k] != texts[k]) {
		for _, problem := range settings.LimitProblems(values[k].Resources) {
			p.added = append(p.added, PolicyProblem{object, fmt.Sprintf("annotation %s: %s", problem.Key, problem.Reason)})
		}
	}
	if p.read == nil {
		p.read = map[string]*queuePolicies{}
	}
	p.read[name] = own
	return true
}

// inherit computes the values in force: those of a queue itself, and of its nearest ancestors.
func (p *policies) inherit() {
	p.inForce, p.maxJobs = nil, nil
	if len(p.read) == 0 {
		return
	}
	p.inForce = make([]*policy.Values, p.tree.Len())
	below := make([]*policy.Values, p.tree.Len()) // what the children inherit
	for q := range index.Queue(p.tree.Len()) {
		var own, inherited *policy.Values
		if read := p.read[p.tree.Name(q)]; read != nil {
			own = &read.values
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

// PolicyProblems returns the problems of policy annotations that it has not returned before,
// in the order of the queues' names.
func (s *State) PolicyProblems() []PolicyProblem {
	added := s.policies.added
	s.policies.added = nil
	slices.SortStableFunc(added, func(x, y PolicyProblem) int { return cmp.Compare(x.Queue.Name, y.Queue.Name) })
	return added
}
