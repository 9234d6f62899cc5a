package index_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

func TestNamesKeepTheirDimension(t *testing.T) {
	var names index.Names
	dims := map[string]fastres.Dim{}
	for i := range 200 {
		name := fmt.Sprintf("example.com/device-%d", i)
		dims[name] = names.Intern(name)
		require.Equal(t, fastres.FirstFree+fastres.Dim(i), dims[name], "dimensions are dense")
	}
	for name, d := range dims {
		assert.Equal(t, d, names.Intern(name), "a name keeps its dimension")
		assert.Equal(t, name, names.Name(d))
		found, ok := names.Lookup(name)
		assert.True(t, ok)
		assert.Equal(t, d, found)
	}
	assert.Equal(t, int(fastres.FirstFree)+200, names.Len())
}

func TestNamesFixedDimensions(t *testing.T) {
	fixed := map[string]fastres.Dim{"cpu": fastres.CPU, "memory": fastres.Memory, "pods": fastres.Pods}
	for name, d := range fixed {
		t.Run(name+" before any", func(t *testing.T) {
			var names index.Names
			assert.Equal(t, name, names.Name(d))
			found, ok := names.Lookup(name)
			assert.True(t, ok)
			assert.Equal(t, d, found)
		})
		t.Run(name+" first", func(t *testing.T) {
			var names index.Names
			assert.Equal(t, d, names.Intern(name))
			assert.Equal(t, fastres.FirstFree, names.Intern("other"))
		})
		t.Run(name+" after another", func(t *testing.T) {
			var names index.Names
			assert.Equal(t, fastres.FirstFree, names.Intern("other"))
			found, ok := names.Lookup(name)
			assert.True(t, ok)
			assert.Equal(t, d, found)
			assert.Equal(t, d, names.Intern(name))
			assert.Equal(t, name, names.Name(d))
		})
	}
}

func TestNamesLookupInternsNothing(t *testing.T) {
	var names index.Names
	_, ok := names.Lookup("nvidia.com/gpu")
	assert.False(t, ok, "the zero Names has no such name")
	names.Intern("other")
	before := names.Len()
	_, ok = names.Lookup("nvidia.com/gpu")
	assert.False(t, ok)
	assert.Equal(t, before, names.Len())
	assert.Equal(t, fastres.FirstFree+1, names.Intern("nvidia.com/gpu"))
}

func TestNamesLen(t *testing.T) {
	var names index.Names
	assert.Equal(t, int(fastres.FirstFree), names.Len(), "every vector has the fixed dimensions")
	names.Intern("cpu")
	assert.Equal(t, int(fastres.FirstFree), names.Len())
	names.Intern("nvidia.com/gpu")
	assert.Equal(t, int(fastres.FirstFree)+1, names.Len())
}

// TestSharesAreExact adds the shares of a group in parts of a card, and subtracts them in the same order. Nothing is
// left.
func TestSharesAreExact(t *testing.T) {
	share, sum := index.Share{Weight: 0.3}, 0.0
	for n := range 64 {
		part := index.RoundDown(1000 / float64(n+1))
		sum += share.Of(part)
		assert.Equal(t, -share.Of(part), share.Of(-part), n)
		assert.LessOrEqual(t, share.Of(part), 0.3*part, n)
	}
	for n := range 64 {
		sum -= share.Of(index.RoundDown(1000 / float64(n+1)))
	}
	assert.Zero(t, sum)
}
