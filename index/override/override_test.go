package override

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const december = `"from": "2026-12-01T00:00Z", "until": "2026-12-08T00:00Z"`

func must(t *testing.T, windows ...string) Overrides {
	t.Helper()
	o, problems := Parse("[" + strings.Join(windows, ",") + "]")
	require.Empty(t, problems)
	return o
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return when
}

// TestProblems has invalid texts with the reasons of their problems. With any problem, there are no windows.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       `"" is not a JSON list of windows`,
		"null":                                   `"null" is not a JSON list of windows`,
		"{}":                                     `"{}" is not a JSON list of windows`,
		`[1]`:                                    `window 1: "1" is not a JSON object`,
		`[{}]`:                                   `window 1: it sets nothing`,
		`[{"a":`:                                 `is not a JSON list of windows`,
		`[{"max-jobs": 1}]`:                      `window 1: it has no "from"`,
		`[{"from": "20:00", "max-jobs": 1}]`:     `window 1: it has no "until"`,
		`[{` + december + `, "max-jobs": 0}]`:    `max-jobs: "0" is not a whole number above 0`,
		`[{` + december + `, "max-jobs": null}]`: `max-jobs: "null" is not a whole number above 0`,
		`[{` + december + `, "max-jobs": 1, "max-jobs": 2}]`:                             `"max-jobs" is given more than once`,
		`[{` + december + `, "max-job": 1}]`:                                             `"max-job" is not a key that a window can set; did you mean "max-jobs"?`,
		`[{` + december + `, "volcano.sh/max-jobs": 1}]`:                                 `"volcano.sh/max-jobs" is not a key that a window can set`,
		`[{` + december + `, "override": []}]`:                                           `"override" is not a key that a window can set`,
		`[{` + december + `, "card.quota": {"A": -1}}]`:                                  `card.quota: "A": -1 is negative`,
		`[{` + december + `, "card.quota": 8}]`:                                          `card.quota: `,
		`[{` + december + `, "capability": {"cpu": "-1"}}]`:                              `capability: "{\"cpu\": \"-1\"}" is not a JSON object of resources`,
		`[{` + december + `, "capability": {"cpu": "1e-2000000000"}}]`:                   `capability: "{\"cpu\": \"1e-2000000000\"}" is not a JSON object of resources`,
		`[{` + december + `, "capability": {"cpu": 1e2000000000}}]`:                      `capability: "{\"cpu\": 1e2000000000}" is not a JSON object of resources`,
		`[{` + december + `, "weight": 0}]`:                                              `weight: "0" is not a whole number above 0`,
		`[{` + december + `, "weight": 1e18}]`:                                           `weight: "1e18" is not a whole number above 0`,
		`[{` + december + `, "parent": "x"}]`:                                            `"parent" is not a key that a window can set`,
		`[{"from": "2026-12-08T00:00Z", "until": "2026-12-01T00:00Z", "max-jobs": 1}]`:   `it ends at 2026-12-01T00:00Z, and begins at 2026-12-08T00:00Z`,
		`[{"from": "2026-12-01T00:00Z", "until": "2026-12-01T00:00Z", "max-jobs": 1}]`:   `it ends at`,
		`[{"from": "2026-12-01", "until": "2026-12-08", "max-jobs": 1}]`:                 `"2026-12-0`,
		`[{"from": "20:00", "until": "2026-12-08T00:00Z", "max-jobs": 1}]`:               `"20:00" and "2026-12-08T00:00Z" are not two times with a date`,
		`[{"from": "20:00", "until": "20:00", "max-jobs": 1}]`:                           `it ends when it begins`,
		`[{"from": "24:00", "until": "06:00", "max-jobs": 1}]`:                           `"24:00" is the end of a day`,
		`[{"from": "20:00", "until": "24:01", "max-jobs": 1}]`:                           `"20:00" and "24:01" are not two times`,
		`[{"from": "8:00", "until": "20:00", "max-jobs": 1}]`:                            `"8:00" and "20:00" are not two times`,
		`[{"from": "20:00", "until": "06:00", "zone": "Europe/Berlinn", "max-jobs": 1}]`: `zone: "Europe/Berlinn" is not a time zone`,
		`[{"from": "20:00", "until": "06:00", "zone": "", "max-jobs": 1}]`:               `zone: "" is not a time zone`,
		`[{"from": "20:00", "until": "06:00", "zone": "../etc/passwd", "max-jobs": 1}]`:  `is not a time zone`,
		`[{"from": "20:00", "until": "06:00", "days": "Monday", "max-jobs": 1}]`:         `days: "Monday" is not days`,
		`[{"from": "20:00", "until": "06:00", "days": "", "max-jobs": 1}]`:               `days: "" is not days`,
		`[{"from": "20:00", "until": "06:00", "days": "Mon-", "max-jobs": 1}]`:           `days: "Mon-" is not days`,
		`[{` + december + `, "days": "Mon", "max-jobs": 1}]`:                             `with "days", "from" and "until" are times of a day`,
		"[" + strings.Repeat(`{},`, 50) + "{}]":                                          "51 windows are more than 50",
	} {
		o, problems := Parse(text)
		assert.Nil(t, o, text)
		if assert.NotEmpty(t, problems, text) {
			assert.Contains(t, problems[0].Reason, want, text)
			assert.Less(t, len(problems[0].Reason), 400, text)
		}
	}
}

