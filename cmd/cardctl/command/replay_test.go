package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/plugin/release"
)

const (
	replayed  = "../../../examples/replay/"
	traceHead = "job,submit,runtime,queue,cards,card\n"
	traceLine = "a,0,60,research,8,NVIDIA-H200\n"
)

// TestReplay replays a trace from standard input with two configurations.
func TestReplay(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report")
	code, stdout, stderr := run(traceHead+traceLine+"b,10,60,batch,16,NVIDIA-H200\n"+"c,20,broken,batch,1,NVIDIA-H200\n",
		"replay", "-f", replayed+"cluster.yaml", "--trace", "-", "--conf", replayed+"reclaim.conf", "--conf", replayed+"wait.conf", "--out", out)
	assert.Equal(t, exitInvalid, code, "a line cannot be used")
	assert.Contains(t, stderr, `error: -:4: runtime: "broken" is not a number`)
	assert.Contains(t, stderr, "warning: left out, because they never start: 1 jobs: a pod requests more cards than any node has (8), such as default/b in line 3")
	assert.True(t, strings.HasPrefix(stdout, "OUTCOME                 reclaim.conf   wait.conf\ntime                    1m             1m\njobs started            1 of 1         1 of 1\n"), stdout)
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	require.NoError(t, err)
	var summary struct{ Runs []any }
	require.NoError(t, json.Unmarshal(text, &summary))
	assert.Len(t, summary.Runs, 2)
}

// TestReplayBadInput passes flags and traces that replay refuses.
func TestReplayBadInput(t *testing.T) {
	directory := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cluster, conf := replayed+"cluster.yaml", replayed+"wait.conf"
	for _, test := range []struct {
		arguments []string
		message   string
	}{
		{nil, "error: nothing to replay: name a trace with --trace, or draw one with --make"},
		{[]string{"--trace", "none.csv"}, "error: open none.csv: no such file or directory"},
		{[]string{"--trace", file("empty.csv", "")}, "the trace is empty"},
		{[]string{"--trace", file("queue.csv", traceHead+strings.Replace(traceLine, "research", "reserch", 1))},
			`error: the trace has a queue that the cluster does not have: "reserch"; did you mean "research"? (the cluster has batch, research, serving; a map gives names of the trace other ones)`},
		{[]string{"--trace", file("card.csv", traceHead+strings.Replace(traceLine, "H200", "A100", 1))}, `error: the trace has a card that the cluster does not have: "NVIDIA-A100"`},
		{[]string{"--trace", file("large.csv", traceHead+strings.Replace(traceLine, ",8,", ",9,", 1))}, "error: the trace has no job that can be replayed"},
		{[]string{"--trace", "x", "--format", "xml"}, `error: --format: unknown format "xml": one of csv, helios`},
		{[]string{"--trace", "x", "--make", "3"}, "error: --trace and --make exclude each other"},
		{[]string{"--make", "-3"}, "error: --make, --busy, --period and --checkpoint must be positive"},
		{[]string{"--trace", "x", "--conf", conf, "--conf", conf}, "error: --conf: 3 configurations: at most two are compared"},
		{[]string{"--trace", file("good.csv", traceHead+traceLine), "--map", file("map.yaml", "cards: 3\n")}, "error: --map: "},
	} {
		code, stdout, stderr := run("", append([]string{"replay", "-f", cluster, "--conf", conf}, test.arguments...)...)
		assert.Equal(t, exitUsage, code, test.arguments)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, test.message)
	}
}

// TestReplayPage runs the command of the page, and compares its output with the page. TestPlayground in e2e does so as
// well.
func TestReplayPage(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the pages show the rules of Volcano v1.14.1")
	}
	text, err := os.ReadFile(replayPage)
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Replay\n")
	_, command, _ := strings.Cut(section, "```sh\ncardctl ")
	command, rest, _ := strings.Cut(command, "\n```\n\n```text\n")
	shown, _, _ := strings.Cut(rest, "```")
	t.Chdir("../../..")
	words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
	words[len(words)-1] = filepath.Join(t.TempDir(), "report") // in place of bin/replay
	code, stdout, stderr := run("", words...)
	assert.Equal(t, exitOK, code)
	assert.Equal(t, shown, stderr+stdout)
}

// TestMakeTrace prints the same trace for the same seed.
func TestMakeTrace(t *testing.T) {
	arguments := []string{"replay", "-f", replayed + "cluster.yaml", "--conf", replayed + "reclaim.conf", "--make", "150", "--busy", "1.2", "--seed", "7"}
	code, stdout, _ := run("", arguments...)
	assert.Equal(t, exitOK, code)
	text, err := os.ReadFile(replayed + "trace.csv")
	require.NoError(t, err)
	assert.Equal(t, string(text), stdout, "examples/replay/trace.csv is made with "+strings.Join(arguments, " "))
}

// interruptsReplay cancels ctx with the first report of progress.
type interruptsReplay struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (i *interruptsReplay) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "jobs ended") {
		i.cancel()
	}
	return i.Buffer.Write(p)
}

// TestReplayInterrupted interrupts a replay. The replay writes its partial output, and exits with the code of an
// interrupt.
func TestReplayInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := filepath.Join(t.TempDir(), "report")
	stdout, stderr := &bytes.Buffer{}, &interruptsReplay{cancel: cancel}
	code := Run(ctx, "cardctl", []string{"replay", "-f", replayed + "cluster.yaml", "--trace", replayed + "trace.csv", "--conf", replayed + "wait.conf",
		"--out", out, "--progress"}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: stdout, ErrOut: stderr})
	assert.Equal(t, exitInterrupted, code)
	assert.Contains(t, stderr.String(), "warning: the replay was interrupted: the output is partial")
	assert.Contains(t, stdout.String(), "OUTCOME")
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"partial": true`)
}
