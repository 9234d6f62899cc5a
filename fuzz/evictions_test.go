package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// FuzzEvictions compares budgets of evictions, the bounds that enforce-quota leaves, and the pods that it evicts with
// the oracle.
func FuzzEvictions(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		compareCounts(t, r)
		compareTolerated(t, r)
		for range 3 {
			compareEnforced(t, r)
		}
	})
}

// TestEnforcedFollowsTheDocumentation compares many draws, in which each rule of the order decides.
func TestEnforcedFollowsTheDocumentation(t *testing.T) {
	for seed := range uint64(5000) {
		compareEnforced(t, rand.New(rand.NewPCG(seed, 4)))
	}
}

var evening = time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC)

// compareCounts evicts at random times within a budget. Records keep whole milliseconds, so the times are whole.
func compareCounts(t *testing.T, r *rand.Rand) {
	var l evict.Ledger
	var all oracle.Evictions
	now, most, length := evening, 1+r.IntN(4), time.Duration(1+r.IntN(4))*time.Minute
	for range 20 {
		now = now.Add(time.Duration(r.IntN(90_000)) * time.Millisecond)
		l.Taken.Begin(now, func(string) time.Duration { return length })
		left := all.Left(now, most, length)
		require.Equal(t, left, max(0, most-l.Taken.Used("q", now, length)))
		require.True(t, all.Next(now, most, length).Equal(l.Taken.Next("q", now, most, length)))
		for range r.IntN(left + 1) {
			all = append(all, now)
			l.Taken.Add("q", now, length, 1)
		}
	}
}

// compareTolerated has a queue above bounds that change.
func compareTolerated(t *testing.T, r *rand.Rand) {
	var l evict.Ledger
	var all []oracle.Bound
	now, after := evening, time.Duration(r.IntN(6))*time.Minute
	for range 15 {
		now = now.Add(time.Duration(1+r.IntN(120)) * time.Second)
		b := oracle.Bound{From: now, Bound: float64(r.IntN(6))}
		all = append(all, b)
		l.Above.Note("q", "A", now, b.Bound)
		require.Equal(t, oracle.Tolerated(all, now, after), l.Above.Allowed("q", "A", now, after), "%v", all)
	}
}

// compareEnforced draws jobs and an excess over bounds. It compares the evicted pods with the oracle.
func compareEnforced(t *testing.T, r *rand.Rand) {
	excess, above := make([]float64, 1+r.IntN(2)), map[string]float64{}
	for i := range excess {
		excess[i] = float64(1 + r.IntN(9))
		above[fmt.Sprint(i)] = excess[i]
	}
	var jobs []evict.Job
	var gangs []oracle.Gang
	for j := range 1 + r.IntN(4) {
		job := evict.Job{Priority: int32(r.IntN(2)), QueuePriority: int32(r.IntN(2)), Kept: r.IntN(10) == 0}
		g := oracle.Gang{Priority: job.Priority, QueuePriority: job.QueuePriority, Larger: job.Kept}
		roles := map[string]int{}
		for i := range 1 + r.IntN(5) {
			p := evict.Pod{Name: fmt.Sprintf("%d-%d", j, i), Role: fmt.Sprint(r.IntN(2)), Ran: int64(r.IntN(9)), Priority: int32(r.IntN(2)), Fixed: r.IntN(12) == 0}
			m := oracle.Member{Name: p.Name, Role: p.Role, Ran: p.Ran, Priority: p.Priority, Fixed: p.Fixed}
			if r.IntN(4) > 0 {
				p.Frees, m.Has = make([]float64, len(excess)), map[string]float64{}
				d := r.IntN(len(excess))
				p.Frees[d] = float64(1 + r.IntN(3))
				m.Has[fmt.Sprint(d)] = p.Frees[d]
			}
			roles[p.Role]++
			job.Pods, g.Members = append(job.Pods, p), append(g.Members, m)
		}
		g.Minimum = r.IntN(len(g.Members) + 2)
		job.Spare = len(g.Members) - g.Minimum
		if r.IntN(2) == 0 {
			least := r.IntN(2)
			g.Minimums, job.Roles = map[string]int{"0": least}, map[string]int{"0": roles["0"] - least}
		}
		jobs, gangs = append(jobs, job), append(gangs, g)
	}
	var evicted []string
	for _, u := range evict.Choose(excess, jobs) {
		for _, p := range u.Pods {
			evicted = append(evicted, jobs[u.Job].Pods[p].Name)
		}
	}
	slices.Sort(evicted)
	require.Equal(t, oracle.Enforced(above, gangs), evicted, "%v of %+v", above, gangs)
}
