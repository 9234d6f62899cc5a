package torture

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// The flags that make torture sets.
var (
	length = flag.Duration("torture-time", 0, "how long rounds are run; by default one short round")
	seed   = flag.Uint64("torture-seed", 38, "seed of the first round")
	only   = flag.String("torture-plugin", "", "the plugin; by default the three names take turns")
	names  = flag.String("torture-faults", "", "the faults to draw from, joined by commas; by default all")
	other  = flag.String("torture-scheduler", "", "the path of another scheduler, such as Volcano's own, for which there will be findings")
)

const (
	// roundLength is how long tenants act in a round of make torture, and shortLength in a round of make e2e.
	roundLength, shortLength = 45 * time.Second, 25 * time.Second
)

// short are the faults of the round of make e2e: each takes a few seconds, and Volcano recovers from all of them.
var short = []string{"kill", "cut-watches", "node-labels", "node-shrinks"}

// TestTorture runs rounds, and checks their histories.
func TestTorture(t *testing.T) {
	plane, err := controlplane.Start(t.Context(), controlplane.Options{
		SchedulePeriod: 100 * time.Millisecond, Commands: true, Compaction: 5 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			if kept, err := plane.KeepLog(); err == nil {
				t.Log("The log of the control plane is kept in", kept)
			}
		}
		require.NoError(t, plane.Stop())
	})
	directory, err := filepath.Abs(filepath.Join("..", "..", "build", "torture"))
	require.NoError(t, err)
	options := Options{Seed: *seed, Plugin: *only, Length: shortLength, Faults: short, Program: program(t, ours+"vc-scheduler"), Directory: directory, Log: t.Logf}
	if *other != "" {
		options.Program = *other
	}
	if *length > 0 {
		options.Length, options.Faults, options.View = roundLength, nil, program(t, ours+"cardctl")
		options.Volcano = program(t, volcanos+"scheduler")
		_, flags, err := controlplane.CopyModFile(t.Context(), t.TempDir())
		require.NoError(t, err)
		options.Webhooks = &Webhooks{Program: program(t, volcanos+"webhook-manager", flags...)}
		options.Webhooks.Process, err = plane.StartWebhooks(t.Context(), options.Webhooks.Program)
		require.NoError(t, err)
	}
	if *names != "" {
		options.Faults = strings.Split(*names, ",")
	}
	if *length == 0 {
		t.Run("readers", func(t *testing.T) { manyReaders(t, plane) })
	}
	total := &check.Report{}
	plugins := []string{"capacity-card", "capacity", "proportion"}
	for end := time.Now().Add(*length); ; options.Seed++ {
		if *only == "" {
			options.Plugin = plugins[options.Seed%uint64(len(plugins))]
		}
		run(t, plane, options, total)
		if time.Now().After(end) {
			break
		}
	}
	t.Logf("in all: %s", figures(total))
}

// manyReaders has 10,000 clients from 200 addresses ask for the stream of changes, and never read it: others still get
// pages. It takes so many file descriptors in both processes.
func manyReaders(t *testing.T, plane *controlplane.ControlPlane) {
	configuration := filepath.Join(t.TempDir(), "scheduler.conf")
	require.NoError(t, os.WriteFile(configuration, []byte(world{plugin: "capacity-card"}.configuration()), 0o644))
	v, err := startView(t.Context(), plane, program(t, ours+"cardctl"), configuration)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.stop()) })
	for client := range 10_000 {
		require.NoError(t, v.ask(t.Context(), net.IPv4(127, 0, 1, byte(client/50))), "client %d", client)
	}
	status, _, err := v.send(t.Context(), http.MethodGet, "/queues", "", nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	require.NoError(t, v.bounded())
}

// run runs a round, and keeps its findings.
func run(t *testing.T, plane *controlplane.ControlPlane, options Options, total *check.Report) {
	t.Helper()
	result, err := Run(context.WithoutCancel(t.Context()), plane, options)
	if !assert.NoError(t, err, "seed %d", options.Seed) {
		return // the next round can still find something
	}
	t.Logf("seed %d: %d acts of tenants and admins, of which %d failed, %d records, attacks on the pages: %v: %s",
		options.Seed, result.Acts, result.Refused, result.Records, result.Attacks, result.Report)
	total.Add(result.Report)
	if len(result.Findings) == 0 {
		require.NoError(t, os.Remove(result.History))
		return
	}
	t.Errorf("seed %d, %s: %d findings in %s", options.Seed, options.Plugin, len(result.Findings), result.History)
	records, err := history.Open(result.History)
	require.NoError(t, err)
	for i, finding := range result.Findings[:min(3, len(result.Findings))] {
		shortened, err := check.Shorten(records, finding)
		require.NoError(t, err)
		path := filepath.Join(options.Directory, fmt.Sprintf("finding-%d-%d.json.gz", options.Seed, i))
		require.NoError(t, history.Write(path, shortened))
		t.Logf("%s\n%d of %d records show it: %s", finding, len(shortened), len(records), path)
	}
}

// figures has the report, and how often each fault was injected.
func figures(r *check.Report) string {
	return fmt.Sprintf("%sfaults and what else was marked: %v", r, r.Marks)
}

// Where programs are.
const (
	ours     = "github.com/capacity-card/capacity-card/cmd/"
	volcanos = "volcano.sh/volcano/cmd/"
)

// program builds a program.
func program(t *testing.T, name string, flags ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "torture", filepath.Base(name)))
	require.NoError(t, err)
	_, err = controlplane.GoCommand(t.Context(), append(append([]string{"build"}, flags...), "-o", path, name)...)
	require.NoError(t, err)
	return path
}
