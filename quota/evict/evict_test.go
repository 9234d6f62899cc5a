package evict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// TestCounter compares a counter with a list of all evictions: no window has more than the budget, and Next is the
// first time at which one more may be. Taking back and saving change nothing.
func TestCounter(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var l Ledger
		var all []time.Time
		now, most, length := noon, 1+r.IntN(5), time.Duration(1+r.IntN(5))*time.Minute
		for range 60 {
			now = now.Add(time.Duration(r.IntN(90_000_000_000)))
			l.Lost.Begin(now, func(string) time.Duration { return length })
			used := 0
			for _, at := range all {
				if at.After(now.Add(-length)) {
					used++
				}
			}
			got := l.Lost.Used("q", now, length)
			require.GreaterOrEqual(t, got, used)
			require.LessOrEqual(t, got, used+countAt(all, now.Add(-length), time.Millisecond), "rounded by a millisecond")
			next := l.Lost.Next("q", now, most, length)
			require.Equal(t, got < most, next.Equal(now))
			require.Less(t, l.Lost.Used("q", next, length), most)
			if !next.Equal(now) {
				require.GreaterOrEqual(t, l.Lost.Used("q", next.Add(-time.Millisecond), length), most, "not before")
			}
			for ; got < most && r.IntN(3) > 0; got++ {
				l.Lost.Add("q", now, length, 1)
				if all = append(all, now); r.IntN(4) == 0 {
					l.Lost.Add("q", now, length, -1)
					all = all[:len(all)-1]
				}
			}
			if record := l.Record(); record != nil {
				again, err := New(record)
				require.NoError(t, err)
				l = *again
			}
		}
	}
}

func countAt(all []time.Time, after time.Time, within time.Duration) (n int) {
	for _, at := range all {
		if d := after.Sub(at); d >= 0 && d < within {
			n++
		}
	}
	return n
}

// TestCounterRemembers keeps evictions while a queue has no budget, for as long as they counted, and takes a clock that
// was set back.
func TestCounterRemembers(t *testing.T) {
	var c Counter
	c.Begin(noon, nil)
	c.Add("q", noon, time.Hour, 3)
	none := func(string) time.Duration { return 0 }
	c.Begin(noon.Add(59*time.Minute), none)
	assert.Equal(t, 3, c.Used("q", noon.Add(59*time.Minute), time.Hour))
	c.Begin(noon.Add(-24*time.Hour), none)
	assert.Zero(t, c.Used("q", noon.Add(-23*time.Hour), time.Hour), "the clock was set back by a day")
	c.Begin(noon, none)
	assert.Empty(t, c.queues)
}

// TestMerge merges two ledgers. An eviction that both have counts once.
func TestMerge(t *testing.T) {
	var l, other Ledger
	for i, each := range []*Ledger{&l, &other} {
		each.Lost.Add("q", noon, time.Hour, 2)
		each.Lost.Add("q", noon.Add(time.Duration(2-i)*time.Minute), time.Hour, 1)
		each.Taken.Add(fmt.Sprint("q", i), noon, time.Hour, 1)
	}
	other.Changed = true
	l.Merge(&other)
	assert.True(t, l.Changed)
	merged, err := New(l.Record())
	require.NoError(t, err, "times are in order")
	now := noon.Add(10 * time.Minute)
	assert.Equal(t, 4, merged.Lost.Used("q", now, time.Hour))
	assert.Equal(t, 1, merged.Taken.Used("q0", now, time.Hour))
	assert.Equal(t, 1, merged.Taken.Used("q1", now, time.Hour))
}

// TestClockSetBack sets the clock back by nine seconds. What is stored then can be read, and says the same.
func TestClockSetBack(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		bound, want float64
		lower       bool
	}{
		"a lower bound":  {4, 4, true},
		"the same bound": {6, 6, false},
		"a higher bound": {7, 7, false},
		"the first one":  {8, 8, false},
	} {
		var l Ledger
		for i, bound := range []float64{8, 6} {
			at := noon.Add(time.Duration(1+2*i) * time.Second)
			l.Lost.Add("q", at, day, 1)
			l.Above.Note("q", "A", at, bound)
		}

		now := noon.Add(-6 * time.Second)
		l.Lost.Begin(now, func(string) time.Duration { return day })
		assert.Equal(t, c.lower, l.Above.Note("q", "A", now, c.bound), name)

		again, err := New(l.Record())
		require.NoError(t, err, name)
		assert.Equal(t, 2, again.Lost.Used("q", now, day), name)
		assert.Equal(t, c.want, again.Above.Allowed("q", "A", now, 0), name)
		assert.Equal(t, math.Inf(1), again.Above.Allowed("q", "A", now, time.Minute), name)
	}
}

