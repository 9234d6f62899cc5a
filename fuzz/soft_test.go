package fuzz

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// FuzzSoft compares soft quotas with the oracle.
func FuzzSoft(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { compareSoft(t, workload.Bytes(data)) })
}

// TestSoftFollowsTheDocumentation compares many draws, and sees each answer.
func TestSoftFollowsTheDocumentation(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2000) {
		for answer, n := range compareSoft(t, rand.New(rand.NewPCG(seed, 8))) {
			seen[answer] += n
		}
	}
	for _, answer := range []string{"refused", "fits", "takes back", "does not", "loses first"} {
		require.Greater(t, seen[answer], 50, answer)
	}
}

func compareSoft(t *testing.T, r *rand.Rand) (seen map[string]int) {
	w := newWorld(t, r)
	seen = map[string]int{}
	for range r.IntN(8) {
		w.event()
	}
	name := pick(r, []string{oracle.CPU, oracle.Memory})
	d, known := w.dim(name)
	require.True(t, known)
	step := w.ix.Allocated(0).Get(d)/8 + 1000
	s := oracle.Soft{Card: name, Quota: map[string]float64{}, Waiting: map[string][]float64{}, Available: float64(r.IntN(9)) * step}
	available := fastres.NewVector(w.names.Len())
	available.Set(d, s.Available)
	for _, queue := range w.oracle.Names() {
		if r.IntN(2) == 0 {
			s.Quota[queue] = float64(r.IntN(5)) * step
		}
		for range r.IntN(3) {
			if w.oracle.Leaf(queue) {
				s.Waiting[queue] = append(s.Waiting[queue], float64(1+r.IntN(3))*step)
			}
		}
	}
	var soft quota.Soft
	soft.Reset(w.ix, available, []fastres.Dim{d}, func(q index.Queue, _ fastres.Dim) float64 {
		if most, set := s.Quota[w.ix.Name(q)]; set {
			return most
		}
		return math.Inf(1)
	})
	for queue, requests := range s.Waiting {
		sum, room := 0.0, soft.Room(w.number(queue), 0)
		for _, request := range requests {
			if request <= room {
				sum += request
			}
		}
		soft.Want(w.number(queue), 0, sum)
	}
	soft.RollUp()
	for range 6 {
		from, q := w.sound()
		other, to := w.sound()
		quantity, lost := float64(1+r.IntN(4))*step, float64(1+r.IntN(4))*step
		v, refused := soft.Fits(w.ix, q, 0, quantity), w.oracle.SoftRefuses(s, from, quantity)
		if refused == "" {
			require.True(t, v.OK(), "%s: %v", from, s)
			seen["fits"]++
		} else {
			require.Equal(t, quota.Verdict{Reason: quota.OverSoftQuota, Queue: w.number(refused)}, v, "%s: %v", from, s)
			seen["refused"]++
		}
		if q == to {
			continue
		}
		require.Equal(t, w.oracle.AboveSoft(s, from, other), soft.Exceeds(w.ix, q, to), "%s for %s: %v", from, other, s)
		require.Equal(t, w.oracle.TakesBack(s, other, from, quantity, lost), soft.TakesBack(w.ix, to, q, 0, quantity, lost), "%s from %s: %v", other, from, s)
		seen[map[bool]string{true: "takes back", false: "does not"}[w.oracle.TakesBack(s, other, from, quantity, lost)]]++
		if w.oracle.AboveSoft(s, from, other) {
			seen["loses first"]++
		}
	}
	return seen
}
