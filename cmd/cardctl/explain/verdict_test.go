package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// TestVerdict has a job of four cards in a queue with a quota of two, and windows that let it run, now or later.
func TestVerdict(t *testing.T) {
	window := func(when string, quota int) string {
		return fmt.Sprintf(`{%s, "card.quota": {"NVIDIA-H200": %d}}`, when, quota)
	}
	const (
		evening  = `"from": "18:00", "until": "20:00"`
		night    = `"from": "20:00", "until": "22:00"`
		sunday   = `"days": "Sun", "from": "08:00", "until": "09:00"`
		holidays = `"from": "2027-12-24T00:00Z", "until": "2028-01-02T00:00Z"`
	)
	var many []string
	for i := range 50 {
		minute := i % 3 * 20
		when := fmt.Sprintf(`"from": "%02d:%02d", "until": "%02d:%02d"`, i/3, minute, i/3, minute+1)
		many = append(many, window(when, 3))
	}

	for name, test := range map[string]struct {
		own, other []string // windows of the queue of the job, and of a queue with guarantees
		want       string
	}{
		"no window":                  {want: "never"},
		"the next window":            {own: []string{window(evening, 4)}, want: "until 2026-12-01T18:00Z"},
		"the next window is too low": {own: []string{window(evening, 3)}, want: "never"},
		"the window after the next":  {own: []string{window(evening, 3), window(night, 4)}, want: "until 2026-12-01T20:00Z"},
		"another day of the week":    {own: []string{window(evening, 3), window(sunday, 4)}, want: "until 2026-12-06T08:00Z"},
		"a date after the next week": {own: []string{window(evening, 3), window(holidays, 4)}, want: "until 2027-12-24T00:00Z"},
		"too many times to try":      {own: many, want: "unknown"},
		"a guarantee of another queue": {
			own:   []string{window(holidays, 4)},
			other: []string{`{"from": "2027-12-30T00:00Z", "until": "2027-12-31T00:00Z", "card.guarantee": {"NVIDIA-H200": 0}}`},
			want:  "until 2027-12-30T00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			windowed := func(name, quota string, windows []string) string {
				q := queue(name, "", quota, "")
				if len(windows) > 0 {
					q = withAnnotation(q, "volcano.sh/override: '["+strings.Join(windows, ",")+"]'")
				}
				return q
			}
			guaranteed := `{"NVIDIA-H200": 0}`
			if len(test.other) > 0 {
				guaranteed = `{"NVIDIA-H200": 6}`
			}
			w, c := read(t, []string{
				node("a", h200, 8),
				withAnnotation(windowed("q", `{"NVIDIA-H200": 2}`, test.own), `volcano.sh/card.guarantee: '{"NVIDIA-H200": 0}'`),
				windowed("other", guaranteed, test.other),
				group("j", "q", "Pending", pods{n: 4, minimum: 4, limits: gpu, card: h200}),
			}, plugin.Name, unlimited(false))
			c.At = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

			f := jobs(t, w, c, Options{Ahead: true})[0]
			require.Equal(t, Waiting, f.State)
			got := "unknown"
			if f.Verdict != nil {
				got = string(f.Verdict.Kind)
			}
			if f.Verdict != nil && f.Verdict.Until != nil {
				got += " " + f.Verdict.Until.UTC().Format("2006-01-02T15:04Z")
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestVerdictWithLastGoodValues has a queue with a wrong quota, and the last good one of the scheduler. A job that waits
// for the other job of the queue can run.
func TestVerdictWithLastGoodValues(t *testing.T) {
	own := strings.Replace(queue("own", "", `{"NVIDIA-H200": 8,}`, ""), "{name: own", `{name: own, uid: "1"`, 1)
	w, c := read(t, []string{
		node("a", h200, 8), own,
		group("runs", "own", "Running", pods{n: 4, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("waits", "own", "Pending", pods{n: 6, minimum: 6, limits: gpu, card: h200}),
	}, plugin.Name, unlimited(false))
	kept := objects.Kept{"own": {UID: "1", Annotations: map[string]string{"volcano.sh/card.quota": `{"NVIDIA-H200":8}`}}}
	c.Budgets = &store.Stored{Record: store.Record{
		Remembered: &store.Remembered{Version: store.RememberedVersion, Queues: kept},
	}}

	f := jobs(t, w, c, Options{Ahead: true})[1]
	require.Equal(t, Waiting, f.State)
	require.NotNil(t, f.Verdict)
	assert.Equal(t, Now, f.Verdict.Kind, f.Message)
}

// TestBrokenGang has jobs with four or less of their four pods on a node.
func TestBrokenGang(t *testing.T) {
	for name, test := range map[string]struct {
		left, minimum int
		want          string
	}{
		"all pods":          {4, 4, ""},
		"above its minimum": {3, 2, ""},
		"below its minimum": {3, 4, "its gang is broken: 3 of the 4 pods that it needs are left"},
		"not started":       {0, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := pods{n: 4, minimum: test.minimum, limits: gpu, card: h200}
			waiting := strings.Split(group("gang", "q", "Running", all), "\n---")
			all.node = "a"
			running := strings.Split(group("gang", "q", "Running", all), "\n---")
			gang := strings.Join(append(running[:1+test.left], waiting[1+test.left:]...), "\n---")
			w, c := read(t, []string{node("a", h200, 8), queue("q", "", `{"NVIDIA-H200": 8}`, ""), gang}, plugin.Name, unlimited(false))
			assert.Equal(t, test.want, jobs(t, w, c, Options{})[0].Broken)
		})
	}
}
