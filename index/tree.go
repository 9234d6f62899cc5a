package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Queue identifies a queue within one session. Queues are numbered from 0, parents before
// children.
type Queue int32

// None is no queue: the parent of a top queue, or the result of a failed look-up.
const None Queue = -1

// RootName is the name of the queue at the root of every tree. Every other queue is
// below it.
//
// Source: Volcano, pkg/scheduler/plugins/capacity/capacity.go, rootQueueID.
const RootName = "root"

// The errors of queues that do not reach the root. See Tree.Broken.
var (
	ErrUnknownParent = errors.New("the parent queue does not exist")
	ErrCycle         = errors.New("the parents form a cycle")
)

// Node is the configuration of a queue's place in the tree.
type Node struct {
	Name   string
	Parent string // "" is the root
	// Misplaced is why the queue cannot have a place in the tree, or nil.
	Misplaced error
}

// Tree holds the names of the queues of a session, their parents, and their paths. It
// does not change after BuildTree.
type Tree struct {
	nodes  []Node
	byName map[string]Queue
	parent []Queue
	// path holds the paths of all queues. The path of q is path[start[q]:start[q+1]].
	//
	// DIVERGES: upstream appends to slices of ancestors that siblings share. From
	// depth 7 on it counts jobs in the wrong queues.
	path     []Queue
	start    []int32
	children []int32 // the number of child queues
	broken   []error
	joints   [][]Queue // the parents of each joint; empty unless the tree is a forest
	root     Queue
	given    int // the number of nodes that were given, without an added root
}

// BuildTree builds the tree of the given nodes. root is the name of the root queue,
// usually RootName. If no node has this name, BuildTree adds the root. A queue that does
// not reach the root is broken, and the other queues are not affected. If root is "", the
// mode is flat: no queue has a parent, whatever its node says.
//
// Queues are numbered by depth, and by name within one depth. The numbers do not depend
// on the order of the nodes. Of two nodes with the same name the first counts.
func BuildTree(nodes []Node, root string) *Tree {
	b := builder{byName: make(map[string]int, len(nodes)+1)}
	for _, n := range nodes {
		b.add(n)
	}

	given := len(b.nodes)
	if root != "" {
		b.add(Node{Name: root})
		b.link(root)
	}

	t := b.number(root)
	t.given = given

	return t
}

// Matches reports whether BuildTree(nodes, root) would return this tree again. The n nodes
// have distinct names and come in any order. A nil tree matches nothing.
func (t *Tree) Matches(n int, nodes func(yield func(Node) bool), root string) bool {
	if t == nil || t.Rooted() != (root != "") || t.Rooted() && t.Name(t.root) != root {
		return false
	}

	rootAdded := t.given < len(t.nodes)
	known := 0
	for node := range nodes {
		q, ok := t.byName[node.Name]
		if !ok || t.nodes[q].Parent != node.Parent || rootAdded && q == t.root {
			return false
		}
		known++
	}

	return known == n && n == t.given
}

// Len returns the number of queues.
func (t *Tree) Len() int { return len(t.nodes) }

// Rooted reports whether the queues form a tree. If not, the mode is flat.
func (t *Tree) Rooted() bool { return t.root != None }

// Root returns the root queue, or None in flat mode.
func (t *Tree) Root() Queue { return t.root }

// Lookup returns the queue with a name, or None.
func (t *Tree) Lookup(name string) Queue {
	if q, ok := t.byName[name]; ok {
		return q
	}

	return None
}

// Name returns the name of q.
func (t *Tree) Name(q Queue) string { return t.nodes[q].Name }

// Parent returns the parent of q, or None for a top queue.
func (t *Tree) Parent(q Queue) Queue { return t.parent[q] }

// ParentOrSelf returns the parent of q, or q itself if it does not reach the root: such a queue has no siblings.
func (t *Tree) ParentOrSelf(q Queue) Queue {
	if t.broken[q] != nil {
		return q
	}
	return t.parent[q]
}

// Path returns q and its ancestors, from q up. It is for reading.
func (t *Tree) Path(q Queue) []Queue {
	from, to := t.start[q], t.start[q+1]
	return t.path[from:to:to]
}

// Depth returns the number of ancestors of q.
func (t *Tree) Depth(q Queue) int { return int(t.start[q+1]-t.start[q]) - 1 }

// IsLeaf reports whether q has no children.
func (t *Tree) IsLeaf(q Queue) bool { return t.children[q] == 0 }

