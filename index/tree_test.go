package index_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
)

func TestBuildTree(t *testing.T) {
	tests := []struct {
		name  string
		nodes []index.Node
		root  string
		want  []string
	}{
		{"no nodes", nil, "", []string{}},
		{"a root alone is a leaf", nodes("root"), "root", []string{"root leaf"}},
		{"an empty parent is the root", nodes("root", "a", "b<root"), "root",
			[]string{"root", "a<root leaf", "b<root leaf"}},
		{"parents before children, then by name", nodes("z<y", "y", "x<y", "b<a", "a", "root"), "root",
			[]string{"root", "a<root", "y<root", "b<a<root leaf", "x<y<root leaf", "z<y<root leaf"}},
		{"the root is added", nodes("a", "b<a"), "root", []string{"root", "a<root", "b<a<root leaf"}},
		{"the root is added to no nodes", nil, "root", []string{"root leaf"}},
		{"the parent of the root does not count", nodes("root<a", "a"), "root", []string{"root", "a<root leaf"}},
		{"a root with another name", nodes("root", "top", "a<root"), "top",
			[]string{"top", "root<top", "a<root<top leaf"}},
		{"the first of two nodes with the same name", nodes("root", "a", "b", "c<a", "c<b"), "root",
			[]string{"root", "a<root", "b<root leaf", "c<a<root leaf"}},
		{"flat", nodes("root", "a", "b<a", "c<nobody"), "",
			[]string{"a leaf", "b leaf", "c leaf", "root leaf"}},
		{"flat cycle", nodes("a<b", "b<a"), "", []string{"a leaf", "b leaf"}},
		{"flat, the first of two nodes with the same name", nodes("a<b", "b", "a<c"), "", []string{"a leaf", "b leaf"}},
		{"unknown parent", nodes("root", "a<nobody", "b<a", "c<b", "d"), "root",
			[]string{"a broken", "root", "b<a broken", "d<root leaf", "c<b<a leaf broken"}},
		{"a queue that is its own parent", nodes("root", "a<a", "b<a", "c"), "root",
			[]string{"a broken", "root", "b<a leaf broken", "c<root leaf"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := index.BuildTree(test.nodes, test.root)
			assert.Equal(t, test.want, outline(tree))
			assert.Equal(t, test.root != "", tree.Rooted())
			assert.Equal(t, tree.Lookup(test.root), tree.Root())
			assert.Equal(t, index.None, tree.Lookup("nobody"))
		})
	}
}

// TestBrokenQueues builds subtrees below cycles and below unknown parents. Broken names the
// reason and the queue at fault, and the other queues reach the root.
func TestBrokenQueues(t *testing.T) {
	sound := nodes("root", "ok", "fine<ok", "finer<fine")
	tests := []struct {
		name    string
		nodes   []index.Node
		want    error
		culprit map[string]string // broken queue → the queue at fault
	}{
		{"unknown parent", nodes("a<nobody", "b<a", "c<b", "d<a"), index.ErrUnknownParent,
			map[string]string{"a": "a", "b": "a", "c": "a", "d": "a"}},
		{"cycle of 1", nodes("a<a", "b<a", "c<b"), index.ErrCycle,
			map[string]string{"a": "a", "b": "a", "c": "a"}},
		{"cycle of 2", nodes("a<b", "b<a", "x<a", "y<b", "z<y"), index.ErrCycle,
			map[string]string{"a": "a", "b": "b", "x": "a", "y": "b", "z": "b"}},
		{"cycle of 5", nodes("a<b", "b<c", "c<d", "d<e", "e<a", "x<c", "y<x", "z<e"), index.ErrCycle,
			map[string]string{"a": "a", "b": "b", "c": "c", "d": "d", "e": "e", "x": "c", "y": "c", "z": "e"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := slices.Concat(test.nodes, sound)
			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				tree := index.BuildTree(all, "root")
				for q := range index.Queue(tree.Len()) {
					err, culprit := tree.Broken(q), test.culprit[tree.Name(q)]
					if culprit == "" {
						require.NoError(t, err, tree.Name(q))
						require.Equal(t, tree.Root(), last(tree.Path(q)))
						continue
					}
					require.ErrorIs(t, err, test.want)
					require.ErrorContains(t, err, fmt.Sprintf("queue %q", culprit))
					require.ErrorContains(t, err, fmt.Sprintf("%q", parentOf(all, culprit)))
					require.Equal(t, culprit, tree.Name(last(tree.Path(q))), "a path ends at the queue at fault")
				}
			}
		})
	}
	assert.False(t, errors.Is(index.ErrCycle, index.ErrUnknownParent))
}

