package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// borrowingScene draws queues that want far more cards than they deserve and take them from one another by their
// levels. Jobs never end. A cycle is a minute, and the half-life 10 minutes.
func borrowingScene(r *rand.Rand) string {
	b := &strings.Builder{}
	say := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	tree, any := r.IntN(2) == 0, func(words ...string) string { return words[r.IntN(len(words))] }
	say("config plugin=capacity-card actions=enqueue,allocate,reclaim %s terminate=%s fairShareHalfLife=10m fairShareReclaim=%s fairShare={\"horizon\":\"%s\"%s}",
		any("gang-gives", "gang-spares"), any("1", "3"), any("1.05", "1.5", "3"), any("1m", "3m", "10m", "1h"), any("", `,"counts":"borrowed"`, `,"of":"B"`))
	if tree {
		say("config tree")
	}
	say("node a cards=A:12")
	say("node b cards=A:4")
	queues := 2 + r.IntN(3)
	for q := range queues {
		parent := "root"
		if tree {
			parent = any("p", "r")
		}
		say("queue q%d parent=%s quota=A:16 deserved=A:%d guarantee=A:0 min-runtime=reclaim=%s %s", q, parent, r.IntN(3), any("1m", "2m", "0s"), any("", "order=nodes=5m", "fair-share=off"))
	}
	if tree {
		say("queue p parent=root quota=A:16 deserved=A:6 guarantee=A:0 min-runtime=reclaim=1m")
		say("queue r parent=root quota=A:16 deserved=A:4 guarantee=A:0 min-runtime=reclaim=1m")
	}
	say("job first queue=q0 min=0 pods=12 card=A on=a")
	say("cycle 15")
	for q := range queues {
		for j := range 6 {
			size := 1 + r.IntN(3)
			say("job j%d.%d queue=q%d min=%d pods=%d card=A", q, j, q, 1+r.IntN(size), size)
		}
	}
	say("cycle 70")
	return b.String()
}

// TestLoansComeToRest has queues that take cards from one another by their levels, and jobs that hold cards. After some
// half-lives, no pod is evicted any more.
func TestLoansComeToRest(t *testing.T) {
	defer testbed.OneAtATime()()
	all := 0
	for seed := *worldSeed; seed < *worldSeed+uint64(max(4, *worlds/50)); seed++ {
		text := borrowingScene(rand.New(rand.NewPCG(seed, 11)))
		script, err := ParseScript(text, nil)
		require.NoError(t, err)
		steps, err := script.Steps(nil)
		require.NoError(t, err)
		run := &sceneRun{}
		run.play(t, steps)
		require.Nil(t, run.found, "seed %d:\n%s", seed, text)
		evicted := len(run.w.Evicted)
		all += evicted
		for range 30 {
			run.then(t, func(w *chaos) { run.last = w.next(nil, nil) })
		}
		require.Nil(t, run.found, "seed %d:\n%s", seed, text)
		assert.Len(t, run.w.Evicted, evicted, "seed %d:\n%s", seed, text)
	}
	t.Logf("%d evictions", all)
	assert.Positive(t, all)
}
