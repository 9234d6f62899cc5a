package fuzz

import (
	"math/rand/v2"
	"slices"
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
	s := oracle.Soft{Card: name, Quota: map[string]float64{}, Waiting: map[string][]oracle.SoftJob{}, Available: float64(r.IntN(9)) * step}
	available := fastres.NewVector(w.names.Len())
	available.Set(d, s.Available)
	for _, queue := range w.oracle.Names() {
		if r.IntN(2) == 0 {
			s.Quota[queue] = float64(r.IntN(5)) * step
		}
		for range r.IntN(3) {
			if w.oracle.Leaf(queue) && !w.oracle.Broken(queue) {
				s.Waiting[queue] = append(s.Waiting[queue], drawSoftJob(r, step))
			}
		}
	}
	var soft quota.Soft
	soft.Reset(w.ix, available, []fastres.Dim{d}, func(q index.Queue, _ fastres.Dim) float64 {
		if most, set := s.Quota[w.ix.Name(q)]; set {
			return most
		}
		return quota.NoSoftQuota
	})
	for _, queue := range w.oracle.Names() { // in any order, and some again
		want(w, &soft, queue, s)
		if r.IntN(3) == 0 {
			want(w, &soft, pick(r, w.oracle.Names()), s)
		}
	}
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
		require.Equal(t, w.oracle.AboveSoft(s, from, other), soft.LosesFirst(w.ix, q, to), "%s for %s: %v", from, other, s)
		require.Equal(t, w.oracle.TakesBack(s, other, from, quantity, lost), soft.Takes(w.ix, to, q, 0, quantity) && soft.GivesBack(w.ix, q, to, 0, lost), "%s from %s: %v", other, from, s)
		seen[map[bool]string{true: "takes back", false: "does not"}[w.oracle.TakesBack(s, other, from, quantity, lost)]]++
		if w.oracle.AboveSoft(s, from, other) {
			seen["loses first"]++
		}
	}
	return seen
}

// drawSoftJob draws a job that waits, with some pods without the card.
func drawSoftJob(r *rand.Rand, step float64) (j oracle.SoftJob) {
	for range 1 + r.IntN(4) {
		j.Requests = append(j.Requests, float64(r.IntN(4))*step)
	}
	j.Lacks = r.IntN(len(j.Requests)+3) - 1
	return j
}

// want tells the engine how much the waiting jobs of a queue want.
func want(w *world, soft *quota.Soft, queue string, s oracle.Soft) {
	if !w.oracle.Leaf(queue) || w.oracle.Broken(queue) {
		return
	}
	sum, q := 0.0, w.number(queue)
	for _, job := range s.Waiting[queue] {
		var tasks []quota.Waiting
		for _, request := range job.Requests {
			if at := slices.IndexFunc(tasks, func(t quota.Waiting) bool { return t.Quantity == request }); at >= 0 {
				tasks[at].Tasks++
			} else {
				tasks = append(tasks, quota.Waiting{Quantity: request, Tasks: 1})
			}
		}
		sum += quota.WantedByJob(tasks, job.Lacks, soft.Room(q, 0))
	}
	soft.Want(q, 0, sum)
}
