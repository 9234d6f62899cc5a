package budget_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/quota/budget"
)

const day = 24 * time.Hour

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) // a Monday

// tree builds a tree below root from pairs of a queue and its parent.
func tree(pairs ...string) *index.Tree {
	nodes := []index.Node{}
	for i := 0; i < len(pairs); i += 2 {
		nodes = append(nodes, index.Node{Name: pairs[i], Parent: pairs[i+1]})
	}
	return index.BuildTree(nodes, index.RootName)
}

func column(t *testing.T, window string) budget.Column {
	t.Helper()
	w, err := policy.ParseWindow(window)
	require.NoError(t, err)
	return budget.Column{Card: "H200", Window: w}
}

// hours returns the use of a column by each queue, in card-hours.
func hours(l *budget.Ledger, tr *index.Tree, c budget.Column) map[string]float64 {
	is := map[string]float64{}
	for q, parts := range l.Sum(tr, l.Find(c)) {
		is[tr.Name(index.Queue(q))] = budget.Hours(budget.Total(parts))
	}
	return is
}

// pass lets time pass from one time to another, in which queues have cards.
func pass(l *budget.Ledger, from, to time.Time, held map[string]float64, columns ...budget.Column) {
	for _, c := range l.Begin(to, columns) {
		for queue, cards := range held {
			l.Charge(queue, c, 1000*cards, from, to)
		}
		l.Known(c, to)
	}
}

// TestWindowsEnd has 8 cards from 22:00 to 02:00: the example of the package.
func TestWindowsEnd(t *testing.T) {
	l, tr, c := &budget.Ledger{}, tree("q", ""), column(t, "day")
	evening := start.Add(10 * time.Hour)
	pass(l, evening, evening.Add(2*time.Hour-1), map[string]float64{"q": 8}, c)
	assert.InDelta(t, 16, hours(l, tr, c)["q"], 1e-6)
	pass(l, evening.Add(2*time.Hour-1), evening.Add(4*time.Hour), map[string]float64{"q": 8}, c)
	assert.InDelta(t, 16, hours(l, tr, c)["q"], 1e-6)
	pass(l, evening.Add(4*time.Hour), evening.Add(30*day), map[string]float64{"q": 1}, c)
	assert.InDelta(t, 22, hours(l, tr, c)["q"], 1e-6, "since 00:00 of the last day")
}

// TestCutsDoNotMatter lets the same time pass in one step and in random steps, in windows of all kinds.
func TestCutsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tr := tree("q", "")
	for _, window := range []string{"day", "week", "month", "30d", "7h", "30d sliding", "5h sliding"} {
		c := column(t, window)
		for range 30 {
			whole, cut, now := &budget.Ledger{}, &budget.Ledger{}, start
			for range 20 {
				held := map[string]float64{"q": float64(r.IntN(8000)) / 1000}
				end := now.Add(time.Duration(r.Int64N(int64(3 * day))))
				pass(whole, now, end, held, c)
				for range r.IntN(50) {
					next := now.Add(time.Duration(r.Int64N(int64(end.Sub(now)) + 1)))
					pass(cut, now, next, held, c)
					now = next
				}
				pass(cut, now, end, held, c)
				now = end
			}
			want := hours(whole, tr, c)["q"]
			require.InDelta(t, want, hours(cut, tr, c)["q"], 1e-9*max(1, want), window)
		}
	}
}

// TestSlidingBound compares the use in a sliding window with the exact use. It is never less than the exact use. It is
// never more than the exact use in a window that is a 48th longer.
func TestSlidingBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c, tr := column(t, "2d sliding"), tree("q", "")
	type span struct {
		from, to time.Time
		cards    float64
	}
	exact := func(spans []span, now time.Time, length time.Duration) (sum float64) {
		for _, s := range spans {
			from := s.from
			if begin := now.Add(-length); begin.After(from) {
				from = begin
			}
			sum += s.cards * max(0, s.to.Sub(from).Hours())
		}
		return sum
	}
	l, now, spans, above := &budget.Ledger{}, start, []span(nil), 0
	for range 2000 {
		s := span{now, now.Add(time.Duration(r.Int64N(int64(3 * time.Hour)))), float64(r.IntN(5))}
		spans, now = append(spans, s), s.to
		pass(l, s.from, s.to, map[string]float64{"q": s.cards}, c)
		is := hours(l, tr, c)["q"]
		least, most := exact(spans, now, 2*day), exact(spans, now, 2*day+time.Hour)
		require.GreaterOrEqual(t, is, least-1e-9)
		require.LessOrEqual(t, is, most+1e-9)
		if is > least+1e-9 {
			above++
		}
	}
	assert.Greater(t, above, 100)
}

