package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestReport simulates two hours of each row.
func TestReport(t *testing.T) {
	offline.Quiet()
	var text bytes.Buffer
	require.NoError(t, report(&text, 1, 2*time.Hour))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	require.Len(t, lines, 7, text.String())
	for i, row := range []string{"minimums     volcano", "minimums     leastWork", "nothing      volcano", "nothing      leastWork"} {
		assert.True(t, strings.HasPrefix(lines[3+i], row), lines[3+i])
	}
}

// TestLosses evicts one pod of a gang of two, and one of a job that can spare it.
func TestLosses(t *testing.T) {
	for minimum, want := range map[int32]losses{
		1: {evictions: 1, cards: 8, podHours: 2, cardHours: 16},
		2: {evictions: 1, cards: 8, podHours: 5, cardHours: 40},
	} {
		w := &world{now: 5 * time.Hour}
		j := &job{runtime: 10 * time.Hour, gpus: 8, ends: []time.Duration{12 * time.Hour, 13 * time.Hour}}
		j.MinMember = minimum
		j.Tasks = append(j.Tasks, running("a"), running("b"))
		w.follow(j, &offline.Cache{Evicted: []string{"b"}})
		assert.Equal(t, want, w.losses)
	}
}

func running(name string) workload.Task {
	return workload.Task{Name: name, Status: workload.TaskRunning, Node: "n"}
}
