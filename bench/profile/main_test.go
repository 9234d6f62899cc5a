package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeep keeps the samples below a call, without the paths of the machine and without the making of a cluster.
func TestKeep(t *testing.T) {
	function := func(id uint64, name string) *profile.Function {
		return &profile.Function{ID: id, Name: name, Filename: "/usr/local/go/src/x.go"}
	}
	mapping := &profile.Mapping{ID: 1, File: "/secret/bench.test", HasFunctions: true}
	location := func(id uint64, f *profile.Function) *profile.Location {
		return &profile.Location{ID: id, Mapping: mapping, Line: []profile.Line{{Function: f}}}
	}
	open, leaf, gc := function(1, "p.(*card).OnSessionOpen"), function(2, "p.count"), function(3, "runtime.GC")
	locations := []*profile.Location{location(1, open), location(2, leaf), location(3, gc)}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Mapping:    []*profile.Mapping{mapping},
		Function:   []*profile.Function{open, leaf, gc},
		Location:   locations,
		Sample: []*profile.Sample{
			{Location: []*profile.Location{locations[1], locations[0]}, Value: []int64{1}},
			{Location: []*profile.Location{locations[1]}, Value: []int64{10}},
			{Location: []*profile.Location{locations[2], locations[0]}, Value: []int64{100}},
		},
		Comments: []string{"machine"},
	}

	from := filepath.Join(t.TempDir(), "from")
	file, err := os.Create(from)
	require.NoError(t, err)
	require.NoError(t, p.Write(file))
	require.NoError(t, file.Close())

	to := filepath.Join(t.TempDir(), "to")
	require.NoError(t, keep(from, to, opening))
	raw, err := os.ReadFile(to)
	require.NoError(t, err)
	kept, err := profile.ParseData(raw)
	require.NoError(t, err)

	require.Len(t, kept.Sample, 1)
	assert.Equal(t, []int64{1}, kept.Sample[0].Value)
	assert.Empty(t, kept.Comments)
	assert.Equal(t, "bench.test", kept.Mapping[0].File)
	assert.Equal(t, "x.go", kept.Function[0].Filename)

	assert.ErrorContains(t, keep(from, to, "nothing"), "no sample is below nothing")
}
