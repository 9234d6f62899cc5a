package e2e

import (
	"flag"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// sharedObjects is off by default since the first time, everything is compiled once more.
var sharedObjects = flag.Bool("so", false, "build the plugins as shared objects and have Volcano's own scheduler load them")

// shared builds the shared objects for a scheduler and returns the directory that they are in.
func shared(t *testing.T, scheduler string) string {
	t.Helper()
	if !*sharedObjects {
		t.Skip("make e2e-so runs this")
	}
	directory, err := filepath.Abs("../bin/so")
	require.NoError(t, err)
	command := exec.Command("go", "run", "./cmd/so", "-scheduler", scheduler, "-o", directory)
	command.Dir = ".."
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return directory
}

// TestSharedObjects has Volcano's own scheduler load the plugins from a directory, and schedule with each of them.
func TestSharedObjects(t *testing.T) {
	theirs := build(t, upstreams)
	plugins := "--plugins-dir=" + shared(t, theirs)
	t.Run("CapacityCard", func(t *testing.T) {
		c := plane(t, "nodes.yaml")
		p := c.run(t, theirs, exampleConfiguration(t), plugins)
		c.apply(t, "queue.yaml", "job-single.yaml")
		c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
		c.submit(t, "shared-next", sixCards, h200, 2)
		c.runs(t, "shared-next", map[string]int{h200: 1}, 1)
		c.says(t, "shared-next", insufficient(sixCards, h200, 1, 4, 3))
		p.measures(t, `volcano_queue_allocated_scalar_resources{queue_name="cr-queue1",resource="NVIDIA-H200"} 3000`)
	})
	t.Run("Capacity", func(t *testing.T) {
		c := plane(t, hierarchy+"nodes.yaml")
		configuration := example[*corev1.ConfigMap](t, hierarchy+"scheduler.conf.yaml").Data["volcano-scheduler.conf"]
		c.run(t, theirs, configuration, plugins)
		c.apply(t, hierarchy+"queues.yaml")
		c.workers(t, "misplaced-so", "eng", 1, 1, 1)
		c.refusedFor(t, "misplaced-so", "Queue <eng> has child queues") // words of ours, not of theirs
		c.workers(t, "placed", "prod", 1, 1, 1)
		c.runs(t, "placed", map[string]int{"": 1}, 0)
	})
}

// TestSharedObjectsOfAnotherBuild loads shared objects that were built for another scheduler. The scheduler does not
// start, and says why.
func TestSharedObjectsOfAnotherBuild(t *testing.T) {
	directory := shared(t, build(t, upstreams))
	c := plane(t)
	other := build(t, ours, "-gcflags=volcano.sh/volcano/pkg/scheduler/framework=-l")
	p := c.run(t, other, exampleConfiguration(t), "--plugins-dir="+directory)
	require.Equal(t, 1, p.ends(t))
	require.Contains(t, p.log(t), "plugin was built with a different version of package")
	require.Contains(t, p.log(t), "make so SCHEDULER=")
}
