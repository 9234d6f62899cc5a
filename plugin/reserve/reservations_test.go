package reserve

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// reserve adds the reservations of an admitted job. A demand for a single card goes to inqueue.
func (f *fixture) reserve(t testing.TB, r *Reservations, name string) {
	t.Helper()
	info, own := f.read(t, name)
	r.AddJob(f.Snapshot, f.q, info, own)
	r.EachCharge(f.Snapshot, f.q, info, own, func(d fastres.Dim, milli float64) { f.ix.Inqueue.Row(f.q).Increase(d, milli) })
}

// TestSplitChargesSingleCards divides demands by the number of their cards.
func TestSplitChargesSingleCards(t *testing.T) {
	a, b := fastres.FirstFree, fastres.FirstFree+1
	demands := []assign.Demand{
		{Cards: []fastres.Dim{a}, Size: 2000, Count: 3},
		{Cards: []fastres.Dim{a, b}, Size: 1000, Count: 2},
		{Size: 1000, Count: 1}, // a card that neither a node nor a queue has
	}
	charged := map[fastres.Dim]float64{}
	kept := Split(nil, nil, demands, func(d fastres.Dim, milli float64) { charged[d] += milli })
	assert.Equal(t, map[fastres.Dim]float64{a: 6000}, charged)
	assert.Equal(t, []Reservation{{nil, demands[1]}}, kept)
}

// TestAdmitAssignsReservations admits a job as long as it and all reservations can
// be assigned, whichever card each takes.
func TestAdmitAssignsReservations(t *testing.T) {
	for _, test := range []struct {
		name     string
		quota    string
		admitted []workload.Job
		job      workload.Job
		want     quota.Reason
		refused  string // cards of the refused request
		shared   bool
	}{
		{"a reservation takes the other card", `{"A":1,"B":1}`,
			[]workload.Job{withoutPods("first", `{"A|B":1}`)}, withoutPods("job", `{"A":1}`), quota.Admitted, "", false},
		{"reservations take all cards", `{"A":1,"B":1}`,
			[]workload.Job{withoutPods("first", `{"A|B":1}`), withoutPods("second", `{"A|B":1}`)},
			withoutPods("job", `{"B":1}`), quota.OverQuota, "B", true},
		{"a card is reserved in inqueue", `{"A":1,"B":0}`,
			[]workload.Job{withoutPods("first", `{"A":1}`)}, withoutPods("job", `{"A":1}`), quota.OverQuota, "A", false},
		{"more than the quota", `{"A":1,"B":1}`, nil, pods("job", "A|B", 1, 2), quota.OverQuota, "A|B", false},
		{"more than the quota in several pods", `{"A":1,"B":1}`, nil, pods("job", "A|B", 3, 1, 1, 1), quota.OverQuota, "A|B", true},
		{"a job without cards", `{"A":0,"B":0}`, nil, withoutPods("job", `{}`), quota.Admitted, "", false},
		{"cards of two resources", `{"A":9,"B":9}`, nil, withoutPods("job", `{"A|A/mig-1g.18gb-mixed":1}`), quota.MixedResources,
			"A|A/mig-1g.18gb-mixed", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open(t, test.quota, cards.Settings{}, append(test.admitted, test.job)...)
			var r Reservations
			r.Begin([]bool{true}, nil)
			for _, j := range test.admitted {
				f.reserve(t, &r, j.Name)
			}
			_, own := f.read(t, "job")
			o := r.Admit(f.ix, f.Snapshot, f.q, f.q, own)
			assert.Equal(t, quota.Verdict{Reason: test.want, Queue: f.q}, o.Verdict)
			assert.Equal(t, test.refused, f.Describe(o.Request))
			assert.Equal(t, test.shared, o.Shared)
			assert.Equal(t, o, r.Admit(f.ix, f.Snapshot, f.q, f.q, own), "the question changes nothing")
		})
	}
}

// TestAdmitDropsReservationsThatNoCardServes prunes reservations once in a session:
// those that the quota no longer serves do not refuse other jobs.
func TestAdmitDropsReservationsThatNoCardServes(t *testing.T) {
	f := open(t, `{"A":1,"B":2}`, cards.Settings{}, withoutPods("one", `{"A|B":1}`), withoutPods("two", `{"A|B":1}`),
		pods("large", "A|B", 1, 8), withoutPods("job", `{"B":1}`), withoutPods("more", `{"B":1}`))
	var r Reservations
	r.Begin([]bool{true}, nil)
	for _, name := range []string{"one", "two", "large"} {
		f.reserve(t, &r, name)
	}
	assert.Equal(t, 3, r.Len())
	_, own := f.read(t, "job")
	assert.True(t, r.Admit(f.ix, f.Snapshot, f.q, f.q, own).Verdict.OK())
	assert.Equal(t, 2, r.Len(), "8 cards fit under no quota")

	f.reserve(t, &r, "job")
	_, own = f.read(t, "more")
	assert.False(t, r.Admit(f.ix, f.Snapshot, f.q, f.q, own).Verdict.OK())

	r.Begin([]bool{true}, nil)
	assert.Zero(t, r.Len(), "a new session starts without reservations")
}

// TestWithinSumsReservations counts the reservations that only the given cards
// can serve.
func TestWithinSumsReservations(t *testing.T) {
	f := open(t, `{"A":9,"B":9}`, cards.Settings{}, withoutPods("job", `{"A|B":3}`))
	var r Reservations
	r.Begin([]bool{true}, nil)
	f.reserve(t, &r, "job")
	a, _ := f.names.LookupCard("A")
	b, _ := f.names.LookupCard("B")
	assert.Equal(t, 3000.0, r.within(f.ix, f.q, []fastres.Dim{b, a}))
	assert.Zero(t, r.within(f.ix, f.q, []fastres.Dim{a}), "B can serve it as well")
}