// TestSet merges objects, replaces everything else, and lets the later window decide.
func TestSet(t *testing.T) {
	o := must(t,
		`{`+december+`, "card.quota": {"A": 32, "C": 1}, "max-jobs": 5, "capability": {"cpu": "64"}, "reclaim-fence": true}`,
		`{`+december+`, "card.quota": {"A": 16}, "min-runtime": "reclaim=1h", "max-jobs": "7"}`)
	for _, c := range []struct {
		key, base, want string
		given           bool
		holding         []int
	}{
		{"card.quota", `{"A": 8, "B": 4}`, `{"A": 8, "B": 4}`, true, nil},
		{"card.quota", `{"A": 8, "B": 4}`, `{"A":32,"B":4,"C":1}`, true, []int{0}},
		{"card.quota", `{"A": 8, "B": 4}`, `{"A":16,"B":4}`, true, []int{1}},
		{"card.quota", `{"A": 8, "B": 4}`, `{"A":16,"B":4,"C":1}`, true, []int{0, 1}},
		{"card.quota", "", `{"A": 32, "C": 1}`, false, []int{0}},
		{"card.quota", "", `{"A":16,"C":1}`, false, []int{0, 1}},
		{"card.quota", "broken", "broken", true, []int{0}},
		{"card.quota", "null", "null", true, []int{0}},
		{"max-jobs", "20", "5", true, []int{0}},
		{"max-jobs", "20", "7", true, []int{0, 1}},
		{"min-runtime", "", "", false, []int{0}},
		{"min-runtime", "", "reclaim=1h", false, []int{1}},
		{"reclaim-fence", "", "true", false, []int{0}},
		{"capability", `{"memory":"1Gi"}`, `{"cpu":"64","memory":"1Gi"}`, true, []int{0}},
	} {
		text, set := o.Set(c.key, c.base, c.given, c.holding)
		assert.Equal(t, c.want, text, "%s %v", c.key, c.holding)
		assert.Equal(t, c.given || c.want != "", set, "%s %v", c.key, c.holding)
	}
	assert.Equal(t, []string{"card.quota", "max-jobs", "min-runtime"}, o[1].Keys())
	capability := o[0].Resources(Capability)
	assert.Equal(t, int64(64), capability.Cpu().Value())
	assert.Nil(t, o[1].Resources(Capability))
}

// TestOnce has the first instant of a window, its end, and times of a zone.
func TestOnce(t *testing.T) {
	o := must(t, `{`+december+`, "max-jobs": 1}`, `{"from": "2026-12-07T01:00", "until": "2026-12-09T00:00:30", "zone": "Europe/Berlin", "max-jobs": 2}`)
	assert.Equal(t, "2026-12-01T00:00Z to 2026-12-08T00:00Z", o[0].String())
	assert.Equal(t, "2026-12-07T01:00+01:00 to 2026-12-09T00:00:30+01:00", o[1].String())
	for _, c := range []struct {
		now     string
		holding []int
		next    string
	}{
		{"2026-11-30T23:59:59Z", nil, "2026-12-01T00:00:00Z"},
		{"2026-12-01T00:00:00Z", []int{0}, "2026-12-07T00:00:00Z"},
		{"2026-12-07T00:00:00Z", []int{0, 1}, "2026-12-08T00:00:00Z"},
		{"2026-12-08T00:00:00Z", []int{1}, "2026-12-08T23:00:30Z"},
		{"2026-12-08T23:00:30Z", nil, ""},
	} {
		holding, next := o.At(at(t, c.now))
		assert.Equal(t, c.holding, holding, c.now)
		if c.next == "" {
			assert.Zero(t, next, c.now)
		} else {
			assert.True(t, next.Equal(at(t, c.next)), "%s: %s", c.now, next)
		}
	}
}