func last(path []index.Queue) index.Queue { return path[len(path)-1] }

func parentOf(all []index.Node, name string) string {
	i := slices.IndexFunc(all, func(n index.Node) bool { return n.Name == name })
	return all[i].Parent
}

// TestNumbersDependOnShapeAlone shuffles the nodes.
func TestNumbersDependOnShapeAlone(t *testing.T) {
	all := nodes("root", "a", "b", "c<a", "d<a", "e<d", "f<e", "g<b", "h<g",
		"lost<nobody", "lost2<lost", "x<y", "y<z", "z<x", "tail<y", "tail2<tail")
	want := outline(index.BuildTree(all, "root"))
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		require.Equal(t, want, outline(index.BuildTree(all, "root")))
	}
}

// TestRandomTrees compares every method of a tree with its definition, for random parents,
// which include unknown parents and cycles.
func TestRandomTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	brokenByCycle, brokenByParent := 0, 0
	for range 500 {
		parents := map[string]string{"root": ""}
		for i := range r.IntN(25) {
			parents[fmt.Sprintf("q%d", i)] = [...]string{
				"", "root", "nobody", fmt.Sprintf("q%d", r.IntN(25)), fmt.Sprintf("q%d", r.IntN(5)),
			}[r.IntN(5)]
		}
		var all []index.Node
		for name, parent := range parents {
			all = append(all, index.Node{Name: name, Parent: parent})
		}
		tree := index.BuildTree(all, "root")
		require.Equal(t, len(parents), tree.Len())

		children := map[index.Queue]int{}
		for q := range index.Queue(tree.Len()) {
			path, p := tree.Path(q), tree.Parent(q)
			require.Equal(t, q, path[0])
			require.Equal(t, len(path)-1, tree.Depth(q))
			require.Equal(t, q, tree.Lookup(tree.Name(q)))
			require.Less(t, p, q, "a parent has the smaller number")
			if p == index.None {
				require.Len(t, path, 1)
			} else {
				require.Equal(t, path[1:], tree.Path(p))
				children[p]++
			}
			reason := definition(parents, tree.Name(q))
			require.ErrorIs(t, tree.Broken(q), reason, "%v: %s", parents, tree.Name(q))
			require.Equal(t, reason == nil, last(path) == tree.Root())
			switch reason {
			case index.ErrCycle:
				brokenByCycle++
			case index.ErrUnknownParent:
				brokenByParent++
			}
		}
		for q := range index.Queue(tree.Len()) {
			require.Equal(t, children[q] == 0, tree.IsLeaf(q))
		}
	}
	assert.Greater(t, brokenByCycle, 100, "too few cycles")
	assert.Greater(t, brokenByParent, 100, "too few unknown parents")
}

// definition walks up from a queue, and returns why it does not reach the root.
func definition(parents map[string]string, name string) error {
	for range len(parents) {
		if name == "root" {
			return nil
		}
		parent := parents[name]
		if parent == "" {
			return nil
		}
		if _, ok := parents[parent]; !ok {
			return index.ErrUnknownParent
		}
		name = parent
	}
	return index.ErrCycle
}

// TestPathsShareNothing appends to every path of a deep tree. No other path changes.
func TestPathsShareNothing(t *testing.T) {
	var queues []string
	parent := "root"
	for depth := range 12 {
		for sibling := range 8 {
			queues = append(queues, fmt.Sprintf("q%d-%d<%s", depth, sibling, parent))
		}
		parent = fmt.Sprintf("q%d-0", depth)
	}
	tree := index.BuildTree(nodes(queues...), "root")
	want := outline(tree)
	for q := range index.Queue(tree.Len()) {
		_ = append(tree.Path(q), 98, 99)
		require.Equal(t, want, outline(tree), "after appending to the path of %s", tree.Name(q))
	}
	deepest := lookup(t, tree, "q11-7")
	assert.Equal(t, 12, tree.Depth(deepest))
	assert.Len(t, tree.Path(deepest), 13)
}
