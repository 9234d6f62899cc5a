package plugin

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// annotatedTree is the tree that follows from annotations, taken again while they
// stay the same.
type annotatedTree struct {
	tree    *index.Tree
	weights []float64 // by number
	read    map[string]annotations
	said    map[string]string // what the last event on a queue was about
}

// annotations are what of a queue the tree follows from.
type annotations struct {
	uid           types.UID
	path, weights string
}

func annotationsOf(queue *scheduling.Queue) annotations {
	return annotations{queue.UID, queue.Annotations[index.PathKey], queue.Annotations[index.WeightsKey]}
}

// findAnnotated returns the tree of the session's annotations.
func (o *session) findAnnotated() *index.Tree {
	t := &o.annotated
	if t.tree != nil && o.sameAnnotations(t.read) {
		return t.tree
	}
	var queues []*scheduling.Queue
	t.read = map[string]annotations{}
	for id, queue := range o.ssn.Queues {
		queues = append(queues, queue.Queue)
		t.read[string(id)] = annotationsOf(queue.Queue)
	}
	// Whoever came first keeps its path.
	slices.SortFunc(queues, func(l, r *scheduling.Queue) int {
		return cmp.Or(l.CreationTimestamp.Compare(r.CreationTimestamp.Time), cmp.Compare(l.Name, r.Name))
	})
	var placements []index.Placement
	for _, queue := range queues {
		a := t.read[queue.Name]
		placements = append(placements, index.Placement{Queue: queue.Name, Path: a.path, Weights: a.weights})
	}
	places := index.Place(placements, rootName)
	t.tree = index.BuildTree(places.Nodes, rootName)
	t.weights = make([]float64, t.tree.Len())
	for name, weight := range places.Weights {
		t.weights[t.tree.Lookup(name)] = weight
	}
	o.reportPlaces(places.Problems)
	return t.tree
}

func (o *session) sameAnnotations(read map[string]annotations) bool {
	if len(read) != len(o.ssn.Queues) {
		return false
	}
	for id, queue := range o.ssn.Queues {
		if was, ok := read[string(id)]; !ok || was != annotationsOf(queue.Queue) {
			return false
		}
	}
	return true
}

// reportPlaces says what is wrong with the annotations of queues, in the log and
// in an event on the Queue, once while it stays the same.
func (o *session) reportPlaces(problems map[string]error) {
	said := o.annotated.said
	o.annotated.said = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		warning := problems[name].Error()
		if said[name] != warning {
			o.warnQueue(o.ssn.Queues[api.QueueID(name)].Queue, badHierarchy, warning)
		}
		o.annotated.said[name] = warning
	}
}
