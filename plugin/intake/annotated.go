package intake

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
)

// annotatedTree is the tree that the annotations of queues describe
// (hierarchyFrom: annotation). It is kept while they stay the same.
type annotatedTree struct {
	tree     *index.Tree
	weights  []float64 // by queue
	read     map[string]annotations
	problems map[string]error  // not reported yet
	reported map[string]string // in the last event on a queue
}

// annotations are the parts of a Queue object that the tree depends on.
type annotations struct {
	uid           types.UID
	path, weights string
}

func annotationsOf(queue *scheduling.Queue) annotations {
	return annotations{queue.UID, queue.Annotations[index.PathKey], queue.Annotations[index.WeightsKey]}
}

// update builds the tree again if an annotation has changed.
func (t *annotatedTree) update(ssn *framework.Session) {
	if t.tree != nil && t.current(ssn) {
		return
	}
	var queues []*scheduling.Queue
	t.read = map[string]annotations{}
	for id, queue := range ssn.Queues {
		queues = append(queues, queue.Queue)
		t.read[string(id)] = annotationsOf(queue.Queue)
	}
	// Of two queues with one path the older one keeps it.
	slices.SortFunc(queues, func(l, r *scheduling.Queue) int {
		return cmp.Or(l.CreationTimestamp.Compare(r.CreationTimestamp.Time), cmp.Compare(l.Name, r.Name))
	})
	var placements []index.Placement
	for _, queue := range queues {
		a := t.read[queue.Name]
		placements = append(placements, index.Placement{Queue: queue.Name, Path: a.path, Weights: a.weights})
	}
	places := index.Place(placements, index.RootName)
	t.tree = index.BuildTree(places.Nodes, index.RootName)
	t.weights = make([]float64, t.tree.Len())
	for name, weight := range places.Weights {
		t.weights[t.tree.Lookup(name)] = weight
	}
	t.problems = places.Problems
}

// current reports whether the tree follows from the queues as they are.
func (t *annotatedTree) current(ssn *framework.Session) bool {
	if len(t.read) != len(ssn.Queues) {
		return false
	}
	for id, queue := range ssn.Queues {
		if before, ok := t.read[string(id)]; !ok || before != annotationsOf(queue.Queue) {
			return false
		}
	}
	return true
}

// TreeProblem is a problem of the hierarchy annotations of one queue.
type TreeProblem struct {
	Queue *scheduling.Queue
	Err   error
}

// TreeProblems returns the problems of hierarchy annotations that it has not
// returned before, in the order of the queues' names.
func (s *State) TreeProblems(ssn *framework.Session) []TreeProblem {
	t := &s.annotated
	if t.problems == nil {
		return nil // the tree is that of the last call
	}
	before := t.reported
	t.reported = map[string]string{}
	var problems []TreeProblem
	for _, name := range slices.Sorted(maps.Keys(t.problems)) {
		err := t.problems[name]
		if before[name] != err.Error() {
			problems = append(problems, TreeProblem{ssn.Queues[api.QueueID(name)].Queue, err})
		}
		t.reported[name] = err.Error()
	}
	t.problems = nil
	return problems
}
