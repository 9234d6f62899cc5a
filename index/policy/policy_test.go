package policy

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
)

func TestParsers(t *testing.T) {
	for name, c := range map[string]struct {
		parse func(*Value, string) bool
		good  map[string]func(Value) any // the value that a text sets, against true
		bad   []string
	}{
		"count": {parseCount, map[string]func(Value) any{
			"1": func(v Value) any { return v.Count == 1 }, "2147483647": func(v Value) any { return v.Count == math.MaxInt32 },
		}, []string{"", "0", "-1", "1.5", "twenty", "2147483648", "0x10", "1e3"}},
		"factor": {parseFactor, map[string]func(Value) any{
			"1.5": func(v Value) any { return v.Milli == 1500 }, "2": func(v Value) any { return v.Milli == 2000 },
			"0.001": func(v Value) any { return v.Milli == 1 }, "1.15": func(v Value) any { return v.Milli == 1150 },
		}, []string{"", "0", "0.000", "-1", "1.0001", "1e3", "inf", "NaN", "0x1p4", "1,5", ".5", "5."}},
		"duration": {parseDuration, map[string]func(Value) any{
			"30m": func(v Value) any { return v.Duration == 30*time.Minute }, "0s": func(v Value) any { return v.Duration == 0 },
			"1h30m": func(v Value) any { return v.Duration == 90*time.Minute },
		}, []string{"", "30", "-1m", "1d", "soon"}},
		"flag": {parseFlag, map[string]func(Value) any{
			"true": func(v Value) any { return v.Flag }, "false": func(v Value) any { return !v.Flag },
		}, []string{"", "yes", "2"}},
		"rate": {parseRate, map[string]func(Value) any{
			"10/1h": func(v Value) any { return v.Rate == Rate{10, time.Hour} && v.Rate.String() == "10/1h" },
			"1/1m":  func(v Value) any { return v.Rate == Rate{1, time.Minute} && v.Rate.String() == "1/1m" },
			"10000/31d": func(v Value) any {
				return v.Rate == Rate{10000, 31 * 24 * time.Hour} && v.Rate.String() == "10000/31d"
			},
			"2/1440m": func(v Value) any { return v.Rate.String() == "2/1d" }, "2/90m": func(v Value) any { return v.Rate.String() == "2/90m" },
			"2/744h": func(v Value) any { return v.Rate.Length == 31*24*time.Hour },
		}, []string{"", "10", "0/1h", "-1/1h", "1e18/1h", "10001/1h", "1/0h", "1/30s", "1/32d", "1/745h", "1/44641m", "1/1y", "x/y", "1/1h/1h", "1.5/1h", "1/1.5h", "1 /1h"}},
		"cards": {parseCards, map[string]func(Value) any{
			`{"A": 2}`: func(v Value) any { return len(v.Cards) == 1 && v.Cards[0].Cards == 2 }, `{}`: func(v Value) any { return len(v.Cards) == 0 },
		}, []string{"", "2", `{"A": 1.5}`, `{"A": -1}`, `{"A": 1, "B": "x"}`, `{"A|B": 1}`, `{"A": 1`}},
	} {
		t.Run(name, func(t *testing.T) {
			for text, holds := range c.good {
				var v Value
				require.True(t, c.parse(&v, text), text)
				assert.Equal(t, true, holds(v), "%s: %+v", text, v)
			}
			for _, text := range c.bad {
				assert.False(t, c.parse(&Value{}, text), "%q", text)
			}
		})
	}
}

// TestProblems checks that a problem names the key, the value and the expected form, in few words.
func TestProblems(t *testing.T) {
	problems := Problems(map[string]string{MaxJobsKey: " 20 ", OvercommitFactorKey: strings.Repeat("9", 4096)})
	require.Len(t, problems, 1)
	assert.Equal(t, OvercommitFactorKey, problems[0].Key)
	assert.Contains(t, problems[0].Reason, `999…" is not a number above 0 with at most 3 decimals`)
	assert.Less(t, len(problems[0].Reason), 250)
	assert.Empty(t, Problems(map[string]string{"volcano.sh/card.quota": "x"}))
}

