package replay

import (
	"cmp"
	"context"
	"flag"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

var days = flag.Int("days", 6, "how many days TestSoak simulates")

// kept has the memory, goroutines and series of a process after a simulated day.
type kept struct {
	heap               uint64 // bytes
	goroutines, series int
	sessions           int
}

// TestSoak simulates days of a busy cluster. Its queues use all settings that keep state from one session to the
// next: usage over time, budgets of card-hours and of evictions, enforced quotas, windows and damping. The heap,
// goroutines and series of the process do not grow.
func TestSoak(t *testing.T) {
	s := setup(t, 4, []share{{"root", "", 32}, {"a", "root", 16}, {"b", "root", 8}, {"c", "root", 8}},
		", fairShareHalfLife: 24h, stateStore: none, reclaimCompares: damped=3")
	lasting := map[string]string{
		card.BudgetKey: `{"H": "400h/day"}`, policy.EvictionBudgetKey: "lose=20/1h,take=20/1h",
		policy.EnforceQuotaKey: "after=10m", policy.MinRuntimeKey: "reclaim=10m",
		policy.OverrideKey: `[{"days": "Mon-Sun", "from": "20:00", "until": "06:00", "card.quota": {"H": 12}}]`,
	}
	for _, q := range s.Queues[1:] {
		for key, value := range lasting {
			q.Annotations[key] = value
		}
	}
	var after []kept
	s.Progress = func(p Progress) {
		if p.Now < time.Duration(len(after)+1)*24*time.Hour {
			return
		}
		after = append(after, measured(t, p.Sessions))
		last := after[len(after)-1]
		t.Logf("day %2d: %5.1f MB, %d goroutines, %d series, %d sessions, %d of %d jobs ended", len(after), float64(last.heap)/1e6,
			last.goroutines, last.series, last.sessions, p.Ended, p.Jobs)
	}
	loads := []trace.Load{}
	for _, queue := range []string{"a", "b", "c"} {
		loads = append(loads, trace.Load{Queue: queue, Users: []string{"x", "y"}, Card: "H", Node: 8, Most: 16, Night: 0.5, Day: 3, Hours: 1})
	}
	r := Run(context.Background(), s, trace.Make(1, time.Duration(*days)*24*time.Hour, 1e6, loads))
	require.GreaterOrEqual(t, len(after), *days-1)
	assert.NotZero(t, r.Evicted)
	half := len(after) / 2
	heap, series := func(k kept) uint64 { return k.heap }, func(k kept) uint64 { return uint64(k.series) }
	assert.LessOrEqual(t, smallest(after[half:], heap), largest(after[:half], heap), "bytes")
	assert.LessOrEqual(t, smallest(after[half:], series), largest(after[:half], series), "series")
	assert.LessOrEqual(t, after[len(after)-1].goroutines, after[0].goroutines, "goroutines: one of the start of the process may have ended")
}

// smallest and largest return the bounds of a figure. A figure varies because waiting jobs come and go, together with
// the data that is kept for them.
func smallest(days []kept, of func(kept) uint64) uint64 {
	return of(slices.MinFunc(days, func(a, b kept) int { return cmp.Compare(of(a), of(b)) }))
}

func largest(days []kept, of func(kept) uint64) uint64 {
	return of(slices.MaxFunc(days, func(a, b kept) int { return cmp.Compare(of(a), of(b)) }))
}

// measured returns the heap, goroutines and series of the process after a garbage collection.
func measured(t *testing.T, sessions int) kept {
	t.Helper()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	k := kept{heap: memory.HeapAlloc, goroutines: runtime.NumGoroutine(), sessions: sessions}
	for _, family := range families {
		k.series += len(family.Metric)
	}
	return k
}
