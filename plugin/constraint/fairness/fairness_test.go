package fairness_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// TestUsageSurvivesRestarts compares a scheduler that restarts again and again with a scheduler that runs on. Only
// the usage of pods that ended while the scheduler was away is lost.
func TestUsageSurvivesRestarts(t *testing.T) {
	const halfLife = time.Hour
	r := rand.New(rand.NewPCG(3, 3))
	with := framework.Arguments{arguments.FairShareHalfLife: halfLife.String(), arguments.StateSave: "1s"}
	steady, restarted := testbed.NewScheduler(with), testbed.NewScheduler(with)
	type job struct {
		name  string
		cards int64
		ends  bool // its pod terminates, and has its cards until it is gone
	}
	var jobs []job
	lost, away, restarts := 0.0, time.Duration(0), 0
	for step := range 200 {
		gap := time.Second * time.Duration(1+r.IntN(1200))
		away += gap
		lost *= usage.Decay(gap, halfLife)
		if r.IntN(2) == 0 {
			jobs = append(jobs, job{name: fmt.Sprint("j", step), cards: int64(1 + r.IntN(4))})
		}
		starts := away == gap && r.IntN(5) == 0
		switch ends := len(jobs) > 4 || len(jobs) > 0 && r.IntN(4) == 0; {
		case ends && !jobs[0].ends:
			jobs[0].ends = true
		case ends:
			if starts || away > gap {
				lost += float64(jobs[0].cards) * (1 - usage.Decay(away, halfLife))
			}
			jobs = jobs[1:]
		}
		scene := func() *testbed.Scene {
			s := testbed.NewScene().Node("a", "A", 32).Queue("q", "", "quota", `{"A":32}`)
			for _, j := range jobs {
				s.Pods(j.name, "q", "A", 1, j.cards, testbed.On("a"))
				if last := len(s.Jobs) - 1; j.ends {
					s.Jobs[last].Tasks[0].Status = workload.TaskReleasing
				}
			}
			return s
		}
		if starts {
			restarts++
			restarted.Restart()
		}
		a, b := steady.Open(t, scene(), gap), restarted.Open(t, scene(), gap)
		if !starts { // the store is read while the first session runs
			require.InDelta(t, a.CardsUsed("q"), b.CardsUsed("q"), lost+1e-9, "step %d", step)
			away = 0
		}
		a.Close()
		b.Close()
	}
	assert.Greater(t, restarts, 20)
}

// fill opens a session after some time in which all queues have more pending pods than there are cards,
// and returns how many cards each gets. All pods run until the next session. Each queue deserves some cards.
func fill(c *testbed.Scheduler, t *testing.T, after time.Duration, cards, deserved int64, queues map[string]int32) map[string]int {
	t.Helper()
	return fillBeside(c, t, after, cards, deserved, queues, nil)
}

// fillBeside does the same with more cards, which pods of the queues have that run on.
func fillBeside(c *testbed.Scheduler, t *testing.T, after time.Duration, cards, deserved int64, queues map[string]int32, running []map[string]int) map[string]int {
	t.Helper()
	has, all := map[string]int{}, cards
	for _, generation := range running {
		for name, n := range generation {
			has[name] += n
			all += int64(n)
		}
	}
	s := testbed.NewScene().Node("a", "A", all)
	for name, weight := range queues {
		s.Queue(name, "", "quota", fmt.Sprintf(`{"A":%d}`, all), "deserved", fmt.Sprintf(`{"A":%d}`, deserved), "guarantee", `{"A":0}`)
		s.Queues[len(s.Queues)-1].Weight = weight
		s.Pods(name+".job", name, "A", int(cards), 1, testbed.InPhase("Inqueue"))
		if has[name] > 0 {
			s.Pods(name+".runs", name, "A", has[name], 1, testbed.On("a"))
		}
	}
	f := c.Open(t, s, after).Run(t, allocate.New())
	got := map[string]int{}
	for name := range queues {
		got[name] = len(f.Job(name + ".job").TaskStatusIndex[api.Binding])
	}
	f.Close()
	return got
}

