package intake

import (
	"iter"
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/objects"
)

// Tree returns the queue tree of a session with these objects, and whether it differs from the tree of the session
// before. Without hierarchy, quotas are flat: each queue is a tree of its own.
func (s *State) Tree(ssn *framework.Session, queues *objects.Queues, hierarchy bool,
	from HierarchyFrom) (tree *index.Tree, changed bool) {
	s.queues = queues
	nodes := nodesOf(ssn)
	if !s.parents.Matches(len(ssn.Queues), nodes, index.RootName) {
		s.parents = index.BuildTree(slices.Collect(nodes), index.RootName)
	}

	before := s.tree
	switch {
	case hierarchy && from == HierarchyFromAnnotation:
		s.annotated.update(ssn, queues)
		s.tree = s.annotated.tree
	case hierarchy:
		s.tree = s.parents
	case !s.tree.Matches(len(ssn.Queues), nodes, ""):
		s.tree = index.BuildTree(slices.Collect(nodes), "")
	}
	return s.tree, s.tree != before
}

// nodesOf iterates over the queues of a session with their parents.
func nodesOf(ssn *framework.Session) iter.Seq[index.Node] {
	return func(yield func(index.Node) bool) {
		for id, queue := range ssn.Queues {
			if !yield(index.Node{Name: string(id), Parent: queue.Queue.Spec.Parent}) {
				return
			}
		}
	}
}

// MendParents makes each queue that does not reach the root a child of the root, and removes a parent of the root
// itself. It changes the objects of this session only.
//
// Volcano walks up to the root when it closes a session. An unknown parent makes it panic, and a cycle makes it loop
// forever (framework/session.go, updateQueueStatus).
func (s *State) MendParents(ssn *framework.Session, plugin string) {
	mendParents(ssn, s.parents, plugin)
}

// MendParents mends the parents of a session in which another plugin than ours decides.
func MendParents(ssn *framework.Session, plugin string) {
	mendParents(ssn, index.BuildTree(slices.Collect(nodesOf(ssn)), index.RootName), plugin)
}

// mendParents mends the parents of a session with this tree of parents.
func mendParents(ssn *framework.Session, parents *index.Tree, plugin string) {
	for q := range index.Queue(parents.Len()) {
		if parents.Parent(q) != index.None {
			break // queues are ordered by depth: all tops have been visited
		}

		queue := ssn.Queues[api.QueueID(parents.Name(q))]
		isRoot := q == parents.Root()
		if queue == nil || isRoot && queue.Queue.Spec.Parent == "" || !isRoot && parents.Broken(q) == nil {
			continue
		}

		mended := *queue.Queue
		mended.Spec.Parent = index.RootName
		if isRoot {
			mended.Spec.Parent = ""
		}
		queue.Queue = &mended
		klog.V(4).Infof("[%s] queue %s has the parent %q in this session: %v",
			plugin, queue.UID, mended.Spec.Parent, parents.Broken(q))
	}
}
