package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseBudgets(t *testing.T) {
	day := 24 * time.Hour
	for text, want := range map[string]Budget{
		`{"A": "5000h/30d"}`:             {"A", 5000, Window{Length: 30 * day}},
		` {"@g" : "0.5h/day"} `:          {"@g", 0.5, Window{Every: EveryDay}},
		`{"A": "1h/week"}`:               {"A", 1, Window{Every: EveryWeek}},
		"{\"\u2003A\\n\": \"8h/1d\"}\n":  {"A", 8, Window{Length: day}},
		`{" A ": "999999999999h/month"}`: {"A", 999999999999, Window{Every: EveryMonth}},
		`{"A": "8h/12h"}`:                {"A", 8, Window{Length: 12 * time.Hour}},
		`{"A": "8h/366d sliding"}`:       {"A", 8, Window{Length: 366 * day, Sliding: true}},
		`{"A": "8h/48h"}`:                {"A", 8, Window{Length: 2 * day}},
	} {
		var v Value
		require.True(t, parseBudgets(&v, text), text)
		assert.Equal(t, []Budget{want}, v.Budgets, text)
	}
	var v Value
	require.True(t, parseBudgets(&v, `{"B": "1h/day", "A": "2h/day"}`))
	assert.Equal(t, "A", v.Budgets[0].Card, "in the order of the names")
	for _, value := range []string{
		"", "0h/day", "0.000h/day", "-1h/day", "1e18h/day", "1000000000000h/day", "1.0001h/day", ".5h/day", "5.h/day", "5/day", "5 h/day", "5h",
		"5h/", "5h/Day", "5h/year", "5h/0d", "5h/30m", "5h/367d", "5h/9000h", "5h/1.5d", "5h/day sliding", "5h/30d  sliding", "5h/30d Sliding",
		"5h/30d sliding ", "5h/30d,5h/day", "5d/day", "0x5h/day", "infh/day", "NaNh/day",
	} {
		assert.False(t, parseBudgets(&Value{}, `{"A": "`+value+`"}`), value)
	}
	for _, text := range []string{
		"", "5h/day", "null", "[]", `{"A": 5}`, `{"A": null}`, `{"A": "5h/day"`, `{"A": "5h/day"} x`, `{"": "5h/day"}`, `{"A|B": "5h/day"}`,
		"{\"A\": \"5h/day\"}\u00a0", `{" ": "5h/day"}`, `{"A": "5h/day",}`, `{"A": ["5h/day"]}`, `{"A": "5h/day"}{}`, " ",
		`{"A": "5h/day", "A": "6h/day"}`, `{"A": "5h/day", " A": "6h/day"}`, `{"A": "5h/day", "B": "many"}`, `{"A": {"h": 5}}`,
	} {
		assert.False(t, parseBudgets(&Value{}, text), text)
	}
}

func TestWindows(t *testing.T) {
	for _, test := range []struct{ window, at, begin, end string }{
		{"day", "2026-11-23T12:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"},
		{"day", "2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"},
		{"day", "2026-11-23T23:30:00-02:00", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"},
		{"week", "2026-11-22T23:59:59Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"week", "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"month", "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"month", "2026-12-31T12:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"7d", "2026-11-23T12:00:00Z", "2026-11-19T00:00:00Z", "2026-11-26T00:00:00Z"}, // a Thursday
		{"5h", "1970-01-01T04:59:59Z", "1970-01-01T00:00:00Z", "1970-01-01T05:00:00Z"},
		{"5h", "1969-12-31T23:00:00Z", "1969-12-31T19:00:00Z", "1970-01-01T00:00:00Z"},
		{"2d sliding", "2026-11-23T12:30:00Z", "2026-11-21T12:00:00Z", "2026-11-25T12:30:00Z"},
	} {
		w, err := ParseWindow(test.window)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339, test.at)
		require.NoError(t, err)
		assert.Equal(t, test.begin, w.Begin(at).Format(time.RFC3339), "%s at %s", test.window, test.at)
		assert.Equal(t, test.end, w.End(at).UTC().Format(time.RFC3339), "%s at %s", test.window, test.at)
		assert.Equal(t, test.window, w.String())
	}
}

// FuzzBudgets parses texts. What is valid is what its own text says.
func FuzzBudgets(f *testing.F) {
	for _, text := range []string{`{"A": "5000h/30d sliding"}`, `{"A":"0.001h/day","B":"1h/48h"}`, `{"A":"1e18h/day"}`, `{"A":`, `{"A":"5h/week"}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v Value
		if !parseBudgets(&v, text) {
			return
		}
		for _, b := range v.Budgets {
			if b.Hours <= 0 || b.Hours >= 1e12 || strings.TrimSpace(b.Card) != b.Card {
				t.Fatalf("%+v", b)
			}
			if again, err := ParseWindow(b.Window.String()); err != nil || again != b.Window {
				t.Fatalf("%s is %+v, and then %+v", b.Window, b.Window, again)
			}
			now := time.Date(2026, 11, 23, 12, 0, 0, 1, time.UTC)
			if begin, end := b.Window.Begin(now), b.Window.End(now); begin.After(now) || !end.After(now) {
				t.Fatalf("%s from %s to %s", b.Window, begin, end)
			}
		}
	})
}
