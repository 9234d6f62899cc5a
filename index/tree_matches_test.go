package index_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
)

func TestMatches(t *testing.T) {
	before := nodes("root", "a", "b", "c<a")
	tests := []struct {
		name   string
		before []index.Node
		root   string
		after  []index.Node
		asRoot string
		want   bool
	}{
		{"the same nodes", before, "root", before, "root", true},
		{"another order", before, "root", nodes("c<a", "b", "root", "a"), "root", true},
		{"flat", before, "", before, "", true},
		{"no nodes, flat", nil, "", nil, "", true},
		{"the same broken queues", nodes("root", "a<nobody", "b<c", "c<b"), "root",
			nodes("root", "a<nobody", "b<c", "c<b"), "root", true},
		{"the same nodes with an added root", nodes("a", "b<a"), "root", nodes("b<a", "a"), "root", true},
		{"an added root alone", nil, "root", nil, "root", true},
		{"another parent", before, "root", nodes("root", "a", "b", "c<b"), "root", false},
		{"a parent that no longer exists", before, "root", nodes("root", "a", "b", "c<nobody"), "root", false},
		{"one more node", before, "root", nodes("root", "a", "b", "c<a", "d"), "root", false},
		{"one node less", before, "root", nodes("root", "a", "b"), "root", false},
		{"no nodes left", before, "root", nil, "root", false},
		{"another name", before, "root", nodes("root", "a", "d", "c<a"), "root", false},
		{"from a tree to flat", before, "root", before, "", false},
		{"from flat to a tree", before, "", before, "root", false},
		{"an added root, and another parent", nodes("a", "b<a"), "root", nodes("a", "b"), "root", false},
		{"an added root, and one more node", nodes("a"), "root", nodes("a", "b"), "root", false},
		{"an added root that becomes a node", nodes("a"), "root", nodes("root"), "root", false},
		{"another root", nodes("root", "top"), "root", nodes("root", "top"), "top", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := index.BuildTree(test.before, test.root)
			assert.Equal(t, test.want, tree.Matches(len(test.after), slices.Values(test.after), test.asRoot))
		})
	}
	t.Run("fewer nodes than their number", func(t *testing.T) {
		tree := index.BuildTree(before, "root")
		assert.False(t, tree.Matches(len(before), slices.Values(before[1:]), "root"))
	})
	t.Run("no tree", func(t *testing.T) {
		var tree *index.Tree
		assert.False(t, tree.Matches(0, slices.Values([]index.Node(nil)), ""))
	})
}

// TestMatchesOnlyWhatBuildsTheSame changes one random queue. If the tree still matches,
// BuildTree returns the same tree.
func TestMatchesOnlyWhatBuildsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	matched := 0
	for range 2000 {
		before := randomNodes(r, 1+r.IntN(6))
		if r.IntN(4) == 0 {
			before = slices.DeleteFunc(before, func(n index.Node) bool { return n.Name == "root" })
		}
		after := slices.Clone(before)
		i := r.IntN(len(after))
		switch r.IntN(5) {
		case 0:
			after[i].Parent = after[r.IntN(len(after))].Name
		case 1:
			after[i].Name = "other"
		case 2:
			after = slices.Delete(after, i, i+1)
		case 3:
			after = append(after, index.Node{Name: "other", Parent: after[i].Name})
		default:
			r.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
		}
		tree := index.BuildTree(before, "root")
		if !tree.Matches(len(after), slices.Values(after), "root") {
			continue
		}
		matched++
		require.Equal(t, outline(tree), outline(index.BuildTree(after, "root")), "%v, then %v", before, after)
	}
	assert.Greater(t, matched, 300, "too few trees matched")
}
