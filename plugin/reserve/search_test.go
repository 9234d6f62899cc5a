package reserve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// eightCards are the cards of the jobs of hardJobs, and eightQuotas is their quota.
var eightCards, eightQuotas = func() (string, string) {
	var names, quotas []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("C%d", i))
		quotas = append(quotas, fmt.Sprintf(`"C%d":16`, i))
	}
	return strings.Join(names, "|"), "{" + strings.Join(quotas, ",") + "}"
}()

// hardJobs returns jobs of one pod each, of three sizes that never fill 16 cards exactly.
// Whether one more can be served when nearly all cards are reserved takes a long search.
func hardJobs(n int, phase workload.Phase) []workload.Job {
	r := rand.New(rand.NewPCG(1, 2))
	var jobs []workload.Job
	for i := range n {
		j := pods(fmt.Sprintf("job%d", i), eightCards, 1, []int64{3, 5, 7}[r.IntN(3)])
		j.Phase = phase
		jobs = append(jobs, j)
	}
	return jobs
}

// admitAll asks about all jobs, and reserves for those that are admitted. It returns the
// jobs by the answer.
func (f *fixture) admitAll(t testing.TB, r *Reservations, jobs []workload.Job) map[quota.Reason][]string {
	byReason := map[quota.Reason][]string{}
	for _, j := range jobs {
		info, own := f.read(t, j.Name)
		o := r.Admit(f.ix, f.Snapshot, f.q, f.q, own)
		byReason[o.Verdict.Reason] = append(byReason[o.Verdict.Reason], j.Name)
		if o.Verdict.OK() {
			r.AddJob(f.Snapshot, f.q, info, own)
		}
	}
	return byReason
}

// TestSearchesOfASession has 200 waiting jobs of one queue. Their searches visit no more
// arcs than the queue's share, and asking again visits none.
func TestSearchesOfASession(t *testing.T) {
	jobs := hardJobs(200, workload.Pending)
	f := open(t, eightQuotas, cards.Settings{}, jobs...)
	var r Reservations
	r.Begin([]bool{true, true, false, true}, nil)
	share := searchBudget / 4
	assert.Equal(t, []assign.Budget{share, share, share, share}, r.budgets)
	byReason := f.admitAll(t, &r, jobs)
	assert.Len(t, byReason[quota.Admitted], 26)
	assert.Len(t, byReason[quota.SearchExhausted], 174)
	assert.Less(t, r.budgets[0], share/2, "the search was long")
	assert.Positive(t, r.budgets[0])
	assert.Equal(t, share, r.toPrune, "there was nothing to prune")
	assert.Equal(t, []assign.Budget{share, share, share}, r.budgets[1:])

	left := r.budgets[0]
	for range 10 {
		for _, name := range byReason[quota.SearchExhausted] {
			_, own := f.read(t, name)
			o := r.Admit(f.ix, f.Snapshot, f.q, f.q, own)
			assert.Equal(t, quota.SearchExhausted, o.Verdict.Reason)
			assert.Equal(t, eightCards, f.Describe(o.Request))
		}
	}
	assert.Equal(t, left, r.budgets[0], "asked again")
}

// TestQuestionsAboutAMinimumAreBounded has a job of 2,000 different pods. No pod fits, so each costs a question.
func TestQuestionsAboutAMinimumAreBounded(t *testing.T) {
	var sizes []int64
	for i := range 2000 {
		sizes = append(sizes, int64(1+i))
	}
	f := open(t, `{"A":8}`, cards.Settings{}, pods("job", "A", 1, sizes...))
	_, own := f.read(t, "job")
	require.True(t, own.SeveralKinds())
	asked := 0
	_, ok := own.ChooseMinimum(f.Snapshot, func() bool {
		asked++
		return false
	})
	assert.False(t, ok)
	assert.Equal(t, mostQuestions, asked)
}

