package plugin

import (
	"flag"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var (
	worlds    = flag.Int("worlds", 200, "how many random worlds TestChaos runs")
	worldSeed = flag.Uint64("world-seed", 1, "the seed of the first of them")
	worldTime = flag.Duration("world-time", 0, "how long TestChaos runs, instead of a number of worlds")
	worldLog  = flag.Bool("world-log", false, "print each world that breaks an invariant as it is, not minimised")
	moreFinds = flag.Int("world-finds", 1, "the number of worlds that break an invariant after which TestChaos stops")
)

// TestChaos runs random worlds. Tenants, admins, nodes and restarts act at random, and
// the invariants hold after each event, after each action, and at the end.
func TestChaos(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // Volcano's workers run one after the other
	for _, name := range sortedKeys(known) {
		t.Logf("not checked: %s: %s", name, known[name])
	}
	began, ran, finds := time.Now(), 0, map[string]int{}
	for seed := *worldSeed; ; seed++ {
		if *worldTime > 0 && time.Since(began) > *worldTime || *worldTime == 0 && ran == *worlds {
			break
		}
		s := drawScenario(seed)
		ran++
		found, history := play(s, nil)
		if found == nil {
			continue
		}
		finds[found.invariant]++
		if finds[found.invariant] <= *moreFinds {
			t.Errorf("seed %d: %s", seed, describe(s, found, history))
		}
		if *moreFinds == 1 {
			break
		}
	}
	t.Logf("%d worlds, %.1f a second, seeds from %d; violations: %v; %v", ran, float64(ran)/time.Since(began).Seconds(), *worldSeed, finds, seenInWorlds)
}

// describe minimises a scenario that breaks an invariant, and describes it.
func describe(s *scenario, found *violation, history []string) string {
	if *worldLog {
		return found.Error() + "\n" + s.String() + "\n" + strings.Join(history, "\n")
	}
	small := minimise(s, found.invariant, nil)
	again, times := found, 0
	for range 10 {
		if is, past := play(small, nil); is != nil && is.invariant == found.invariant {
			again, history = is, past
			times++
		}
	}
	return again.Error() + "\n\n" + small.String() + "it breaks the invariant in " + strconv.Itoa(times) + " of 10 runs\n\n" + strings.Join(history, "\n")
}

// TestChaosRepeats runs each world twice. Most of them take the same course: what is
// left to chance is the order in which Volcano's actions visit maps.
func TestChaosRepeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const worlds = 20
	same := 0
	for seed := range uint64(worlds) {
		_, first := play(drawScenario(seed), nil)
		if _, second := play(drawScenario(seed), nil); slices.Equal(first, second) {
			same++
		}
	}
	t.Logf("%d of %d worlds take the same course", same, worlds)
	assert.Greater(t, same, worlds*3/4)
}

// TestChaosDrawsAllArguments draws scenarios. Each argument of the plugin is in some.
func TestChaosDrawsAllArguments(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(200) {
		for key := range drawScenario(seed).arguments {
			drawn[key] = true
		}
	}
	assert.Equal(t, slices.Sorted(slices.Values(knownArguments)), sortedKeys(drawn))
}

