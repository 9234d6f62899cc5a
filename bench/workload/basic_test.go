package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestBasic checks that each node can run a pod of each job, and that no two jobs have the same name.
func TestBasic(t *testing.T) {
	c := Basic{}.Cluster()
	assert.Len(t, c.Nodes, 5000)

	names := map[string]bool{}
	for _, j := range append(Basic{}.First(), Basic{}.Measured()...) {
		names[j.Name] = true
		assert.Len(t, j.Tasks, 1)
		for r, requested := range j.Tasks[0].Request {
			assert.LessOrEqual(t, requested, c.Nodes[0].Allocatable[r], r)
		}
	}
	assert.Len(t, names, 2000)
}
