package reserve

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// TestJobAccounts reads jobs and compares their accounts in the terms of the package.
func TestJobAccounts(t *testing.T) {
	for _, test := range []struct {
		name        string
		job         workload.Job
		missing     []demand
		reservation []demand
		allocated   map[string]float64
		pending     map[string]float64
		elastic     map[string]float64
	}{
		{name: "the example of the package",
			job:         with(pods("job", "A|B", 3, 2, 2, 2, 2), 0, 1, running("b")),
			missing:     []demand{{"AB", 2, 2}},
			reservation: []demand{{"AB", 2, 2}},
			allocated:   map[string]float64{"B": 2},
			pending:     map[string]float64{"A": 6}},
		{name: "no pods: card.request, one card at a time",
			job:         withoutPods("job", `{"A|B":3}`),
			missing:     []demand{{"AB", 1, 3}},
			reservation: []demand{{"AB", 1, 3}}},
		{name: "the smallest unfinished pods make the minimum",
			job:         with(pods("job", "A", 2, 1, 4, 2, 3), 0, 1, finishes),
			missing:     []demand{{"A", 2, 1}, {"A", 3, 1}},
			reservation: []demand{{"A", 2, 1}, {"A", 3, 1}},
			pending:     map[string]float64{"A": 9}},
		{name: "a minimum of more pods than are unfinished",
			job:         with(pods("job", "A", 5, 1, 1, 1), 0, 1, finishes),
			missing:     []demand{{"A", 1, 2}},
			reservation: []demand{{"A", 1, 2}},
			pending:     map[string]float64{"A": 2}},
		{name: "gated pods are deducted from the reservation",
			job:         with(pods("job", "A", 3, 1, 1, 1), 0, 2, gated),
			missing:     []demand{{"A", 1, 3}},
			reservation: []demand{{"A", 1, 1}},
			pending:     map[string]float64{"A": 3}},
		{name: "an allocated pod that is larger than those of the minimum",
			job:         with(pods("job", "A", 2, 3, 2, 2), 0, 1, running("a")),
			missing:     []demand{{"A", 1, 1}},
			reservation: []demand{{"A", 1, 1}},
			allocated:   map[string]float64{"A": 3},
			pending:     map[string]float64{"A": 4}},
		{name: "elastic is what is allocated beyond the minimum",
			job:       with(pods("job", "A", 1, 2, 2, 2), 0, 3, running("a")),
			allocated: map[string]float64{"A": 6},
			elastic:   map[string]float64{"A": 4}},
		{name: "the minimum keeps the preferred cards",
			job:       with(with(pods("job", "A|B", 2, 1, 1, 1, 1), 0, 3, running("b")), 3, 1, running("a")),
			allocated: map[string]float64{"A": 1, "B": 3},
			elastic:   map[string]float64{"B": 2}},
		{name: "each selector counts like a dimension of its own",
			job:         mixed(),
			missing:     []demand{{"AB", 1, 1}},
			reservation: []demand{{"AB", 1, 1}},
			allocated:   map[string]float64{"A": 1},
			pending:     map[string]float64{"A": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open(t, `{"A":8,"B":8}`, cards.Settings{Untyped: cards.UntypedCharge}, test.job)
			_, own := f.read(t, "job")
			assert.True(t, own.HasCards())
			assert.Equal(t, test.missing, f.demands(own.appendMissing(nil, f.Snapshot, f.q)), "missing")
			assert.Equal(t, test.reservation, f.demands(own.AppendReservation(nil, f.Snapshot, f.q)), "reservation")
			for _, account := range []struct {
				name string
				add  func(fastres.Vector)
				want map[string]float64
			}{
				{"allocated", func(x fastres.Vector) { own.AddAllocated(f.Snapshot, x) }, test.allocated},
				{"pending", func(x fastres.Vector) { own.AddPending(f.Snapshot, x) }, test.pending},
				{"elastic", func(x fastres.Vector) { own.AddElastic(f.Snapshot, x) }, test.elastic},
			} {
				x := fastres.NewVector(f.names.Len())
				account.add(x)
				if account.want == nil {
					account.want = map[string]float64{}
				}
				assert.Equal(t, account.want, f.wholeCards(x), account.name)
			}
		})
	}
}

// mixed is a job of two pods. The pod that requests A runs, and the pod that requests A or B is pending.
func mixed() workload.Job {
	j := with(pods("job", "A", 2, 1), 0, 1, running("a"))
	either := pods("either", "A|B", 2, 1)
	j.Tasks = append(j.Tasks, either.Tasks...)
	return j
}

// TestJobWithoutCards has no part in any account of cards.
func TestJobWithoutCards(t *testing.T) {
	plain := pods("job", "A", 2, 0, 0)
	for i := range plain.Tasks {
		delete(plain.Tasks[i].Request, gpuName)
	}
	f := open(t, `{"A":8}`, cards.Settings{}, with(plain, 0, 1, gated))
	_, own := f.read(t, "job")
	assert.False(t, own.HasCards())
	assert.True(t, own.HasGates())
	assert.Empty(t, own.appendMissing(nil, f.Snapshot, f.q))
	assert.Empty(t, own.AppendReservation(nil, f.Snapshot, f.q))
}

// TestExemptPods reads a job of pods with and without cards where pods with cards
// are exempt from cpu and memory quotas.
func TestExemptPods(t *testing.T) {
	j := with(pods("job", "A", 3, 1, 1, 1, 1), 0, 1, running("a"))
	j = with(j, 1, 1, gated)
	j = with(j, 3, 1, func(t *workload.Task) { delete(t.Request, gpuName); t.Annotations = nil })
	for _, exempt := range []bool{true, false} {
		f := open(t, `{"A":8}`, cards.Settings{UnlimitedCPUMemory: exempt}, j)
		_, own := f.read(t, "job")
		cpu := func(subtract func(fastres.Vector)) float64 {
			x := fastres.NewVector(f.names.Len())
			x.Set(fastres.CPU, 5000)
			subtract(x)
			return x.Get(fastres.CPU)
		}
		minimum := func(x fastres.Vector) { own.ExemptMinimum(f.Snapshot, x) }
		got := []float64{cpu(own.ExemptAllocated), cpu(own.ExemptPending), cpu(own.ExemptGated), cpu(minimum)}
		if exempt {
			assert.Equal(t, []float64{4000, 3000, 4000, 1000}, got)
		} else {
			assert.Equal(t, []float64{5000, 5000, 5000, 5000}, got)
		}
	}
}