func TestUnknown(t *testing.T) {
	problems := Unknown(map[string]string{
		"volcano.sh/max-job": "1", "volcano.sh/overcomit-factor": "1", "volcano.sh/preemptable": "1",
		"volcano.sh/max-jobs": "1", "volcano.sh/card.quota": "1", "volcano.sh/hierarchy": "1", "example.com/max-job": "1",
		"volcano.sh/preempt-min-runtime": "1h",
	})
	require.Len(t, problems, 3)
	assert.Equal(t, `is unknown and has no effect; did you mean "volcano.sh/max-jobs"?`, problems[0].Reason)
	assert.Equal(t, "volcano.sh/overcomit-factor", problems[1].Key)
	assert.Equal(t, "is volcano.sh/min-runtime: preempt=TIME now", problems[2].Reason)
}

// TestInherit has three queues in a row: one that sets both kinds of keys, one that sets
// none, and one that says otherwise.
func TestInherit(t *testing.T) {
	top := &Values{MaxJobs: {Set: true, Count: 20}, OvercommitFactor: {Set: true, Milli: 1500}}
	values, below := Inherit(top, nil)
	assert.Equal(t, *top, *values)
	assert.Equal(t, 0, below.MaxJobs(), "what bounds a subtree is not inherited")
	assert.EqualValues(t, 1500, below.OvercommitFactor())

	middle, still := Inherit(nil, below)
	assert.Same(t, below, middle)
	assert.Same(t, below, still)

	low, lowest := Inherit(&Values{OvercommitFactor: {Set: true, Milli: 3000}}, below)
	assert.EqualValues(t, 3000, low.OvercommitFactor())
	assert.EqualValues(t, 3000, lowest.OvercommitFactor())
}

// TestInForce has a queue that sets some policies, below one that sets others, below the root.
func TestInForce(t *testing.T) {
	queue := map[string]string{MinRuntimeKey: "reclaim=0s", OvercommitFactorKey: "many", MaxJobsKey: " 5 ", ReclaimFenceKey: "false",
		OrderKey: "nodes=30m , displace=off", "other": "x"}
	parent := map[string]string{MinRuntimeKey: "preempt=5m,reclaim=30m", OvercommitFactorKey: "1.5", MaxJobsKey: "20", ReclaimFenceKey: "true",
		card.HolderKey: "{}", OrderKey: "hold=1h, fifo,displace"}
	root := map[string]string{OvercommitFactorKey: "2", ReclaimDelayKey: "1m", card.HolderKey: `{"namespace": {"*": {"cpu": "64"}}}`}
	assert.Equal(t, []Held{
		{Name: MaxJobsKey, Text: "5", Whole: true}, {Name: MaxJobsKey, Text: "20", Level: 1, Whole: true},
		{Key: OvercommitFactor, Name: OvercommitFactorKey, Text: "1.5", Level: 1},
		{Key: JobOrder, Name: OrderKey, Text: "hold=1h,fifo", Level: 1},
		{Key: HolderQuota, Name: card.HolderKey, Text: `{"namespace": {"*": {"cpu": "64"}}}`, Level: 2, Whole: true},
		{Key: FairShareHold, Name: OrderKey, Text: "nodes=30m"},
		{Key: ReclaimFence, Name: ReclaimFenceKey, Text: "true", Level: 1, Whole: true, Takes: true},
		{Key: PreemptMinRuntime, Name: MinRuntimeKey, Text: "preempt=5m", Level: 1, Takes: true},
		{Key: ReclaimDelay, Name: ReclaimDelayKey, Text: "1m", Level: 2, Takes: true},
	}, InForce([]map[string]string{queue, parent, root}))
	assert.Empty(t, InForce([]map[string]string{nil, {"other": "x"}}))
}