// TestSharesFollowWeights has three queues that always wait, for 20 hours. Jobs run for at most a fiftieth of the
// half-life.
//
// With strict history, the cards that a queue gets do not count before the next session. So the first queue gets all
// free cards. The part of the time in which a queue with the weight w (of 1) has them is then off by
//
//	(1 − 2^(−runtime / half-life)) / 2 × free / cards × (1/w − number of queues)
//
// of its weight. Here, this is (1 − 2^(−1/60)) / 2 × (8 − 3) = 2.9 % for the smallest queue if all cards are free at
// once. It is less than 1 % if a third of the cards is free at once. If cards become free one by one, their number
// does not matter, provided that there are at least three.
func TestSharesFollowWeights(t *testing.T) {
	for _, test := range []struct {
		horizon     string
		cards       int64 // that are free in each session
		generations int   // of cards: each is free when the one before has run for its part of the runtime
		runtime     time.Duration
		exact       float64
	}{
		{"1h", 40, 1, 72 * time.Second, 0.01},
		{"0s", 12, 1, time.Minute, 0.03},
		{"0s", 4, 3, time.Minute, 0.01},
		{"0s", 1, 12, time.Minute, 0.01},
	} {
		c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareMap: map[string]any{"horizon": test.horizon, "by": "weight"},
			arguments.StateStore: "none"})
		weights, sums := map[string]int32{"x": 1, "y": 2, "z": 5}, map[string]int{}
		running, gap := make([]map[string]int, test.generations), test.runtime/time.Duration(test.generations)
		first := int(2 * time.Hour / gap) // at first nobody has a history
		last := first + int(20*time.Hour/gap)
		for session := range last {
			now := session % test.generations
			running[now] = nil
			running[now] = fillBeside(c, t, gap, test.cards, 0, weights, running)
			for name, n := range running[now] {
				if session >= first {
					sums[name] += n
				}
			}
		}
		for name, weight := range weights {
			share := float64(sums[name]) / float64(int64(last-first)*test.cards)
			t.Logf("horizon %s, %d of %d cards: %s has %.4f of its weight", test.horizon, test.cards, test.cards*int64(test.generations), name, share/float64(weight)*8)
			assert.InEpsilon(t, float64(weight)/8, share, test.exact, "%s with horizon %s", name, test.horizon)
		}
	}
}

// TestLockOutIsBounded has a queue that held all cards for a long time, and then waits together with another queue.
// With a part 1/n of the weights, it waits for at most h·log2(n) − p plus the minute of one pod, and not much less. h
// is the half-life, and p is the horizon.
func TestLockOutIsBounded(t *testing.T) {
	for horizon, p := range map[string]int{"0s": 0, "30m": 30, "1h": 60} {
		for log, n := range []int32{1: 2, 2: 4, 3: 8} {
			if log == 0 {
				continue
			}
			c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareMap: map[string]any{"horizon": horizon, "by": "weight"},
				arguments.StateStore: "none"})
			fill(c, t, time.Minute, 64, 0, map[string]int32{"x": 1, "y": 0})
			after, waited := 100*time.Hour, 0
			for fill(c, t, after, 64, 0, map[string]int32{"x": 1, "y": n - 1})["x"] == 0 {
				waited++
				after = time.Minute
			}
			most := 60*log - p
			assert.LessOrEqual(t, waited, most+1, "horizon %s, 1/%d", horizon, n)
			assert.GreaterOrEqual(t, waited, most-most/10-1, "horizon %s, 1/%d", horizon, n)
		}
	}
}

// TestClockSetBack sets the clock of a scheduler back, while the scheduler runs and over a restart. No time passes
// for the scheduler then.
func TestClockSetBack(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateSave: "1s"})
	used := func(after time.Duration, cards int) float64 {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`)
		if cards > 0 {
			s.Pods("runs", "q", "A", cards, 1, testbed.On("a"))
		}
		f := c.Open(t, s, after)
		defer f.Close()
		return f.CardsUsed("q")
	}
	used(0, 0)
	used(0, 8)
	assert.InDelta(t, 4, used(time.Hour, 8), 1e-9)
	assert.InDelta(t, 4, used(-30*24*time.Hour, 8), 1e-9, "the clock is set back")
	assert.InDelta(t, 6, used(time.Hour, 8), 1e-9)
	c.Restart()
	used(-30*24*time.Hour, 8) // reads usage that was saved in the future
	assert.InDelta(t, 6, used(0, 8), 1e-9)
	assert.InDelta(t, 7, used(time.Hour, 8), 1e-9)
}

// TestExampleOfFairness is the example of docs/spec/fairness.md.
func TestExampleOfFairness(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "24h", arguments.StateStore: "none"})
	both := map[string]int32{"a": 1, "b": 1}
	monday := func() *testbed.Scene {
		s := testbed.NewScene().Node("a", "A", 16)
		for name := range both {
			s.Queue(name, "", "quota", `{"A":16}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`)
		}
		return s
	}
	c.Open(t, monday(), 0).Close()
	c.Open(t, monday().Pods("week", "a", "A", 16, 1, testbed.On("a")), 0).Close()
	at := time.Duration(0)
	for after := 5 * 24 * time.Hour; ; after = 10 * time.Minute {
		got := fill(c, t, after, 16, 4, both)
		if got["a"] != 4 {
			assert.Equal(t, map[string]int{"a": 5, "b": 11}, got)
			break
		}
		at += 10 * time.Minute
	}
	assert.Equal(t, 15*time.Hour+40*time.Minute, at)
	for range 3 * 24 * 6 {
		fill(c, t, 10*time.Minute, 16, 4, both)
	}
	assert.Equal(t, map[string]int{"a": 8, "b": 8}, fill(c, t, 10*time.Minute, 16, 4, both))
}

// TestLevelOfProportion opens a session under the name proportion, which computes the deserved of queues.
func TestLevelOfProportion(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "").Pods("runs", "q", "", 4, 1, testbed.On("a"))
	s.Build, s.Arguments = session.BuilderOf(session.ProportionName).Build, framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: "none"}
	f := s.Open(t)
	assert.Equal(t, 1.0, f.Own.Memory.Fairness.Level(f.Own.Index.Lookup("q")), "4 of 4 deserved")
}