// TestBounds compares with the most of all bounds in the time.
func TestBounds(t *testing.T) {
	type held struct {
		at    time.Time
		bound float64
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var l Ledger
		var all []held
		now, after := noon, time.Duration(r.IntN(10))*time.Minute
		for range 100 {
			now = now.Add(time.Duration(1+r.IntN(120)) * time.Second)
			bound := float64(r.IntN(8))
			if n := len(all); r.IntN(2) == 0 && n > 0 {
				bound = all[n-1].bound
			}
			lowest := !slices.ContainsFunc(all, func(h held) bool { return h.bound <= bound })
			all = append(all, held{now, bound})
			if lower := l.Above.Note("q", "A", now, bound); lowest {
				require.True(t, lower)
			}
			want := math.Inf(1)
			if !all[0].at.After(now.Add(-after)) {
				want = 0
				for i, h := range all {
					until := now
					if i+1 < len(all) {
						until = all[i+1].at.Add(-time.Nanosecond)
					}
					if !until.Before(now.Add(-after)) {
						want = max(want, h.bound)
					}
				}
			}
			require.Equal(t, want, l.Above.Allowed("q", "A", now, after), "%v", all)
			again, err := New(l.Record())
			require.NoError(t, err)
			l = *again
		}
	}
}

func TestBoundsAreFew(t *testing.T) {
	var b Bounds
	for i := range 1000 {
		require.True(t, b.Note("q", "A", noon.Add(time.Duration(i)*time.Second), float64(1000-i)))
	}
	assert.Len(t, b.steps[account{"q", "A"}], mostSteps)
	assert.Equal(t, 1.0, b.steps[account{"q", "A"}][mostSteps-1].bound)
	assert.Equal(t, 990.0, b.Allowed("q", "A", noon.Add(999*time.Second), 989*time.Second), "the oldest are kept")
	assert.False(t, b.Note("q", "A", noon.Add(2000*time.Second), 5))
	assert.False(t, b.Note("q", "A", noon.Add(2001*time.Second), 5))
	assert.True(t, b.Note("q", "B", noon, 5))
	assert.False(t, b.Note("q", "B", noon, 5), "at the same time")
	b.Keep(func(string, string) bool { return false })
	assert.Empty(t, b.steps)
}

func TestWrongRecords(t *testing.T) {
	for _, r := range []*Record{
		{Lost: map[string]CountRecord{"q": {60, [][2]int64{{5, 1}, {4, 1}}}}},
		{Taken: map[string]CountRecord{"q": {60, [][2]int64{{5, -1}}}}},
		{Above: map[string]map[string][]StepRecord{"q": {"A": {{5, -1}}}}},
		{Above: map[string]map[string][]StepRecord{"q": {"A": {{5, 3}, {6, 3}}}}},
		{Above: map[string]map[string][]StepRecord{"q": {"A": {{5, 3}, {5, 2}}}}},
	} {
		_, err := New(r)
		assert.Error(t, err, "%+v", r)
	}
	counts := map[string]CountRecord{"q": {60, [][2]int64{{noon.UnixMilli(), 2}}}}
	l, err := New(&Record{Lost: counts, Taken: counts,
		Above: map[string]map[string][]StepRecord{"q": {"A": {{noon.UnixMilli(), 3}}}}})
	require.NoError(t, err)
	l.Shift(time.Hour)
	later := noon.Add(time.Hour)
	assert.Equal(t, 3.0, l.Above.Allowed("q", "A", later, 0))
	assert.True(t, math.IsInf(l.Above.Allowed("q", "A", later, time.Millisecond), 1))
	for _, c := range []*Counter{&l.Lost, &l.Taken} {
		assert.Equal(t, 2, c.Used("q", noon.Add(time.Hour), time.Minute), "a dump of an hour ago")
	}
}

func namesOf(units []Unit, jobs []Job) (all []string) {
	for _, u := range units {
		text := ""
		for _, p := range u.Pods {
			text += jobs[u.Job].Pods[p].Name + " "
		}
		all = append(all, text[:len(text)-1])
	}
	return all
}

func one(name string, ran int64, frees ...float64) Job {
	return Job{Pods: []Pod{{Name: name, Ran: ran, Frees: frees}}}
}

