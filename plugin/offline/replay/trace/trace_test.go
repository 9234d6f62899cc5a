package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, file string, format Format) *Trace {
	t.Helper()
	in, err := os.Open(filepath.Join("testdata", file))
	require.NoError(t, err)
	defer in.Close()
	found, err := Read(file, in, format)
	require.NoError(t, err)
	return found
}

// TestFormats reads a small made trace of each format, which is known from its beginning.
func TestFormats(t *testing.T) {
	for _, test := range []struct {
		file   string
		format Format
		jobs   []Job
		notes  []string
	}{
		{file: "canonical.csv", format: CSV, jobs: []Job{
			{Line: 2, Name: "train", Namespace: "alice", Queue: "research", Runtime: 150 * time.Minute, Pods: 4, Minimum: 2, Cards: 8, Card: "NVIDIA-H200|NVIDIA-H800", CPU: 16000, Memory: 64 * gib, Priority: 10},
			{Line: 3, Name: "chat", Namespace: "default", Queue: "serving", Submit: 90500 * time.Millisecond, Runtime: 10 * time.Minute, Pods: 1, Minimum: 1, Cards: 1, Card: "NVIDIA-L40S", CPU: 500},
			{Line: 4, Name: "prepare", Namespace: "alice", Queue: "research", Submit: 2 * time.Minute, Runtime: time.Minute, Pods: 1, Minimum: 1, CPU: 8000, Memory: 32 * gib},
		}},
		{file: "helios.csv", format: Helios, jobs: []Job{
			{Line: 2, Name: "501", Namespace: "ua1", Queue: "vcOne", Runtime: time.Hour, Pods: 2, Minimum: 2, Cards: 8, CPU: 16000},
			{Line: 3, Name: "502", Namespace: "ub2", Queue: "vcTwo", Submit: 26 * time.Second, Runtime: 249 * time.Second, Pods: 1, Minimum: 1, CPU: 6000},
			{Line: 4, Name: "503", Namespace: "ub2", Queue: "vcTwo", Submit: 59 * time.Second, Runtime: time.Minute, Pods: 2, Minimum: 2, Cards: 3, CPU: 5000},
		}, notes: []string{"the cards are not a multiple of the nodes: each pod has the larger number: 1 jobs, the first in line 4"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			found := read(t, test.file, "")
			assert.Equal(t, test.format, found.Format)
			assert.Equal(t, test.jobs, found.Jobs)
			assert.Equal(t, test.notes, found.Notes)
			assert.Empty(t, found.Problems)
		})
	}
}

const header = "job,submit,runtime,queue,pods,cards\n"

