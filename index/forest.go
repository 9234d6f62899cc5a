package index

// ForestNode is a node of a forest.
type ForestNode struct {
	Name string // unique
	// Parents are the nodes above: none, one, or several whose paths share no node. All come before the node.
	Parents []Queue
}

// BuildForest builds a tree without a root. Node i becomes queue i.
//
// A node with several parents is a joint: it counts in all of them. Its path is the node, and then the path
// of each parent. So what is charged to a joint is charged once in every node that it is in. It has no
// children, and Parent returns None for it: what parents get from children when a session opens is the
// business of the caller.
func BuildForest(nodes []ForestNode) *Tree {
	n := len(nodes)
	t := &Tree{
		nodes: make([]Node, n), byName: make(map[string]Queue, n), parent: make([]Queue, n),
		start: make([]int32, n+1), children: make([]int32, n), broken: make([]error, n), joints: make([][]Queue, n), root: None, given: n,
	}
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

// Heads returns where the paths begin that the path of q is made of: the parents of a joint, or q itself.
// It is for reading.
func (t *Tree) Heads(q Queue) []Queue {
	if t.IsJoint(q) {
		return t.joints[q]
	}
	return t.Path(q)[:1]
}

// IsJoint reports whether q has several parents.
func (t *Tree) IsJoint(q Queue) bool { return len(t.joints) > 0 && t.joints[q] != nil }
