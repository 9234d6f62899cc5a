package plugin

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestTalliesAgree counts the same jobs alone and with others, and expects the
// same accounts.
func TestTalliesAgree(t *testing.T) {
	shape := workload.Shape{Name: "tallies", Nodes: 20, Fanout: []int{3, 4}, Jobs: 1500, TasksPerJob: 3}
	count := func(processors int) *session {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		info, err := cluster.Build(shape.Make(1), "/tallies")
		require.NoError(t, err)
		ssn := offline.Open(offline.NewCache(info), nil)
		ssn.Tiers = offline.Tiers(true, CapacityName)
		o := openSession(ssn, capacityBuilder.variant, settings{}, newMemory())
		assert.Len(t, o.tallies, processors)
		return o
	}
	alone, many := count(1), count(4)
	for q := range index.Queue(alone.ix.Len()) {
		same := many.ix.Lookup(alone.ix.Name(q))
		assert.Equal(t, alone.resourceOf(alone.ix.Allocated(q)), many.resourceOf(many.ix.Allocated(same)), alone.ix.Name(q))
		assert.Equal(t, alone.resourceOf(alone.ix.Request.Row(q)), many.resourceOf(many.ix.Request.Row(same)), alone.ix.Name(q))
		assert.Equal(t, alone.resourceOf(alone.ix.Inqueue.Row(q)), many.resourceOf(many.ix.Inqueue.Row(same)), alone.ix.Name(q))
		assert.Equal(t, alone.resourceOf(alone.ix.Elastic.Row(q)), many.resourceOf(many.ix.Elastic.Row(same)), alone.ix.Name(q))
		assert.Equal(t, alone.jobsOf[q], many.jobsOf[same])
	}
	assert.Positive(t, alone.ix.Allocated(alone.ix.Root()).Get(0))
	assert.Positive(t, alone.ix.Inqueue.Row(0).Get(0))
}
