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
		{"the same", before, "root", before, "root", true},
		{"another order", before, "root", nodes("c<a", "b", "root", "a"), "root", true},
		{"flat", before, "", before, "", true},
		{"nothing, flat", nil, "", nil, "", true},
		{"broken ones, the same", nodes("root", "a<nobody", "b<c", "c<b"), "root",
			nodes("root", "a<nobody", "b<c", "c<b"), "root", true},
		{"a made-up root, the same", nodes("a", "b<a"), "root", nodes("b<a", "a"), "root", true},
		{"a made-up root and nothing else", nil, "root", nil, "root", true},
		{"another parent", before, "root", nodes("root", "a", "b", "c<b"), "root", false},
		{"a parent that turned unknown", before, "root", nodes("root", "a", "b", "c<nobody"), "root", false},
		{"one more", before, "root", nodes("root", "a", "b", "c<a", "d"), "root", false},
		{"one less", before, "root", nodes("root", "a", "b"), "root", false},
		{"none left", before, "root", nil, "root", false},
		{"another name", before, "root", nodes("root", "a", "d", "c<a"), "root", false},
		{"flat now", before, "root", before, "", false},
		{"a tree now", before, "", before, "root", false},
		{"a made-up root, and another parent", nodes("a", "b<a"), "root", nodes("a", "b"), "root", false},
		{"a made-up root, and one more", nodes("a"), "root", nodes("a", "b"), "root", false},
		{"a made-up root that turned up, without the other", nodes("a"), "root", nodes("root"), "root", false},
		{"another root", nodes("root", "top"), "root", nodes("root", "top"), "top", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := index.BuildTree(test.before, test.root)
			assert.Equal(t, test.want, tree.Matches(len(test.after), slices.Values(test.after), test.asRoot))
		})
	}
	t.Run("fewer nodes than announced", func(t *testing.T) {
		tree := index.BuildTree(before, "root")
		assert.False(t, tree.Matches(len(before), slices.Values(before[1:]), "root"))
	})
	t.Run("no tree yet", func(t *testing.T) {
		var tree *index.Tree
		assert.False(t, tree.Matches(0, slices.Values([]index.Node(nil)), ""))
	})
}

// TestMatchesOnlyWhatBuildsTheSame changes one queue by chance, and expects a
// tree that matches to be the one that would be built.
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
