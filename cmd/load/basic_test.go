package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/load"
)

// TestThroughput reads the mean of the throughput from a line of scheduler_perf.
func TestThroughput(t *testing.T) {
	line := "BenchmarkPerfScheduling/SchedulingBasic/5000Nodes-2 \t 1\t 97.39 SchedulingThroughput/Average\t" +
		" 83.00 SchedulingThroughput/Perc50"
	assert.Equal(t, "97.39", string(throughput.FindSubmatch([]byte(line))[1]))
	assert.Nil(t, throughput.FindSubmatch([]byte("PASS")))
}

// TestBasicTable puts kube-scheduler first.
func TestBasicTable(t *testing.T) {
	setting := load.Setting{Pods: 1000}
	runs := []load.Result{
		{Scheduler: "upstream"},
		{Scheduler: "ours", Steps: map[string]float64{basicStep: 20}},
		{Scheduler: kubeScheduler, Steps: map[string]float64{basicStep: 10}},
	}
	table := peerReport{report{&load.Report{Setting: setting, Runs: runs}}, kubeScheduler}.Table()
	assert.Contains(t, table, "| | kube-scheduler | upstream | ours |\n")
	assert.Contains(t, table, "| pods that get a node, per second | 100 | not reached | 50.0 |\n")
}

// TestReach keeps a step that was completed alone.
func TestReach(t *testing.T) {
	var r load.Result
	r.Reach("late", r.Step("missing"))
	assert.Empty(t, r.Steps)

	r.Reach(basicStep, 3)
	assert.InDelta(t, 3, r.Step(basicStep), 0)
}
