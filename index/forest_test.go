package index

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestForest has a chain, a node by itself, and a joint of both.
func TestForest(t *testing.T) {
	tree := BuildForest([]ForestNode{{Name: "top"}, {Name: "below", Parents: []Queue{0}}, {Name: "alone"}, {Name: "joint", Parents: []Queue{1, 2}}})
	top, below, alone, joint := Queue(0), Queue(1), Queue(2), Queue(3)
	assert.False(t, tree.Rooted())
	for q, want := range [][]Queue{{top}, {below, top}, {alone}, {joint, below, top, alone}} {
		assert.Equal(t, want, tree.Path(Queue(q)), tree.Name(Queue(q)))
	}
	assert.Equal(t, []Queue{below, alone}, tree.Heads(joint))
	assert.Equal(t, []Queue{below}, tree.Heads(below))
	assert.Equal(t, []Queue{top}, tree.Heads(top))
	assert.True(t, tree.IsJoint(joint))
	assert.False(t, tree.IsJoint(below))
	assert.Equal(t, None, tree.Parent(joint))
	assert.True(t, tree.IsLeaf(joint))
	assert.Equal(t, []Queue{below}, tree.Children(top))
	assert.Empty(t, tree.Children(alone), "a joint is no child")
	assert.Equal(t, joint, tree.Lookup("joint"))

	flat := BuildTree([]Node{{Name: "q"}}, "")
	assert.Equal(t, []Queue{0}, flat.Heads(0))
	assert.False(t, flat.IsJoint(0))
}
