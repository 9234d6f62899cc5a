package chaos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestGangActions plays testdata/scenes/earmarks with the gang actions of Volcano v1.15, which evict
// jobs as a whole. The pods that they evict for start, and nobody is evicted for them again.
func TestGangActions(t *testing.T) {
	_, found := framework.GetAction("gangreclaim")
	require.Equal(t, release.Built() >= release.V115, found)
	if !found {
		t.Skip("this release has no gang actions")
	}
	defer testbed.OneAtATime()()
	datadriven.RunTest(t, "testdata/scenes/earmarks", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "scene" {
			wants, _, _ := strings.Cut(d.Expected, "\n")
			for _, cycles := range []int{1, 6, 60} {
				t.Run(fmt.Sprintf("%d cycles", cycles), func(t *testing.T) { endsWithGangs(t, d, cycles, strings.Fields(wants)[1:]) })
			}
		}
		return d.Expected
	})
}

// endsWithGangs plays a scene with the gang actions. wants are the pods that run at its end where
// pods are evicted one by one, by job.
func endsWithGangs(t *testing.T, d *datadriven.TestData, cycles int, wants []string) {
	script, err := ParseScript(d.Input, map[string]string{"kinds": ""})
	require.NoError(t, err)
	r := &sceneRun{variant: []string{fmt.Sprintf("terminate=%d", cycles)}}
	steps, err := script.Steps(nil)
	require.NoError(t, err)
	for i, step := range steps {
		if step.Command == "config" {
			steps[i].Words = strings.Split(strings.Replace(strings.Join(step.Words, " "), "allocate,", "allocate,gang", 1), " ")
		}
	}
	r.play(t, steps)
	require.Nil(t, r.found)
	evicting := 0
	for _, n := range r.w.Evictions {
		evicting += min(n, 1)
	}
	assert.LessOrEqual(t, evicting, len(wants)-1, "cycles with evictions")
	for _, want := range wants {
		name, n, _ := strings.Cut(want, "=")
		if j := r.w.Job(name); j.Group.CreationTimestamp.Unix() > 60 { // the others are victims
			assert.Equal(t, n, fmt.Sprint(j.Running()), name)
		}
	}
}