// TestRefusedUntilARefund asks again when a card has become free. A reservation could take
// either card, so that each answer takes a search.
func TestRefusedUntilARefund(t *testing.T) {
	f := open(t, `{"A":1,"B":1}`, cards.Settings{}, withoutPods("reserved", `{"A|B":1}`), withoutPods("job", `{"A|B":1}`),
		withoutPods("equal", `{"A|B":1}`), withoutPods("other", `{"B|A":1}`))
	var r Reservations
	r.Begin([]bool{true}, nil)
	f.reserve(t, &r, "reserved")
	admitted := func(name string) bool {
		_, own := f.read(t, name)
		return r.Admit(f.ix, f.Snapshot, f.q, f.q, own).Verdict.OK()
	}
	a, _ := f.names.LookupCard("A")
	f.ix.Mutable(f.q).Set(a, 1000)
	assert.False(t, admitted("job"))
	f.ix.Mutable(f.q).Set(a, 0)
	assert.False(t, admitted("equal"), "nobody told that A is free")
	assert.True(t, admitted("other"), "it has another list")
	r.Refunded()
	assert.True(t, admitted("job"))
	assert.True(t, admitted("equal"))
}

// TestRoomForAll admits without a search where there is room whatever the reservations take.
func TestRoomForAll(t *testing.T) {
	f := open(t, `{"A":2,"B":1}`, cards.Settings{}, withoutPods("reserved", `{"A|B":1}`), withoutPods("job", `{"B|A":1}`), withoutPods("two", `{"B|A":2}`))
	var r Reservations
	r.Begin([]bool{true}, nil)
	f.reserve(t, &r, "reserved")
	r.pruned = true // which takes a search
	_, own := f.read(t, "job")
	assert.True(t, r.Admit(f.ix, f.Snapshot, f.q, f.q, own).Verdict.OK())
	assert.Empty(t, r.assigner, "no search")
	_, own = f.read(t, "two")
	assert.True(t, r.Admit(f.ix, f.Snapshot, f.q, f.q, own).Verdict.OK())
	assert.NotEmpty(t, r.assigner)
}

// TestPruneKeepsWhatIsUndecided has reservations for which the search finds no assignment within its budget. They
// stay. Only reservations that cannot be served at all are dropped.
func TestPruneKeepsWhatIsUndecided(t *testing.T) {
	jobs := hardJobs(200, workload.Pending)
	last := withoutPods("last", `{"A":1}`)
	f := open(t, eightQuotas, cards.Settings{}, append(jobs, pods("large", eightCards, 1, 17), last)...)
	var r Reservations
	r.Begin([]bool{true}, nil)
	byReason := f.admitAll(t, &r, jobs)
	undecided := append(byReason[quota.Admitted][:25:25], byReason[quota.SearchExhausted][0]) // in the order of questions
	prune := func(names ...string) int {
		r.Begin([]bool{true}, nil)
		for _, name := range names {
			f.reserve(t, &r, name)
		}
		_, own := f.read(t, "last")
		r.Admit(f.ix, f.Snapshot, f.q, f.q, own)
		return r.Len()
	}
	assert.Equal(t, 26, prune(undecided...))
	assert.Less(t, r.toPrune, searchBudget/8+1, "the search was long")
	assert.Equal(t, 26, prune(append(undecided, "large")...))
	assert.Positive(t, r.toPrune)
	assert.Equal(t, 26, prune(append(undecided, byReason[quota.SearchExhausted][1:]...)...), "the others are too many in any case")
}

// BenchmarkAdmitWaitingJobs opens a session and asks about 200 jobs that wait, or prunes
// 200 reservations.
func BenchmarkAdmitWaitingJobs(b *testing.B) {
	for _, phase := range []workload.Phase{workload.Pending, workload.Inqueue} {
		b.Run("phase="+string(phase), func(b *testing.B) {
			jobs := hardJobs(200, phase)
			f := open(b, eightQuotas, cards.Settings{}, append(jobs, pods("last", eightCards, 1, 2))...)
			var r Reservations
			for b.Loop() {
				r.Begin([]bool{true}, nil)
				if phase == workload.Pending {
					require.Len(b, f.admitAll(b, &r, jobs)[quota.Admitted], 26)
					continue
				}
				for _, j := range jobs {
					f.reserve(b, &r, j.Name)
				}
				_, own := f.read(b, "last")
				r.Admit(f.ix, f.Snapshot, f.q, f.q, own)
			}
		})
	}
}
