//go:build !invariants && !race

package session_test

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
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestUsageHooksDoNotAllocate is TestCardHooksDoNotAllocate where usage over time orders queues.
func TestUsageHooksDoNotAllocate(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "").Queue("team", "root", "quota", `{"A":8}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
		Queue("mine", "team", "quota", `{"A":8}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
		Queue("other", "root", "quota", `{"A":8}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`).
		Pods("one", "mine", "A", 1, 1, testbed.InPhase("Inqueue")).Pods("two", "other", "A", 1, 1, testbed.InPhase("Inqueue")).
		Pods("busy", "other", "A", 4, 1, testbed.On("a"))
	s.Arguments = framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: "none", arguments.FairShareReclaim: 1.5}
	s.Annotate("other", "volcano.sh/min-runtime", "reclaim=1m")
	f := s.Open(t)
	var mine, other any = f.Queue("mine"), f.Queue("other")
	placed := f.Task("one-0")
	placed.NodeName = "a"
	event := &framework.Event{Task: placed}
	var busy []*api.TaskInfo
	for _, each := range f.Job("busy").Tasks {
		busy = append(busy, each)
	}
	checkGates(t, []gate{
		{"QueueOrder", 0, func() { require.True(t, f.Own.QueueOrder(mine, other) < 0) }},
		{"Allocate and Deallocate", 0, func() { f.Own.OnAllocate(event); f.Own.OnDeallocate(event) }},
		{"Reclaimable", 1, func() { _, _ = f.Own.Reclaim.Reclaimable(placed, busy) }},
	})
}

// TestUsageAllocatesNothingAtOpen opens sessions with and without usage over time.
func TestUsageAllocatesNothingAtOpen(t *testing.T) {
	s := testbed.NewScene().Queue("root", "")
	for i := range 20 {
		s.Node(fmt.Sprintf("a%d", i), "A", 8).Node(fmt.Sprintf("b%d", i), "B", 8)
		queue := fmt.Sprintf("q%d", i)
		s.Queue(queue, "root", "quota", `{"A":4,"B":4}`)
		for j := range 3 {
			s.Pods(fmt.Sprintf("run%d.%d", i, j), queue, "A|B", 3, 1, testbed.On("a0")).
				Pods(fmt.Sprintf("wait%d.%d", i, j), queue, "A|B", 3, 1, testbed.Members(2), testbed.InPhase(workload.Inqueue))
		}
	}
	f := s.Open(t)
	open := func(with arguments.FairShare) float64 {
		m, settings := session.NewMemory(), f.Own.Settings
		settings.FairShare, settings.Bounds.FairShare.On = with, with.HalfLife > 0
		once := func() { session.Open(f.Session, f.Own.Variant, settings, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	on := arguments.FairShare{HalfLife: time.Hour, Horizon: time.Hour, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
		Of: []string{arguments.FairShareOfCards}, Reclaim: 1.5, Save: time.Hour}
	assert.Equal(t, open(arguments.FairShare{}), open(on))
}