// TestWeekly has nights, days that wrap around the week, and changes of the clock in Berlin: at 2026-03-29T02:00 it
// goes to 03:00, at 2026-10-25T03:00 back to 02:00.
func TestWeekly(t *testing.T) {
	for name, c := range map[string]struct {
		window, text string
		holds        map[string]bool
		next         map[string]string
	}{
		"nights of working days": {`"days": "Mon-Fri", "from": "20:00", "until": "06:00", "zone": "Europe/Berlin"`, "Mon,Tue,Wed,Thu,Fri 20:00 to 06:00 Europe/Berlin",
			map[string]bool{"2026-11-23T18:59:59Z": false, "2026-11-23T19:00:00Z": true, "2026-11-24T04:59:59Z": true, "2026-11-24T05:00:00Z": false,
				"2026-11-28T04:59:59Z": true /* of Friday */, "2026-11-28T20:00:00Z": false, "2026-11-30T04:00:00Z": false},
			map[string]string{"2026-11-28T05:00:00Z": "2026-11-30T19:00:00Z", "2026-11-24T01:00:00Z": "2026-11-24T05:00:00Z"}},
		"weekends": {`"days": "Sat-Sun", "from": "00:00", "until": "24:00"`, "Sat,Sun 00:00 to 24:00 UTC",
			map[string]bool{"2026-11-27T23:59:59Z": false, "2026-11-28T00:00:00Z": true, "2026-11-29T23:59:59Z": true, "2026-11-30T00:00:00Z": false}, nil},
		"days around the week": {`"days": "sat - mon", "from": "08:00", "until": "09:00"`, "Mon,Sat,Sun 08:00 to 09:00 UTC",
			map[string]bool{"2026-11-28T08:00:00Z": true, "2026-11-30T08:00:00Z": true, "2026-12-01T08:00:00Z": false}, nil},
		"a time that the clock skips": {`"from": "02:30", "until": "04:00", "zone": "Europe/Berlin"`, "daily 02:30 to 04:00 Europe/Berlin",
			map[string]bool{"2026-03-29T00:59:59Z": false, "2026-03-29T01:00:00Z": true /* 03:00 */, "2026-03-29T01:59:59Z": true, "2026-03-29T02:00:00Z": false}, nil},
		"nothing but skipped times": {`"from": "02:10", "until": "02:50", "zone": "Europe/Berlin"`, "daily 02:10 to 02:50 Europe/Berlin",
			map[string]bool{"2026-03-28T01:10:00Z": true, "2026-03-29T00:59:00Z": false, "2026-03-29T01:00:00Z": false, "2026-03-29T01:10:00Z": false},
			map[string]string{"2026-03-28T02:00:00Z": "2026-03-30T00:10:00Z"}},
		"an hour that comes twice": {`"from": "02:00", "until": "02:30", "zone": "Europe/Berlin"`, "daily 02:00 to 02:30 Europe/Berlin",
			map[string]bool{"2026-10-25T00:00:00Z": true, "2026-10-25T00:30:00Z": false, "2026-10-25T01:00:00Z": false, "2026-10-25T01:15:00Z": false}, nil},
		"until after an hour that comes twice": {`"from": "01:00", "until": "03:00", "zone": "Europe/Berlin"`, "daily 01:00 to 03:00 Europe/Berlin",
			map[string]bool{"2026-10-24T23:00:00Z": true, "2026-10-25T01:59:59Z": true, "2026-10-25T02:00:00Z": false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := must(t, `{`+c.window+`, "max-jobs": 1}`)
			assert.Equal(t, c.text, o[0].String())
			for now, want := range c.holds {
				holds, next := o[0].Change(at(t, now))
				assert.Equal(t, want, holds, now)
				assert.True(t, next.After(at(t, now)), "%s: %s", now, next)
			}
			for now, want := range c.next {
				_, next := o[0].Change(at(t, now))
				assert.True(t, next.Equal(at(t, want)), "%s: %s", now, next)
			}
		})
	}
}

// TestNextIsTheNextChange looks at every minute of the weeks around changes of the clock. The windows that hold change
// at the stated time, and at no time before.
func TestNextIsTheNextChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 40 {
		from := fmt.Sprintf("%02d:%02d", r.IntN(24), r.IntN(60))
		until := fmt.Sprintf("%02d:%02d", r.IntN(24), r.IntN(60))
		if from == until {
			continue
		}
		window := fmt.Sprintf(`{"from": %q, "until": %q, "days": %q, "zone": %q, "max-jobs": 1}`, from, until, pick("Mon-Sun", "Sun", "Sat,Mon", "Fri-Sun"),
			pick("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"))
		o := must(t, window)
		begin := at(t, pick("2026-03-27T00:00:00Z", "2026-10-23T00:00:00Z", "2026-04-03T00:00:00Z", "2026-10-30T00:00:00Z", "2026-03-06T00:00:00Z"))
		holds, next := o[0].at(begin)
		for minute := range 4 * 24 * 60 {
			now := begin.Add(time.Duration(minute) * time.Minute)
			is, then := o[0].at(now)
			if now.Before(next) {
				require.Equal(t, holds, is, "%s at %s", window, now)
				require.True(t, then.Equal(next), "%s at %s: %s, was %s", window, now, then, next)
			}
			require.True(t, then.After(now), "%s at %s", window, now)
			if !now.Before(next) {
				holds, next = is, then
			}
		}
	}
}