// TestBadInput expects the errors of a trace, by line.
func TestBadInput(t *testing.T) {
	good := "good,0,60,q,1,1\n"
	for _, test := range []struct {
		name, text string
		format     Format
		problem    string // of a line
		err        string // of the whole trace
	}{
		{name: "a number that is none", text: header + good + "j,1,soon,q,1,1\n", problem: `f:3: runtime: "soon" is not a number`},
		{name: "a negative runtime", text: header + good + "j,1,-5,q,1,1\n", problem: "f:3: runtime: -5 is negative"},
		{name: "a negative time", text: header + good + "j,-1,5,q,1,1\n", problem: `f:3: submit: "-1" is no time: expected seconds, or a date such as 2006-01-02 15:04:05`},
		{name: "half a card", text: header + good + "j,1,5,q,1,0.5\n", problem: `f:3: cards: "0.5" is not a whole number`},
		{name: "too many pods", text: header + good + "j,1,5,q,10001,1\n", problem: "f:3: 10001 pods: expected 1 to 10000"},
		{name: "too large a number", text: header + good + "j,1,1e300,q,1,1\n", problem: "f:3: runtime: "},
		{name: "no queue", text: header + good + "j,1,5,,1,1\n", problem: "f:3: queue: the job names none"},
		{name: "no name", text: header + good + ",1,5,q,1,1\n", problem: "f:3: the job has no name"},
		{name: "a name twice", text: header + good + "good,1,5,q,1,1\n", problem: "f:3: the job default/good is in line 2 already: each job has a name of its own"},
		{name: "columns missing", text: header + good + "j,1,5\n", problem: "f:3: 3 columns: expected 6, as in the header"},
		{name: "the end is missing", text: header + good + "j,1,5", problem: "f:3: the file ends in the middle of a line: 3 of 6 columns"},
		{name: "an unknown column", text: "job,submit,runtime,queue,gpus,card\n", format: CSV, err: `f:1: unknown column "gpus"`},
		{name: "a column missing", text: "job,submit,runtime\n", format: CSV, err: `f:1: there is no column "queue": expected job,submit,runtime,queue`},
		{name: "a column twice", text: "job,submit,runtime,queue,queue\n", format: CSV, err: `f:1: the column "queue" is there twice`},
		{name: "no bytes", err: "f: the trace is empty"},
		{name: "only a header", text: header, err: "f: the trace has no job that can be replayed"},
		{name: "only broken lines", text: header + "j,x,1,q,1,1\n", err: "the trace has no job that can be replayed: f:2: submit"},
		{name: "text", text: "once upon a time\n", err: "f: the format of the trace is not known from its beginning: name it with --format, one of csv, helios"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := Read("f", strings.NewReader(test.text), test.format)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Len(t, found.Jobs, 1)
			require.Len(t, found.Problems, 1)
			assert.Contains(t, found.Problems[0].Error(), test.problem)
		})
	}
}

// TestOrder sorts jobs by their submission, and says so.
func TestOrder(t *testing.T) {
	found, err := Read("f", strings.NewReader(header+"b,2020-01-01 00:01:00,1,q,1,1\na,2020-01-01 00:00:00,0,q,1,1\n"), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"the times of submission are not in order: the jobs are sorted"}, found.Notes)
	assert.Equal(t, "a", found.Jobs[0].Name)
	assert.Equal(t, time.Second, found.Jobs[0].Runtime, "a runtime of 0 is rounded up")
	assert.Equal(t, time.Minute, found.Jobs[1].Submit)
}

// TestMade draws equal traces from equal seeds, and reads the trace that it writes.
func TestMade(t *testing.T) {
	loads := []Load{{Queue: "a", Users: []string{"x", "y"}, Card: "H", Node: 8, Most: 32, Night: 2, Day: 20, Hours: 1}, {Queue: "b", Card: "V", Node: 4, Most: 2, Night: 3, Day: 1, Hours: 2}}
	jobs := Make(3, 48*time.Hour, 1000, loads)
	require.Greater(t, len(jobs), 100)
	assert.Equal(t, jobs, Make(3, 48*time.Hour, 1000, loads))
	assert.NotEqual(t, jobs, Make(4, 48*time.Hour, 1000, loads))
	assert.Len(t, Make(3, 48*time.Hour, 10, loads), 10)
	var text bytes.Buffer
	require.NoError(t, Write(&text, jobs))
	again, err := Read("f", &text, "")
	require.NoError(t, err)
	for i := range jobs {
		jobs[i].Submit -= jobs[0].Submit
	}
	assert.Empty(t, again.Problems)
	assert.Len(t, again.Jobs, len(jobs))
	for _, j := range again.Jobs {
		if j.Queue == "b" {
			assert.LessOrEqual(t, int64(j.Minimum)*j.Cards, int64(2))
		}
	}
}

// FuzzTrace expects an error or a trace of any text, and no panic.
func FuzzTrace(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range append(Formats, "") {
			found, err := Read("f", bytes.NewReader(text), Format(format))
			if err != nil {
				continue
			}
			for _, j := range found.Jobs {
				if j.Pods < 1 || j.Minimum < 1 || j.Minimum > j.Pods || j.Runtime <= 0 || j.Submit < 0 || j.Cards < 0 || j.Name == "" {
					t.Errorf("%s: %+v", format, j)
				}
			}
		}
	})
}
