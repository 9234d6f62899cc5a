package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKAIScale has the numbers of KAI's tests: 4,000 jobs of a GPU, and a gang of 2,000 GPUs.
func TestKAIScale(t *testing.T) {
	k := KAIScale{Nodes: KAINodes}
	assert.Len(t, k.Cluster().Nodes, 500)
	assert.Len(t, k.Fill(), 4000)
	assert.Len(t, k.Many(), 4000)

	gpus := int64(0)
	gang := k.Gang()
	for _, task := range gang.Tasks {
		gpus += task.Request[gpu]
	}
	assert.EqualValues(t, 2000, gpus)
	assert.EqualValues(t, 250, gang.MinMember)
}