// TestOverlaps names both windows, the keys, a time, and which counts.
func TestOverlaps(t *testing.T) {
	now := at(t, "2026-11-24T12:00:00Z")
	for name, c := range map[string]struct {
		windows []string
		want    []string
	}{
		"other keys":        {[]string{`{` + december + `, "max-jobs": 1}`, `{` + december + `, "weight": 1}`}, nil},
		"other times":       {[]string{`{` + december + `, "max-jobs": 1}`, `{"from": "2026-12-08T00:00Z", "until": "2026-12-09T00:00Z", "max-jobs": 1}`}, nil},
		"past":              {[]string{`{"from": "2026-10-01T00:00Z", "until": "2026-10-09T00:00Z", "max-jobs": 1}`, `{"from": "2026-10-02T00:00Z", "until": "2026-10-09T00:00Z", "max-jobs": 1}`}, nil},
		"dates":             {[]string{`{` + december + `, "max-jobs": 1}`, `{"from": "2026-12-05T00:00Z", "until": "2026-12-09T00:00Z", "max-jobs": 1}`}, []string{"windows 1 and 2 set max-jobs at the same time, such as at 2026-12-05T00:00Z; window 2 counts"}},
		"date and nights":   {[]string{`{` + december + `, "max-jobs": 1}`, `{"from": "20:00", "until": "06:00", "max-jobs": 1}`}, []string{"windows 1 and 2 set max-jobs at the same time, such as at 2026-12-01T00:00Z; window 2 counts"}},
		"weekdays":          {[]string{`{"from": "20:00", "until": "06:00", "days": "Fri", "max-jobs": 1}`, `{"from": "05:00", "until": "07:00", "days": "Sat", "max-jobs": 1}`}, []string{"windows 1 and 2 set max-jobs at the same time, such as at 2026-11-28T05:00Z; window 2 counts"}},
		"one after another": {[]string{`{"from": "20:00", "until": "06:00", "max-jobs": 1}`, `{"from": "06:00", "until": "20:00", "max-jobs": 1}`}, nil},
	} {
		var got []string
		for _, p := range must(t, c.windows...).Overlaps(now) {
			got = append(got, p.Reason)
		}
		assert.Equal(t, c.want, got, name)
	}
	var many []string
	for range 50 {
		many = append(many, `{"from": "20:00", "until": "06:00", "max-jobs": 1}`)
	}
	assert.Len(t, must(t, many...).Overlaps(now), 10)
}

// FuzzOverrides parses any text. The windows of a valid text can be asked for any time. Valid values have no problem
// after they are merged. The text without windows is any text.
func FuzzOverrides(f *testing.F) {
	f.Add(`[{`+december+`, "card.quota": {"A": 32}}]`, "null", int64(1796083200))
	f.Add(`[{"days": "Mon-Fri", "from": "20:00", "until": "06:00", "zone": "Europe/Berlin", "max-jobs": "7", "weight": 3}]`, "20", int64(1774746000))
	f.Add(`[{"from": "02:30", "until": "02:10", "zone": "Australia/Lord_Howe", "capability": {"cpu": 1}}]`, `{"memory": "1Gi"}`, int64(0))
	f.Fuzz(func(t *testing.T, text, base string, seconds int64) {
		o, problems := Parse(text)
		require.True(t, len(problems) == 0 || o == nil)
		now := time.Unix(seconds%(1<<40), 0)
		holding, next := o.At(now)
		require.True(t, next.IsZero() || next.After(now))
		o.Overlaps(now)
		for _, w := range o {
			for _, key := range w.Keys() {
				_, set := o.Set(key, base, true, holding)
				require.True(t, set)
				merged, set := o.Set(key, w.Text(key), true, holding)
				require.True(t, set)
				if annotation := "volcano.sh/" + key; len(Problems(annotation, w.Text(key))) == 0 {
					require.Empty(t, Problems(annotation, merged), merged)
				}
			}
		}
	})
}
