package fuzz

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/quota"
)

// FuzzJobOrder compares who waits for an earlier job of its queue with the oracle.
func FuzzJobOrder(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { compareJobOrder(t, workload.Bytes(data)) })
}

// TestJobOrderFollowsTheDocumentation compares many draws.
func TestJobOrderFollowsTheDocumentation(t *testing.T) {
	for seed := range uint64(5000) {
		compareJobOrder(t, rand.New(rand.NewPCG(seed, 6)))
	}
}

func compareJobOrder(t *testing.T, r *rand.Rand) {
	hold, byPriority := time.Duration(r.IntN(4))*time.Minute, r.IntN(2) == 0
	var queue []oracle.InLine
	for i := range 1 + r.IntN(5) {
		j := oracle.InLine{Priority: int32(r.IntN(3)), Created: evening.Add(-time.Duration(r.IntN(4)) * time.Second), Name: "ns/" + strconv.Itoa(i),
			Admitted: r.IntN(2) == 0, NeedsQuota: r.IntN(2) == 0, Spent: r.IntN(5) == 0, Minimum: r.IntN(3), Pods: r.IntN(3), Promised: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			j.Since = evening.Add(-time.Duration(r.IntN(5)) * time.Minute)
		}
		queue = append(queue, j)
	}
	place := func(j oracle.InLine) quota.JobPlace {
		return quota.JobPlace{Priority: j.Priority, Created: j.Created, Name: j.Name}
	}
	ordered := slices.SortedFunc(slices.Values(queue), func(x, y oracle.InLine) int { return place(x).Compare(place(y), byPriority) })
	for at, j := range ordered {
		waits := false
		for _, e := range ordered[:at] {
			earlier := quota.Earlier{Admitted: e.Admitted, Waits: e.NeedsQuota, Began: e.Since, Over: e.Spent}
			if earlier.HoldsBack(evening, hold) {
				waits = !j.Admitted || quota.Later{Complete: j.Pods >= j.Minimum, Started: j.Pods > 0, Reserved: j.Promised}.HeldBack(earlier)
				break
			}
		}
		require.Equal(t, oracle.Waits(queue, j, byPriority, evening, hold), waits, "%+v of %+v, by priority %t, held for %v", j, queue, byPriority, hold)
	}
}
