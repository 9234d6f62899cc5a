package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	offline "github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

const examples = "../../../examples/replay"

// example is the input of examples/replay, with the first jobs of its trace.
func example(t testing.TB, jobs int, configurations ...string) *Input {
	t.Helper()
	objects, err := input.ReadFiles([]string{filepath.Join(examples, "cluster.yaml")}, false, nil, nil)
	require.NoError(t, err)
	in := &Input{Seed: 1}
	for _, name := range configurations {
		text, err := os.ReadFile(filepath.Join(examples, name))
		require.NoError(t, err)
		configuration, err := engine.Configure(string(text))
		require.NoError(t, err)
		in.Configurations = append(in.Configurations, Named{name, configuration})
	}
	in.World, err = engine.Build(objects)
	require.NoError(t, err)
	file, err := os.Open(filepath.Join(examples, "trace.csv"))
	require.NoError(t, err)
	defer file.Close()
	in.Trace, err = trace.Read("trace.csv", file, "")
	require.NoError(t, err)
	in.Trace.Jobs = in.Trace.Jobs[:jobs]
	notes, err := in.Check()
	require.NoError(t, err)
	require.Empty(t, notes)
	return in
}

// files runs a replay and returns the files that it writes.
func files(t *testing.T, jobs int) map[string]string {
	t.Helper()
	in := example(t, jobs, "reclaim.conf", "wait.conf")
	results, err := Run(context.Background(), in)
	require.NoError(t, err)
	require.Len(t, results, 2)
	directory := filepath.Join(t.TempDir(), "new")
	require.NoError(t, Write(directory, in, results))
	all := map[string]string{}
	for _, name := range []string{ReportFile, ShareFile, SummaryFile} {
		text, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err)
		all[name] = string(text)
	}
	return all
}

// TestSameBytes writes the same bytes with one and with two processors.
func TestSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first := files(t, 60)
	runtime.GOMAXPROCS(2)
	assert.Equal(t, first, files(t, 60))

	var summary Summary
	require.NoError(t, json.Unmarshal([]byte(first[SummaryFile]), &summary))
	require.Len(t, summary.Runs, 2)
	assert.Equal(t, "reclaim.conf", summary.Runs[0].Configuration)
	assert.Positive(t, summary.Runs[0].Evicted.Pods, "one configuration has reclaim")
	assert.Zero(t, summary.Runs[1].Evicted.Pods, "the other one has not")
	assert.Equal(t, 60, summary.Runs[0].Ended)
	assert.False(t, summary.Partial)
	assert.Contains(t, first[ReportFile], "<svg")
	assert.Contains(t, first[ShareFile], "serving: NVIDIA-L40S")
	assert.Equal(t, 1, strings.Count(first[ShareFile], ">deserved<"))

	style, elements, _ := strings.Cut(first[ShareFile], "</style>")
	for _, colour := range regexp.MustCompile(`stroke="#[0-9a-f]+"`).FindAllString(elements, -1) {
		assert.Contains(t, style, "["+colour+"]", "another colour on dark pages")
	}
}

// TestPartial interrupts the first of two replays: the second one does not begin.
func TestPartial(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in := example(t, 60, "reclaim.conf", "wait.conf")
	in.Progress = func(_ string, p offline.Progress) {
		if p.Sessions == 10 {
			cancel()
		}
	}
	results, err := Run(ctx, in)
	require.NoError(t, err)
	require.Len(t, results, 1)
	summary := Summarise(in, results)
	assert.True(t, summary.Partial)
	assert.True(t, summary.Runs[0].Partial)
	directory := t.TempDir()
	require.NoError(t, Write(directory, in, results))
	page, err := os.ReadFile(filepath.Join(directory, ReportFile))
	require.NoError(t, err)
	assert.Contains(t, string(page), "Partial: the replay was interrupted.")
}

// TestNames maps names of a trace.
func TestNames(t *testing.T) {
	names, err := ReadNames(filepath.Join(examples, "names.yaml"))
	require.NoError(t, err)
	jobs := []trace.Job{{Queue: "vcJkd", Card: "V100M32|NVIDIA-L40S", Cards: 1}, {Queue: "", Cards: 1}, {Queue: "x"}}
	names.Apply(jobs)
	assert.Equal(t, []trace.Job{{Queue: "research", Card: "NVIDIA-H200|NVIDIA-L40S", Cards: 1}, {Queue: "batch", Card: "NVIDIA-H200|NVIDIA-L40S", Cards: 1}, {Queue: "batch"}}, jobs)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("queue: {a: b}\n"), 0o600))
	_, err = ReadNames(bad)
	require.ErrorContains(t, err, "expected the keys queues and cards")
}

// TestMake draws jobs for all queues that deserve cards, none of them larger than the cluster.
func TestMake(t *testing.T) {
	in := example(t, 1, "reclaim.conf")
	jobs := Make(in.World, in.Configurations[0].Configuration, 5, 300, 0.9)
	assert.Len(t, jobs, 300)
	in.Trace.Jobs = jobs
	notes, err := in.Check()
	require.NoError(t, err)
	assert.Empty(t, notes)
	queues := map[string]bool{}
	for _, j := range jobs {
		queues[j.Queue] = true
	}
	assert.Len(t, queues, 3)
}

// TestMeans divides time into equal parts.
func TestMeans(t *testing.T) {
	s := measure.Series{{At: 0, Amount: 4}, {At: 3 * time.Second, Amount: 0}, {At: 6 * time.Second, Amount: 2}}
	assert.InDeltaSlice(t, []float64{4, 2, 0, 2}, means(s, 8*time.Second, 4), 1e-9)
	assert.Equal(t, []float64{0, 0}, means(nil, time.Second, 2))
}

// TestText formats times and parts.
func TestText(t *testing.T) {
	for seconds, text := range map[float64]string{0: "0s", 1.23: "1.2s", 60: "1m", 3600: "1h", 3661: "1h1m1s", 90000: "25h", 90090: "25h2m"} {
		assert.Equal(t, text, Text(seconds))
	}
	assert.Equal(t, "-", Percent(number(math.NaN())))
}

// TestAxis has at most seven labels, in units that are easy to read.
func TestAxis(t *testing.T) {
	for end, want := range map[time.Duration]string{
		time.Second: "1s of s", 5 * time.Minute: "1m0s of min", 40 * time.Hour: "12h0m0s of h", 20 * 24 * time.Hour: "120h0m0s of d", 365 * 24 * time.Hour: "2400h0m0s of d",
	} {
		step, unit, name := axis(end)
		assert.Equal(t, want, fmt.Sprintf("%v of %s", step, name))
		assert.Zero(t, step%unit)
		assert.LessOrEqual(t, end/step, time.Duration(6))
	}
}

// BenchmarkReplay replays a made trace on the cluster of the examples, without and with reclaim and with usage over
// time:
//
//	go test ./cmd/cardctl/replay -run '^$' -bench Replay -benchtime 1x
func BenchmarkReplay(b *testing.B) {
	for _, name := range []string{"wait.conf", "reclaim.conf", "fair.conf"} {
		b.Run("conf="+name, func(b *testing.B) {
			in := example(b, 1, name)
			in.Trace.Jobs = Make(in.World, in.Configurations[0].Configuration, 1, 2000, 0.8)
			sessions := 0
			for b.Loop() {
				results, err := Run(b.Context(), in)
				require.NoError(b, err)
				sessions += results[0].Sessions
			}
			jobs := float64(b.N * len(in.Trace.Jobs))
			b.ReportMetric(jobs/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric(float64(sessions)/jobs, "sessions/job")
		})
	}
}
