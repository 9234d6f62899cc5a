package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// terminal is a process of cardctl on a terminal of 80 columns and 24 lines.
type terminal struct {
	*os.File
	command *exec.Cmd
	written bytes.Buffer // by the process
}

func startOnTerminal(t *testing.T, arguments string, environment ...string) *terminal {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = []string{asCardctl + "=" + arguments, "TERM=xterm-256color", "HOME=" + t.TempDir()}
	command.Env = append(command.Env, environment...)
	file, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return &terminal{File: file, command: command}
}

// until reads until the process has written text.
func (p *terminal) until(t *testing.T, text string) {
	t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(p.written.String(), text) {
		n, err := p.Read(buffer)
		p.written.Write(buffer[:n])
		require.NoError(t, err, "%q is not in %q", text, p.written.String())
	}
}

// end reads until the process has ended, and returns its exit code.
func (p *terminal) end() int {
	_, _ = io.Copy(&p.written, p) // a terminal that the last process has closed is an error
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode()
}

// leaves is the escape sequence that leaves the screen of top, and restores the previous screen.
const leaves = "\x1b[?1049l"

// TestTopOnTerminal ends top by each key and signal. The terminal is as it was before.
func TestTopOnTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*terminal) error
		code int
	}{
		"q":       {func(p *terminal) error { _, err := p.Write([]byte("q")); return err }, 0},
		"ctrl-c":  {func(p *terminal) error { _, err := p.Write([]byte{3}); return err }, 130},
		"SIGINT":  {func(p *terminal) error { return p.command.Process.Signal(syscall.SIGINT) }, 130},
		"SIGTERM": {func(p *terminal) error { return p.command.Process.Signal(syscall.SIGTERM) }, 130},
	} {
		t.Run(name, func(t *testing.T) {
			p := startOnTerminal(t, "top -f "+scene)
			p.until(t, "q\x1b[0m quit")
			assert.Contains(t, p.written.String(), "\x1b[32m", "colours")
			require.NoError(t, c.end(p))
			assert.Equal(t, c.code, p.end())
			assert.Contains(t, p.written.String(), leaves)
			assert.True(t, strings.LastIndex(p.written.String(), "\x1b[?25h") > 0, "the cursor is visible")
		})
	}
}

func TestTopWithoutColours(t *testing.T) {
	p := startOnTerminal(t, "top -f "+scene, "NO_COLOR=1")
	p.until(t, "q quit")
	_, err := p.Write([]byte("q"))
	require.NoError(t, err)
	assert.Zero(t, p.end())
	assert.NotRegexp(t, "\x1b\\[[0-9;]*m", p.written.String())
	assert.Contains(t, p.written.String(), ">root", "the cursor is no colour")
}

// TestNoQuestionsToTerminal expects commands that draw no screen to write nothing but text.
// Bubble Tea would ask the terminal for its colours.
func TestNoQuestionsToTerminal(t *testing.T) {
	for _, arguments := range []string{"version", "top --once -f " + scene, "top -o json -f " + scene} {
		p := startOnTerminal(t, arguments)
		assert.Zero(t, p.end(), arguments)
		assert.NotContains(t, p.written.String(), "\x1b", arguments)
	}
}

// growing is a cluster that has one more queue at each reading, up to six. The fourth
// reading is refused.
type growing struct {
	badInput
	readings atomic.Int64
}

func (g *growing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/queues") {
		g.badInput.ServeHTTP(w, r)
		return
	}
	n := min(6, g.readings.Add(1))
	if n == 4 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"q%d","uid":"u%d"},"spec":{"capability":{"cpu":"4"}}}`, i, i))
	}
	fmt.Fprintf(w, `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","items":[%s]}`, strings.Join(items, ","))
}

// TestTopFollowsCluster expects the screen to follow the cluster. The first reading has one queue.
func TestTopFollowsCluster(t *testing.T) {
	server := httptest.NewServer(&growing{badInput: badInput{word: "nothing"}})
	defer server.Close()
	p := startOnTerminal(t, "top --interval 1ms --server "+server.URL)
	p.until(t, "6 queues,")
	_, err := p.Write([]byte("q"))
	require.NoError(t, err)
	assert.Zero(t, p.end())
}

// TestTopWatch expects a row for each queue that comes, as kubectl get -w prints it.
func TestTopWatch(t *testing.T) {
	server := httptest.NewServer(&growing{badInput: badInput{word: "nothing"}})
	defer server.Close()
	p := startOnTerminal(t, "top --watch --interval 1ms --server "+server.URL)
	p.until(t, "q4     ")
	require.NoError(t, p.command.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
	var first []string
	for line := range strings.Lines(p.written.String()) {
		first = append(first, strings.Fields(line)[0])
	}
	assert.Equal(t, []string{"note:", "QUEUE", "q0", "memory", "q1", "q1", "q2", "q2", "error:", "q3", "q3", "q4"}, first[:12])
}