func TestChoose(t *testing.T) {
	gang := Job{Spare: 1, Pods: []Pod{{Name: "g-0", Ran: 5, Frees: []float64{1}}, {Name: "g-1", Ran: 6, Frees: []float64{1}}, {Name: "g-2", Ran: 7}}}
	fixed := Job{Pods: []Pod{{Name: "f-0", Ran: 1, Frees: []float64{4}}, {Name: "f-1", Fixed: true}}}
	broken := Job{Spare: -1, Pods: []Pod{{Name: "b-0", Ran: 100, Frees: []float64{1}}}}
	urgent := one("u", 0, 1)
	urgent.Priority = 1
	roles := Job{Spare: 2, Roles: map[string]int{"ps": 0}, Pods: []Pod{
		{Name: "r-ps", Role: "ps", Ran: 1, Frees: []float64{1}}, {Name: "r-w", Role: "w", Ran: 2, Frees: []float64{1}}, {Name: "r-x", Role: "w", Ran: 3}}}
	for name, c := range map[string]struct {
		excess []float64
		jobs   []Job
		want   []string
	}{
		"the least work first":           {[]float64{2}, []Job{one("a", 9, 1), one("b", 3, 1), one("c", 5, 1)}, []string{"b", "c"}},
		"none that is not needed":        {[]float64{4}, []Job{one("a", 1, 1), one("b", 2, 4)}, []string{"b"}},
		"only what frees something":      {[]float64{1, 0}, []Job{one("a", 1, 0, 5), one("b", 2, 1, 0)}, []string{"b"}},
		"a job spares a pod":             {[]float64{1}, []Job{gang, one("a", 6, 1)}, []string{"g-0"}},
		"a gang goes whole":              {[]float64{2}, []Job{gang, one("a", 60, 1)}, []string{"g-0 g-1 g-2"}},
		"others lose less":               {[]float64{2}, []Job{gang, one("a", 17, 1)}, []string{"g-0", "a"}},
		"a pod that may not":             {[]float64{1}, []Job{fixed, one("a", 60, 1)}, []string{"a"}},
		"nothing suffices":               {[]float64{9}, []Job{fixed, one("a", 60, 1)}, []string{"a"}},
		"a broken job":                   {[]float64{1}, []Job{one("a", 1, 1), broken}, []string{"b-0"}},
		"priority comes first":           {[]float64{1}, []Job{urgent, one("a", 9, 1)}, []string{"a"}},
		"a role that the job needs":      {[]float64{1}, []Job{roles}, []string{"r-w"}},
		"with it goes the job":           {[]float64{2}, []Job{roles}, []string{"r-ps r-w r-x"}},
		"two excesses":                   {[]float64{1, 1}, []Job{one("a", 1, 1, 0), one("b", 2, 0, 1), one("c", 3, 1, 1)}, []string{"a", "b"}},
		"the last suffices for both":     {[]float64{1, 2}, []Job{one("a", 1, 1, 0), one("b", 2, 0, 1), one("c", 3, 1, 2)}, []string{"c"}},
		"equal pods by their names":      {[]float64{1}, []Job{one("b", 1, 1), one("a", 1, 1)}, []string{"a"}},
		"more is freed than is too much": {[]float64{3}, []Job{one("a", 1, 8)}, []string{"a"}},
	} {
		assert.Equal(t, c.want, namesOf(Choose(c.excess, c.jobs), c.jobs), name)
	}
}

// TestChooseIsSmallest draws jobs, and checks the promises of the documentation. The excess is gone if anything
// suffices, and no unit can be left out. No gang keeps fewer pods than its minimum, and no fixed pod is evicted.
func TestChooseIsSmallest(t *testing.T) {
	some := map[string]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		excess := make([]float64, 1+r.IntN(3))
		for i := range excess {
			excess[i] = float64(1 + r.IntN(12))
		}
		var jobs []Job
		for j := range 1 + r.IntN(6) {
			job := Job{Priority: int32(r.IntN(2)), QueuePriority: int32(r.IntN(2))}
			for i := range 1 + r.IntN(5) {
				p := Pod{Name: fmt.Sprintf("%d-%d", j, i), Ran: int64(r.IntN(20)), Priority: int32(r.IntN(2)), Fixed: r.IntN(12) == 0}
				if r.IntN(4) > 0 {
					p.Frees = make([]float64, len(excess))
					p.Frees[r.IntN(len(excess))] = float64(1 + r.IntN(4))
				}
				job.Pods = append(job.Pods, p)
			}
			job.Spare = r.IntN(len(job.Pods)+2) - 1
			jobs = append(jobs, job)
		}
		units := Choose(excess, jobs)
		left := func(without int) bool {
			sum := slices.Clone(excess)
			for i, u := range units {
				for _, p := range u.Pods {
					for d, amount := range jobs[u.Job].Pods[p].Frees {
						if i != without {
							sum[d] -= amount
						}
					}
				}
			}
			return slices.ContainsFunc(sum, func(x float64) bool { return x > 0 })
		}
		enough := !left(-1)
		some[fmt.Sprint("enough ", enough)]++
		gone := map[int]int{}
		for i, u := range units {
			if enough {
				require.True(t, left(i), "seed %d: %v does without %v", seed, units, u)
			}
			for _, p := range u.Pods {
				require.False(t, jobs[u.Job].Pods[p].Fixed)
				gone[u.Job]++
			}
		}
		for j, n := range gone {
			if n < len(jobs[j].Pods) {
				require.LessOrEqual(t, n, jobs[j].Spare, "seed %d", seed)
			} else {
				some["whole"]++
			}
		}
	}
	assert.Len(t, some, 3, some)
}
