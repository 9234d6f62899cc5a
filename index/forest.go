package index

// ForestNode is a node of a forest.
type ForestNode struct {
	Name string // unique
	// Parents are the nodes above: none, one, or several with disjoint paths. All come before the node.
	Parents []Queue
}

// BuildForest builds a tree without a root. Node i becomes queue i.
//
// A node with several parents is a joint: it counts in all of them. Its path is the node, and then the path
// of each parent. Therefore a charge to a joint counts once in every node above it. A joint has no
// children, and Parent returns None for it. The caller adds up the usage of joints when a session opens.
func BuildForest(nodes []ForestNode) *Tree {
	n := len(nodes)
	t := newTree(n)
	t.joints = make([][]Queue, n)

	for i, node := range nodes {
		q := Queue(i)
		t.nodes[i].Name = node.Name
		t.byName[node.Name] = q
		t.parent[i] = None

		t.path = append(t.path, q)
		for _, p := range node.Parents {
			t.path = append(t.path, t.Path(p)...)
		}

		switch len(node.Parents) {
		case 0:
		case 1:
			t.parent[i] = node.Parents[0]
			t.children[node.Parents[0]]++
		default:
			t.joints[i] = node.Parents
		}

		t.start[i+1] = int32(len(t.path))
	}

	return t
}

// Heads returns the queues at which the parts of the path of q begin: the parents of a joint, or q itself.
// It is for reading.
func (t *Tree) Heads(q Queue) []Queue {
	if t.IsJoint(q) {
		return t.joints[q]
	}
	return t.Path(q)[:1]
}

// IsJoint reports whether q has several parents.
func (t *Tree) IsJoint(q Queue) bool { return len(t.joints) > 0 && t.joints[q] != nil }
