package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/bench/load"
)

// TestPlaced counts pods with a node: an evicted pod and pods of other jobs do not count.
func TestPlaced(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	s := newSightings()
	s.pods = map[types.UID]*sighting{
		"a": {job: "fill-1", bound: at(3)},
		"b": {job: "fill-2", bound: at(1), ended: at(4)},
		"c": {job: "fill-2"},
		"d": {job: "many-1", bound: at(9)},
	}

	pods, last := s.placed(map[string]bool{"fill-1": true, "fill-2": true})
	assert.Equal(t, 1, pods)
	assert.Equal(t, at(3), last)
}

// TestKAITable says which step a scheduler did not complete.
func TestKAITable(t *testing.T) {
	runs := []load.Result{
		{Scheduler: "upstream", Steps: map[string]float64{filled: 90}},
		{Scheduler: "ours", Steps: map[string]float64{filled: 60, gangStarted: 20}},
	}
	table := peerReport{report{&load.Report{Runs: runs}}, kai}.Table()
	assert.Contains(t, table, "| jobs of a GPU fill the nodes, s | 90.0 | 60.0 |\n")
	assert.Contains(t, table, "| a gang takes half of the nodes back, s | not reached | 20.0 |\n")

	alone := peerReport{report{&load.Report{Runs: runs[1:]}}, kai}.Table()
	assert.Contains(t, alone, "| | ours |\n")
}
