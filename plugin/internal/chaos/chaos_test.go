package chaos

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

var (
	worlds     = flag.Int("worlds", 200, "how many random worlds TestChaos runs")
	worldSeed  = flag.Uint64("world-seed", 1, "the seed of the first of them")
	worldTime  = flag.Duration("world-time", 0, "how long TestChaos runs, instead of a number of worlds")
	worldName  = flag.String("world-plugin", "", "the plugin of the worlds that TestChaos runs, all if empty")
	worldWith  = flag.String("world-with", "", "the text that the scripts of the worlds have which TestChaos runs, such as devices")
	worldForce = flag.String("world-force", "", "the policy that most queues of the worlds have which TestChaos runs, such as soft-quota")
	worldFinds = flag.Int("world-finds", 1, "the number of violations after which TestChaos stops")
	worldKnown = flag.Bool("world-known", false, "check the invariants that are known not to hold as well")
	worldRaw   = flag.Bool("world-raw", false, "print a world that breaks an invariant as it was drawn, and not the smallest one")
)

// TestChaos runs random worlds. Tenants, admins, nodes and restarts of the scheduler act
// at random, and the invariants hold after each event, after each action, and at the end.
func TestChaos(t *testing.T) {
	defer testbed.OneAtATime()()
	for _, name := range sortedKeys(known) {
		t.Logf("not checked: %s: %s", name, known[name])
	}
	if *worldForce != "" {
		require.Contains(t, policyTexts, policy.Prefix+*worldForce)
	}
	began, ran, found, seen := time.Now(), 0, 0, map[string]int{}
	for seed := *worldSeed; found < *worldFinds; seed++ {
		if *worldTime > 0 && time.Since(began) > *worldTime || *worldTime == 0 && ran == *worlds {
			break
		}
		s := drawScenario(seed)
		if *worldName != "" && s.Plugin != *worldName || !strings.Contains(s.String(), *worldWith) {
			continue
		}
		ran++
		w, violation := play(s, nil)
		if violation != nil {
			found++
			t.Errorf("seed %d: %s", seed, describe(s, violation, w.History))
		}
		for what, n := range w.seen {
			seen[what] += n
		}
		if ran%1000 == 0 {
			t.Logf("%d worlds, %d violations", ran, found)
		}
	}
	t.Logf("%d worlds, seeds from %d, %.1f a second: %v", ran, *worldSeed, float64(ran)/time.Since(began).Seconds(), seen)
	if ran >= 400 {
		assert.Greater(t, seen["pods placed"], 10*ran)
		assert.Greater(t, seen["pods evicted"], ran/4)
	}
}

// minimise returns the smallest scenario that breaks an invariant as s does. It plays at most so
// many runs.
func minimise(s *Scenario, invariant string, broken sabotage, runs int) *Scenario {
	return Minimise(s, runs, func(s *Scenario) bool {
		_, found := play(s, broken)
		return found != nil && found.invariant == invariant
	})
}

// mostHistory is the number of lines of history that describe prints.
const mostHistory = 60

// describe describes the smallest scenario that breaks an invariant as s does.
func describe(s *Scenario, found *violation, history []string) string {
	times := 1
	if !*worldRaw {
		s = minimise(s, found.invariant, nil, 6000)
		times = 0
		for range 10 {
			if w, again := play(s, nil); again != nil && again.invariant == found.invariant {
				found, history, times = again, w.History, times+1
			}
		}
	}
	if n := len(history); n > mostHistory {
		history = slices.Concat(history[:mostHistory/2], []string{"…"}, history[n-mostHistory/2:])
	}
	return fmt.Sprintf("%v\n\n%s\n%s\nThe invariant is broken in %d of 10 runs.", found, s.File(found.Error()), strings.Join(history, "\n"), times)
}

// TestChaosRepeats runs worlds twice. Nearly all of them take the same course. What is
// left to chance is the order in which Volcano's actions visit maps.
func TestChaosRepeats(t *testing.T) {
	defer testbed.OneAtATime()()
	const worlds = 12
	same := 0
	for seed := range uint64(worlds) {
		first, _ := play(drawScenario(seed), nil)
		if second, _ := play(drawScenario(seed), nil); slices.Equal(first.History, second.History) {
			same++
		}
	}
	t.Logf("%d of %d worlds take the same course", same, worlds)
	assert.Greater(t, same, worlds/4)
}

// TestChaosDrawsAllArguments draws scenarios. Each argument of the plugin is in some.
func TestChaosDrawsAllArguments(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(100) {
		for key := range drawScenario(seed).Arguments {
			drawn[key] = true
		}
	}
	assert.Equal(t, slices.Sorted(slices.Values(arguments.Known)), slices.Sorted(maps.Keys(drawn)))
}

// TestChaosFindsAForgottenRefund charges the queues of evicted pods again. A random world
// shows it, and the smallest one has few objects.
func TestChaosFindsAForgottenRefund(t *testing.T) {
	defer testbed.OneAtATime()()
	forgets := func(c *chaosCycle, task *api.TaskInfo, allocated bool) {
		if !allocated && task.Status == api.Releasing {
			c.own.OnAllocate(&framework.Event{Task: task})
		}
	}
	for seed := uint64(1); ; seed++ {
		require.Less(t, seed, uint64(100), "no world shows it")
		s := drawScenario(seed)
		_, found := play(s, forgets)
		if found == nil {
			continue
		}
		small := minimise(s, found.invariant, forgets, 500)
		assert.Contains(t, found.invariant, "charged what its tasks have")
		assert.LessOrEqual(t, len(small.Acts), 12)
		_, again := play(small, forgets)
		require.NotNil(t, again)
		t.Logf("seed %d: %v\n\n%s", seed, again, small)
		_, without := play(small, nil)
		assert.Nil(t, without)
		return
	}
}

// TestChaosFound compares the names of known with the scenes of testdata/found, which TestScenes
// runs: there is one for each.
func TestChaosFound(t *testing.T) {
	for name := range known {
		path := filepath.Join("testdata", "found", strings.ReplaceAll(name, " ", "-"))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(text), "----\nbroken: ", "%q holds: take it off known", name)
	}
}

// TestChaosScripts reads the scripts of random worlds again. They say the same, and play the same.
func TestChaosScripts(t *testing.T) {
	for seed := range uint64(300) {
		s := drawScenario(seed)
		script, err := ParseScript(s.String(), nil)
		require.NoError(t, err)
		again := &Scenario{}
		steps, err := script.Steps(nil)
		require.NoError(t, err)
		for _, step := range steps {
			switch {
			case step.Command == "config":
				require.NoError(t, again.Set(step.Words...))
			case step.Deed != nil:
				again.Acts = append(again.Acts, Act{Cycle: again.Cycles + 1, Deed: step.Deed})
			case step.Command == "cycle" && len(step.Words) > 0:
				n, err := strconv.Atoi(step.Words[0])
				require.NoError(t, err)
				again.Cycles += n
			case step.Command == "cycle":
				again.Cycles++
			}
		}
		require.Equal(t, s.String(), again.String())
		require.Equal(t, s.Config, again.Config)
		for i, a := range s.Sorted() {
			require.Equal(t, a, again.Acts[i])
		}
	}
}
