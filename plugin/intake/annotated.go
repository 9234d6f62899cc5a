package intake

import (
	"cmp"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// annotatedTree is the tree that the annotations of queues describe (hierarchyFrom: annotation). It is kept while the
// annotations stay the same.
type annotatedTree struct {
	tree     *index.Tree
	weights  []float64        // by queue
	read     uint64           // the session in which the annotations were read, see objects.Queues
	problems map[string]error // of the annotations, by queue; nil after they are reported
}

// update builds the tree again if an annotation has changed.
func (t *annotatedTree) update(ssn *framework.Session, from *objects.Queues) {
	if t.tree != nil && t.read == from.Annotations() {
		return
	}

	t.read = from.Annotations()

	var queues []*scheduling.Queue
	for _, queue := range ssn.Queues {
		queues = append(queues, queue.Queue)
	}

	annotations := func(queue *scheduling.Queue) map[string]string { return from.Get(queue.Name).Annotations }
	places := Places(queues, annotations)

	t.tree = index.BuildTree(places.Nodes, index.RootName)
	t.weights = make([]float64, t.tree.Len())
	for name, weight := range places.Weights {
		t.weights[t.tree.Lookup(name)] = weight
	}

	t.problems = places.Problems
}

// Places returns the tree that the annotations of queues describe. If two queues have the same path, the older queue
// gets it. Places sorts the queues.
func Places(queues []*scheduling.Queue, annotations func(*scheduling.Queue) map[string]string) *index.Places {
	slices.SortFunc(queues, func(l, r *scheduling.Queue) int {
		return cmp.Or(l.CreationTimestamp.Compare(r.CreationTimestamp.Time), cmp.Compare(l.Name, r.Name))
	})

	var placements []index.Placement
	for _, queue := range queues {
		a := annotations(queue)
		placements = append(placements, index.Placement{
			Queue:   queue.Name,
			Path:    a[index.PathKey],
			Weights: a[index.WeightsKey],
		})
	}
	return index.Place(placements, index.RootName)
}

// TreeProblems returns the problems of hierarchy annotations, in the order of queue names. It returns nil if this
// session did not build the tree again.
func (s *State) TreeProblems() (all []objects.Problems) {
	t := &s.annotated
	if t.problems == nil {
		return nil
	}

	for _, queue := range s.queues.Since(0) {
		p := objects.Problems{Queue: queue.Object}
		if err := t.problems[queue.Object.Name]; err != nil {
			p.Texts = []string{err.Error()}
		}
		all = append(all, p)
	}

	t.problems = nil
	return all
}
