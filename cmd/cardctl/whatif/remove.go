package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index"
)

// ErrRemoval is the error for objects that cannot be removed.
var ErrRemoval = errors.New("cannot remove")

// Remove removes an object from a world: "job/NAME", "job/NAMESPACE/NAME", "queue/NAME" or "node/NAME". namespace is
// the namespace of a job that is named without one, "" for any. Objects that the user may not see do not exist.
func Remove(w *engine.World, object, namespace string, rights Rights) error {
	kind, name, _ := strings.Cut(object, "/")
	var err error
	switch {
	case name == "":
		err = errors.New("want job/NAME, job/NAMESPACE/NAME, queue/NAME or node/NAME")
	case kind == "job":
		err = removeJob(w, name, namespace, rights)
	case kind == "queue":
		err = removeQueue(w, name)
	case kind == "node" && !rights.Nodes():
		err = errNodes
	case kind == "node":
		err = removeNode(w, name)
	default:
		err = fmt.Errorf("a %q: only a job, a queue or a node", kind)
	}

	if err != nil {
		return fmt.Errorf("%w %q: %w", ErrRemoval, object, err)
	}
	return nil
}

// isNamed returns a function that reports which groups belong to a job. namespace is "" for any. Jobs that the user may
// not see do not exist.
func isNamed(name, namespace string, rights Rights) func(*engine.Group) bool {
	return func(g *engine.Group) bool {
		return (namespace == "" || g.Namespace == namespace) && explain.IsNamed(g, name) &&
			rights.Namespace(g.Namespace)
	}
}

// removeJob removes the PodGroups and the pods of a job.
func removeJob(w *engine.World, name, namespace string, rights Rights) error {
	isRemoved := isNamed(name, namespace, rights)
	var known []string
	namespaces := sets.New[string]()
	for _, g := range w.Groups {
		if !rights.Namespace(g.Namespace) {
			continue
		}

		if isRemoved(g) {
			namespaces.Insert(g.Namespace)
		}
		known = append(known, explain.JobName(g))
	}

	switch namespaces.Len() {
	case 0:
		return unknown("job", name, known)
	case 1:
		w.Groups = slices.DeleteFunc(slices.Clone(w.Groups), isRemoved)
		return nil
	}
	return fmt.Errorf("namespaces %s have one; name it job/NAMESPACE/NAME", strings.Join(sets.List(namespaces), ", "))
}

// removeQueue removes a queue. Its jobs stay, and no scheduler lets them in. As Volcano's webhook, it refuses the root,
// the default queue, and queues with child queues.
func removeQueue(w *engine.World, name string) error {
	if w.Queue(name) == nil {
		return unknown("queue", name, w.QueueNames())
	}
	if name == index.RootName || name == engine.DefaultQueue {
		return errors.New("it cannot be removed from Volcano")
	}

	var children []string
	for _, q := range w.Queues {
		if q.Spec.Parent == name {
			children = append(children, q.Name)
		}
	}
	if len(children) > 0 {
		return fmt.Errorf("it has child queues, which have to be removed first: %s", strings.Join(children, ", "))
	}

	w.Queues = slices.DeleteFunc(slices.Clone(w.Queues), func(q *scheduling.Queue) bool { return q.Name == name })
	return nil
}

// removeNode removes a node. New pods without a node replace its pods, as the controllers of their workloads would
// create them.
func removeNode(w *engine.World, name string) error {
	i := slices.IndexFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == name })
	if i < 0 {
		return unknown("node", name, w.NodeNames())
	}

	w.Nodes = slices.Delete(slices.Clone(w.Nodes), i, i+1)
	w.Lose(name)
	return nil
}
