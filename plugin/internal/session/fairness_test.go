package session

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// fairScheduler is a scheduler with a clock, and with an API server for ConfigMaps.
type fairScheduler struct {
	with    framework.Arguments
	kube    *fake.Clientset
	clock   time.Time
	build   framework.PluginBuilder
	started map[string]time.Time // pods
	created map[string]time.Time // pods that wait
	opened  func()               // is called before the store is waited for, nil for nothing
}

func newFairScheduler(with framework.Arguments) *fairScheduler {
	c := &fairScheduler{with: with, kube: fake.NewClientset(), clock: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), started: map[string]time.Time{}, created: map[string]time.Time{}}
	c.restart()
	return c
}

func (c *fairScheduler) restart() {
	c.build = (&Builder{Variant: cardBuilder.Variant, Now: func() time.Time { return c.clock }}).Build
}

// open opens a session on a scene after some time, and waits for the store.
func (c *fairScheduler) open(t *testing.T, s *scene, after time.Duration) *fixture {
	t.Helper()
	c.clock = c.clock.Add(after)
	s.build, s.arguments = c.build, c.with
	f := s.open(t, func(info *api.ClusterInfo, cache *offline.Cache) {
		cache.Kube = c.kube
		for _, job := range info.Jobs {
			for _, task := range job.Tasks {
				if task.Status != api.Running && task.Status != api.Releasing {
					continue
				}
				if c.started[task.Name].IsZero() {
					c.started[task.Name] = c.clock
				}
				task.Pod.Status.StartTime = &metav1.Time{Time: c.started[task.Name]}
			}
			for _, task := range job.TaskStatusIndex[api.Pending] {
				if c.created[task.Name].IsZero() {
					c.created[task.Name] = c.clock
				}
				task.Pod.CreationTimestamp = metav1.Time{Time: c.created[task.Name]}
			}
		}
	})
	if c.opened != nil {
		c.opened()
	}
	f.own.Memory.store.Wait()
	return f
}

// cardsUsed returns the usage of a queue in the first column, in cards.
func (f *fixture) cardsUsed(queue string) float64 {
	return f.own.Memory.Fairness.History().Row(f.own.Index.Lookup(queue))[0] / 1000
}

// TestUsageSurvivesRestarts compares a scheduler that starts anew again and again with one that runs
// on. What pods had that ended while it was away is lost, and nothing else.
func TestUsageSurvivesRestarts(t *testing.T) {
	const halfLife = time.Hour
	r := rand.New(rand.NewPCG(3, 3))
	with := framework.Arguments{arguments.FairShareHalfLife: halfLife.String(), arguments.FairShareSave: "1s"}
	steady, restarted := newFairScheduler(with), newFairScheduler(with)
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
		scene := func() *scene {
			s := newScene().node("a", "A", 32).queue("q", "", "quota", `{"A":32}`)
			for _, j := range jobs {
				s.pods(j.name, "q", "A", 1, j.cards, on("a"))
				if last := len(s.Jobs) - 1; j.ends {
					s.Jobs[last].Tasks[0].Status = workload.TaskReleasing
				}
			}
			return s
		}
		if starts {
			restarts++
			restarted.restart()
		}
		a, b := steady.open(t, scene(), gap), restarted.open(t, scene(), gap)
		if !starts { // the store is read while the first session runs
			require.InDelta(t, a.cardsUsed("q"), b.cardsUsed("q"), lost+1e-9, "step %d", step)
			away = 0
		}
		a.close()
		b.close()
	}
	assert.Greater(t, restarts, 20)
}

// fill opens a session after some time in which all queues have more pending pods than there are cards,
// and returns how many cards each gets. All pods run until the next session. Each queue deserves some cards.
func (c *fairScheduler) fill(t *testing.T, after time.Duration, cards, deserved int64, queues map[string]int32) map[string]int {
	t.Helper()
	return c.fillBeside(t, after, cards, deserved, queues, nil)
}

// fillBeside does the same with more cards, which pods of the queues have that run on.
func (c *fairScheduler) fillBeside(t *testing.T, after time.Duration, cards, deserved int64, queues map[string]int32, running []map[string]int) map[string]int {
	t.Helper()
	has, all := map[string]int{}, cards
	for _, generation := range running {
		for name, n := range generation {
			has[name] += n
			all += int64(n)
		}
	}
	s := newScene().node("a", "A", all)
	for name, weight := range queues {
		s.queue(name, "", "quota", fmt.Sprintf(`{"A":%d}`, all), "deserved", fmt.Sprintf(`{"A":%d}`, deserved), "guarantee", `{"A":0}`)
		s.Queues[len(s.Queues)-1].Weight = weight
		s.pods(name+".job", name, "A", int(cards), 1, inPhase("Inqueue"))
		if has[name] > 0 {
			s.pods(name+".runs", name, "A", has[name], 1, on("a"))
		}
	}
	f := c.open(t, s, after).run(t, allocate.New())
	got := map[string]int{}
	for name := range queues {
		got[name] = len(f.job(name + ".job").TaskStatusIndex[api.Binding])
	}
	f.close()
	return got
}