func TestQueuesMove(t *testing.T) {
	l, c := &budget.Ledger{}, column(t, "month")
	all := tree("a", "", "b", "", "a1", "a", "a2", "a", "a11", "a1")
	pass(l, start, start.Add(time.Hour), map[string]float64{"a11": 4, "a2": 2, "b": 1}, c)
	l.Bind(all)
	assert.Equal(t, map[string]float64{"root": 7, "a": 6, "a1": 4, "a11": 4, "a2": 2, "b": 1}, hours(l, all, c))
	moved := tree("a", "", "b", "", "a1", "b", "a2", "a", "a11", "a1")
	assert.Equal(t, map[string]float64{"root": 7, "a": 2, "a1": 4, "a11": 4, "a2": 2, "b": 5}, hours(l, moved, c))
	fewer := tree("a", "", "b", "", "a2", "a")
	assert.Equal(t, map[string]float64{"root": 7, "a": 6, "a2": 2, "b": 1}, hours(l, fewer, c), "what was deleted counts above")
	l.Bind(fewer)
	back := tree("a", "", "b", "", "a2", "a", "a11", "b")
	assert.Equal(t, map[string]float64{"root": 7, "a": 2, "a11": 4, "a2": 2, "b": 5}, hours(l, back, c), "it is back below another queue")
	pass(l, start, start.Add(31*day), nil, c)
	assert.Empty(t, l.Record().Queues, "what is out of the window is forgotten")
}

// TestColumnsRest has a budget that is removed and set again.
func TestColumnsRest(t *testing.T) {
	l, tr, c, other := &budget.Ledger{}, tree("q", ""), column(t, "week"), column(t, "day")
	pass(l, start, start.Add(time.Hour), map[string]float64{"q": 3}, c)
	pass(l, start.Add(time.Hour), start.Add(2*time.Hour), map[string]float64{"q": 3}, other)
	assert.Equal(t, start.Add(time.Hour), l.Until(l.Find(c)))
	back, err := budget.New(l.Record(), start.Add(2*time.Hour))
	require.NoError(t, err)
	assert.Equal(t, start.Add(time.Hour), back.Until(back.Find(c)))
	assert.Equal(t, start.Add(2*time.Hour), back.Until(back.Find(other)))
	pass(l, start.Add(2*time.Hour), start.Add(3*time.Hour), map[string]float64{"q": 1}, c)
	assert.Equal(t, 4.0, hours(l, tr, c)["q"])
	pass(l, start.Add(3*time.Hour), start.Add(30*day), nil, other)
	assert.Negative(t, l.Find(c), "it is out of its window")
}

func TestClockSetBack(t *testing.T) {
	for _, window := range []string{"day", "2d sliding"} {
		l, tr, c := &budget.Ledger{}, tree("q", ""), column(t, window)
		pass(l, start, start.Add(time.Hour), map[string]float64{"q": 3}, c)
		back := start.Add(-30 * day)
		pass(l, back.Add(-time.Hour), back, map[string]float64{"q": 2}, c)
		assert.Equal(t, 5.0, hours(l, tr, c)["q"], window)
		pass(l, start.Add(time.Hour), start.Add(2*time.Hour), map[string]float64{"q": 1}, c)
		assert.Equal(t, 6.0, hours(l, tr, c)["q"], window)
	}
}

func TestNeed(t *testing.T) {
	for name, test := range map[string]struct {
		window string
		length time.Duration
		want   float64
	}{
		"within the window":     {"day", time.Hour, 2},
		"beyond its end":        {"day", 100 * time.Hour, 24},
		"within a sliding one":  {"2d sliding", 3 * time.Hour, 6},
		"longer than that":      {"2d sliding", 100 * time.Hour, 96},
		"nothing is announced":  {"day", 0, 0},
		"its time is over":      {"day", -time.Hour, 0},
		"the end of the month":  {"month", 1000 * time.Hour, 2 * (7*24 + 12)},
		"the end of the week":   {"week", 1000 * time.Hour, 2 * (6*24 + 12)},
		"multiples since 1970":  {"30d", 10000 * time.Hour, 2 * (9*24 + 12)},
		"half a day since 1970": {"12h", 10000 * time.Hour, 24},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, budget.Hours(budget.Need(column(t, test.window).Window, start, 2000, test.length)))
		})
	}
}

func TestUntilSpent(t *testing.T) {
	l, tr := &budget.Ledger{}, tree("q", "")
	calendar, slides := column(t, "day"), column(t, "2d sliding")
	pass(l, start, start.Add(6*time.Hour), map[string]float64{"q": 1}, calendar, slides)
	now := start.Add(6 * time.Hour)
	for name, test := range map[string]struct {
		column       budget.Column
		limit, cards float64
		want         time.Duration
		next         time.Time
	}{
		"in an hour":             {calendar, 8, 2, time.Hour, start.Add(12 * time.Hour)},
		"used up":                {calendar, 6, 2, 0, start.Add(12 * time.Hour)},
		"the window ends before": {calendar, 100, 2, budget.Never, start.Add(12 * time.Hour)},
		"nothing is held":        {calendar, 8, 0, budget.Never, start.Add(12 * time.Hour)},
		"it slides":              {slides, 8, 2, time.Hour, start.Add(49 * time.Hour)},
		"as much leaves":         {slides, 50, 1, budget.Never, start.Add(49 * time.Hour)},
		"most of it has to go":   {slides, 2, 1, 0, start.Add(53 * time.Hour)},
		"more comes than leaves": {slides, 52, 2, 23 * time.Hour, start.Add(49 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			parts := l.Sum(tr, l.Find(test.column))[tr.Lookup("q")]
			is := budget.UntilSpent(test.column.Window, now, parts, budget.Limit(test.limit), 1000*test.cards)
			assert.InDelta(t, float64(test.want), float64(is), float64(time.Second))
			assert.Equal(t, test.next, budget.Next(test.column.Window, now, parts, budget.Limit(test.limit)))
		})
	}
	assert.Zero(t, budget.Next(slides.Window, now, make([]float64, 49), 1))
}

