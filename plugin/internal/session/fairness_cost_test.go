//go:build !invariants && !race

package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// TestUsageHooksDoNotAllocate is TestCardHooksDoNotAllocate where usage over time orders queues.
func TestUsageHooksDoNotAllocate(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("root", "").queue("team", "root", "quota", `{"A":8}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
		queue("mine", "team", "quota", `{"A":8}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
		queue("other", "root", "quota", `{"A":8}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`).
		pods("one", "mine", "A", 1, 1, inPhase("Inqueue")).pods("two", "other", "A", 1, 1, inPhase("Inqueue")).
		pods("busy", "other", "A", 4, 1, on("a"))
	s.arguments = framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareStore: "none", arguments.FairShareReclaim: 1.5}
	s.annotate("other", "volcano.sh/min-runtime", "1m")
	f := s.open(t)
	var mine, other any = f.queue("mine"), f.queue("other")
	placed := f.task("one-0")
	placed.NodeName = "a"
	event := &framework.Event{Task: placed}
	var busy []*api.TaskInfo
	for _, each := range f.job("busy").Tasks {
		busy = append(busy, each)
	}
	checkGates(t, []gate{
		{"QueueOrder", 0, func() { require.True(t, f.own.queueOrder(mine, other) < 0) }},
		{"Allocate and Deallocate", 0, func() { f.own.OnAllocate(event); f.own.onDeallocate(event) }},
		{"Reclaimable", 1, func() { _, _ = f.own.Reclaim.Reclaimable(placed, busy) }},
	})
}

// TestUsageAllocatesNothingAtOpen opens sessions with and without usage over time.
func TestUsageAllocatesNothingAtOpen(t *testing.T) {
	s := newScene().queue("root", "")
	for i := range 20 {
		s.node(fmt.Sprintf("a%d", i), "A", 8).node(fmt.Sprintf("b%d", i), "B", 8)
		queue := fmt.Sprintf("q%d", i)
		s.queue(queue, "root", "quota", `{"A":4,"B":4}`)
		for j := range 3 {
			s.pods(fmt.Sprintf("run%d.%d", i, j), queue, "A|B", 3, 1, on("a0")).
				pods(fmt.Sprintf("wait%d.%d", i, j), queue, "A|B", 3, 1, members(2), inPhase(workload.Inqueue))
		}
	}
	f := s.open(t)
	open := func(with arguments.FairShare) float64 {
		m, settings := newMemory(), f.own.Settings
		settings.FairShare, settings.Bounds.FairShare.On = with, with.HalfLife > 0
		once := func() { openSession(f.Session, f.own.variant, settings, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	on := arguments.FairShare{HalfLife: time.Hour, Horizon: time.Hour, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
		Of: []string{arguments.FairShareOfCards}, Reclaim: 1.5, Save: time.Hour}
	assert.Equal(t, open(arguments.FairShare{}), open(on))
}