// TestSharesFollowWeights has three queues that always wait, for 20 hours. Jobs run for at most a fiftieth of the
// half-life.
//
// With strict history, what a queue gets does not count before the next session, so that the first queue gets all cards
// that are free. The part of the time that a queue with the weight w (of 1) has them is then off by
//
//	(1 − 2^(−runtime / half-life)) / 2 × free / cards × (1/w − number of queues)
//
// of its weight: here (1 − 2^(−1/60)) / 2 × (8 − 3) = 2.9 % for the smallest queue if all cards are free at once, and
// less than 1 % if a third of them is. The number of cards does not matter where they become free one by one, from
// three on.
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
		c := newFairScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareHorizon: test.horizon,
			arguments.FairShareBy: "weight", arguments.FairShareStore: "none"})
		weights, sums := map[string]int32{"x": 1, "y": 2, "z": 5}, map[string]int{}
		running, gap := make([]map[string]int, test.generations), test.runtime/time.Duration(test.generations)
		first := int(2 * time.Hour / gap) // at first nobody has a history
		last := first + int(20*time.Hour/gap)
		for session := range last {
			now := session % test.generations
			running[now] = nil
			running[now] = c.fillBeside(t, gap, test.cards, 0, weights, running)
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

// TestLockOutIsBounded has a queue that had all cards for long, and then waits beside another one. Where it has a part
// 1/n of the weights, it gets a card after h·log2(n) − p and one pod of a minute at the latest, and not long before
// that.
func TestLockOutIsBounded(t *testing.T) {
	for horizon, p := range map[string]int{"0s": 0, "30m": 30, "1h": 60} {
		for log, n := range []int32{1: 2, 2: 4, 3: 8} {
			if log == 0 {
				continue
			}
			c := newFairScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareHorizon: horizon, arguments.FairShareBy: "weight",
				arguments.FairShareStore: "none"})
			c.fill(t, time.Minute, 64, 0, map[string]int32{"x": 1, "y": 0})
			after, waited := 100*time.Hour, 0
			for c.fill(t, after, 64, 0, map[string]int32{"x": 1, "y": n - 1})["x"] == 0 {
				waited++
				after = time.Minute
			}
			most := 60*log - p
			assert.LessOrEqual(t, waited, most+1, "horizon %s, 1/%d", horizon, n)
			assert.GreaterOrEqual(t, waited, most-most/10-1, "horizon %s, 1/%d", horizon, n)
		}
	}
}

// TestClockSetBack lets no time pass for a scheduler whose clock is set back, while it runs and over a restart.
func TestClockSetBack(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareSave: "1s"})
	used := func(after time.Duration, cards int) float64 {
		s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`)
		if cards > 0 {
			s.pods("runs", "q", "A", cards, 1, on("a"))
		}
		f := c.open(t, s, after)
		defer f.close()
		return f.cardsUsed("q")
	}
	used(0, 0)
	used(0, 8)
	assert.InDelta(t, 4, used(time.Hour, 8), 1e-9)
	assert.InDelta(t, 4, used(-30*24*time.Hour, 8), 1e-9, "the clock is set back")
	assert.InDelta(t, 6, used(time.Hour, 8), 1e-9)
	c.restart()
	used(-30*24*time.Hour, 8) // reads what was saved in the future
	assert.InDelta(t, 6, used(0, 8), 1e-9)
	assert.InDelta(t, 7, used(time.Hour, 8), 1e-9)
}

// TestTimePassesByTheMonotonicClock opens a session with the clock of the machine. What lies between two times with a
// monotonic reading does not depend on the wall clock, so a clock that jumps while the scheduler runs changes nothing.
func TestTimePassesByTheMonotonicClock(t *testing.T) {
	f := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).open(t)
	defer f.close()
	assert.Contains(t, f.own.Now.String(), " m=+")
	assert.Contains(t, newMemory().now().String(), " m=+")
}

// TestExampleOfFairness is the example of docs/spec/fairness.md.
func TestExampleOfFairness(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareHalfLife: "24h", arguments.FairShareStore: "none"})
	both := map[string]int32{"a": 1, "b": 1}
	monday := func() *scene {
		s := newScene().node("a", "A", 16)
		for name := range both {
			s.queue(name, "", "quota", `{"A":16}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`)
		}
		return s
	}
	c.open(t, monday(), 0).close()
	c.open(t, monday().pods("week", "a", "A", 16, 1, on("a")), 0).close()
	at := time.Duration(0)
	for after := 5 * 24 * time.Hour; ; after = 10 * time.Minute {
		got := c.fill(t, after, 16, 4, both)
		if got["a"] != 4 {
			assert.Equal(t, map[string]int{"a": 5, "b": 11}, got)
			break
		}
		at += 10 * time.Minute
	}
	assert.Equal(t, 15*time.Hour+40*time.Minute, at)
	for range 3 * 24 * 6 {
		c.fill(t, 10*time.Minute, 16, 4, both)
	}
	assert.Equal(t, map[string]int{"a": 8, "b": 8}, c.fill(t, 10*time.Minute, 16, 4, both))
}

// TestLevelOfProportion opens a session under the name proportion, which computes what queues deserve.
func TestLevelOfProportion(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "").pods("runs", "q", "", 4, 1, on("a"))
	s.build, s.arguments = (&Builder{Variant: proportionBuilder.Variant}).Build, framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.FairShareStore: "none"}
	f := s.open(t)
	assert.Equal(t, 1.0, f.own.Memory.Fairness.Level(f.own.Index.Lookup("q")), "4 of 4 deserved")
}