// Children returns the child queues of q. It visits every queue with a larger number.
func (t *Tree) Children(q Queue) (children []Queue) {
	for c := q + 1; int(c) < t.Len() && t.children[q] > int32(len(children)); c++ {
		if t.parent[c] == q {
			children = append(children, c)
		}
	}

	return children
}

// Broken returns why q does not reach the root, or nil if it does. The error wraps
// ErrUnknownParent or ErrCycle and names the queue at fault, which may be an ancestor of
// q. Or it is Node.Misplaced of q or an ancestor. In flat mode it is nil.
func (t *Tree) Broken(q Queue) error { return t.broken[q] }

// newTree returns a tree of n queues without names and parents.
func newTree(n int) *Tree {
	return &Tree{
		nodes:    make([]Node, n),
		byName:   make(map[string]Queue, n),
		parent:   make([]Queue, n),
		start:    make([]int32, n+1),
		children: make([]int32, n),
		broken:   make([]error, n),
		root:     None,
		given:    n,
	}
}

// builder is a tree under construction, in the order of the given nodes.
type builder struct {
	nodes  []Node
	byName map[string]int
	parent []int // -1 for a top queue
	depth  []int
	broken []error
}

func (b *builder) add(n Node) {
	if _, ok := b.byName[n.Name]; ok {
		return
	}

	b.byName[n.Name] = len(b.nodes)
	b.nodes = append(b.nodes, n)
	b.parent = append(b.parent, -1)
	b.depth = append(b.depth, 0)
	b.broken = append(b.broken, nil)
}

// link sets parents and depths, and finds the queues that do not reach the root.
func (b *builder) link(root string) {
	b.linkParents(root)

	const unvisited, onChain, done = 0, 1, 2
	state := make([]int, len(b.nodes))
	var chain []int
	for i := range b.nodes {
		chain = chain[:0]
		at := i
		for at >= 0 && state[at] == unvisited {
			state[at] = onChain
			chain = append(chain, at)
			at = b.parent[at]
		}
		if at >= 0 && state[at] == onChain {
			b.breakCycle(chain[slices.Index(chain, at):])
		}

		// From the top down: a queue follows its parent in depth and in being broken.
		for _, c := range slices.Backward(chain) {
			state[c] = done
			if p := b.parent[c]; p >= 0 {
				b.depth[c] = b.depth[p] + 1
				b.broken[c] = b.broken[p]
			}
		}
	}
}

// linkParents sets the parents of all queues but the root. A queue without a valid parent is broken.
func (b *builder) linkParents(root string) {
	for i, n := range b.nodes {
		if n.Name == root {
			continue
		}
		if n.Misplaced != nil {
			b.broken[i] = n.Misplaced
			continue
		}

		parent := cmp.Or(n.Parent, root)
		p, ok := b.byName[parent]
		if !ok {
			b.broken[i] = fmt.Errorf("queue %q: %w: %q", n.Name, ErrUnknownParent, parent)
			continue
		}
		b.parent[i] = p
	}
}

// breakCycle makes each queue of a cycle a top queue.
func (b *builder) breakCycle(members []int) {
	for _, m := range members {
		b.broken[m] = fmt.Errorf("queue %q: %w: its parent is %q", b.nodes[m].Name, ErrCycle, b.nodes[m].Parent)
	}

	for _, m := range members {
		b.parent[m] = -1
	}
}

// number sorts the nodes by depth and name, and fills the slices of the tree.
func (b *builder) number(root string) *Tree {
	n := len(b.nodes)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.depth[x], b.depth[y]), cmp.Compare(b.nodes[x].Name, b.nodes[y].Name))
	})

	t := newTree(n)
	number := make([]Queue, n)
	for q, i := range order {
		number[i] = Queue(q)
		t.nodes[q] = b.nodes[i]
		t.broken[q] = b.broken[i]
		t.parent[q] = None
		t.byName[b.nodes[i].Name] = Queue(q)
	}

	// A parent has a smaller number, so its path is complete.
	for q, i := range order {
		t.path = append(t.path, Queue(q))
		if p := b.parent[i]; p >= 0 {
			t.parent[q] = number[p]
			t.children[number[p]]++
			t.path = append(t.path, t.Path(number[p])...)
		}
		t.start[q+1] = int32(len(t.path))
	}

	if root != "" {
		t.root = t.byName[root]
	}

	return t
}