func TestRecordsComeBack(t *testing.T) {
	l, tr, c := &budget.Ledger{}, tree("a", "", "a1", "a"), column(t, "2d sliding")
	pass(l, start, start.Add(5*time.Hour), map[string]float64{"a1": 1.0 / 3}, c, column(t, "month"))
	l.Bind(tr)
	text, err := json.Marshal(l.Record())
	require.NoError(t, err)
	var r budget.Record
	require.NoError(t, json.Unmarshal(text, &r))
	back, err := budget.New(&r, start.Add(5*time.Hour))
	require.NoError(t, err)
	assert.Equal(t, hours(l, tr, c), hours(back, tr, c))
	assert.Equal(t, start.Add(5*time.Hour), back.Until(back.Find(c)))
	assert.Equal(t, map[string]float64{"root": 5.0 / 3, "a": 5.0 / 3}, hours(back, tree("a", ""), c), "its parent is stored")
}

func TestWrongRecords(t *testing.T) {
	of := func(window string, from time.Time, used ...float64) *budget.Record {
		return &budget.Record{Columns: []budget.ColumnRecord{{Card: "H200", Window: window, From: from}},
			Queues: map[string]budget.QueueRecord{"q": {Used: [][]float64{used}}}}
	}
	midnight := start.Add(-12 * time.Hour)
	for name, test := range map[string]struct {
		r    *budget.Record
		good bool
	}{
		"good":                         {of("day", midnight, 5), true},
		"nothing":                      {of("day", midnight), true},
		"a window of a later release":  {of("quarter", midnight, 5), true},
		"it begins at noon":            {of("day", start, 5), false},
		"below 0":                      {of("day", midnight, -1), false},
		"more than any cluster":        {of("day", midnight, 1e30), false},
		"too many parts":               {of("day", midnight, 1, 2), false},
		"too few parts":                {of("2d sliding", midnight, 1), false},
		"it begins between two parts":  {of("2d sliding", midnight.Add(time.Minute)), false},
		"no column":                    {&budget.Record{Queues: map[string]budget.QueueRecord{"q": {Used: [][]float64{{1}}}}}, false},
		"a column that is there twice": {&budget.Record{Columns: []budget.ColumnRecord{{Card: "A", Window: "day", From: midnight}, {Card: "A", Window: "day", From: midnight}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := budget.New(test.r, start)
			assert.Equal(t, test.good, err == nil, "%v", err)
		})
	}
}

// FuzzRecord reads records that were tampered with, and lets time pass.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"columns":[{"card":"H200","window":"day","from":"2026-11-23T00:00:00Z"}],"queues":{"a":{"above":["root"],"used":[[5]]}}}`,
		`{"columns":[{"card":"H200","window":"1h sliding","from":"2026-11-23T00:00:00Z"}],"queues":{"a":{"used":[[]]},"b":{"above":["b","a"],"used":[null]}}}`,
		`{"columns":[{"card":"H200","window":"month","from":"9999-01-01T00:00:00Z"},{"card":"","window":"later"}],"queues":{"a":{"used":[[1e24],[1]]}}}`,
		`{"columns":null,"queues":{"a":{"used":[]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r budget.Record
		if json.Unmarshal(text, &r) != nil {
			return
		}
		l, err := budget.New(&r, start)
		if err != nil {
			return
		}
		for i, tr := range []*index.Tree{tree("a", "", "b", "a"), tree("b", "", "a", "b"), tree("c", "")} {
			now := start.Add(time.Duration(i*i) * 20 * day)
			var all []budget.Column
			for _, c := range r.Columns {
				if w, err := policy.ParseWindow(c.Window); err == nil {
					all = append(all, budget.Column{Card: c.Card, Window: w})
				}
			}
			all = append(all, column(t, "week"))
			pass(l, now.Add(-time.Hour), now, map[string]float64{"a": 1}, all...)
			l.Bind(tr)
			for _, c := range all {
				if l.Find(c) < 0 {
					continue
				}
				for name, x := range hours(l, tr, c) {
					if !(x >= 0) {
						t.Fatalf("queue %s has used %v", name, x)
					}
				}
			}
			if l, err = budget.New(l.Record(), now); err != nil {
				t.Fatal(err)
			}
		}
	})
}
