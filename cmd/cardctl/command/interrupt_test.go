package command

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// everyCommand has a line of arguments for each command that reads objects.
var everyCommand = [][]string{{"explain"}, {"cards"}, {"validate"}, {"top"}, {"simulate", "--remove", "node/n"}}

// TestInterruptedRead interrupts each command while it reads from a pipe that nobody
// closes.
func TestInterruptedRead(t *testing.T) {
	for _, arguments := range everyCommand {
		in, writer := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = writer.Write([]byte(queueText)) // returns when it is read
			cancel()
		}()
		out, errOut := &bytes.Buffer{}, &bytes.Buffer{}
		code := Run(ctx, "cardctl", append(arguments, "-f", "-"), genericiooptions.IOStreams{In: in, Out: out, ErrOut: errOut})
		assert.Equal(t, 130, code, arguments)
		assert.Empty(t, out.String()+errOut.String(), arguments)
	}
}

// interrupting is an input that cancels ctx after its last byte.
type interrupting struct {
	io.Reader
	cancel context.CancelFunc
}

func (i interrupting) Read(p []byte) (int, error) {
	n, err := i.Reader.Read(p)
	if err == io.EOF {
		i.cancel()
	}
	return n, err
}

// TestInterruptedAfterRead interrupts each command when it has read its input.
func TestInterruptedAfterRead(t *testing.T) {
	for _, arguments := range everyCommand {
		ctx, cancel := context.WithCancel(t.Context())
		in := interrupting{strings.NewReader(queueText), cancel}
		code := Run(ctx, "cardctl", append(arguments, "-f", "-"), genericiooptions.IOStreams{In: in, Out: io.Discard, ErrOut: io.Discard})
		assert.Equal(t, 130, code, arguments)
	}
}

// TestInterruptedWork interrupts work that does not look at ctx, such as a cycle.
func TestInterruptedWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan struct{})
	defer close(forever)
	err := await(ctx, func() error {
		cancel()
		<-forever
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TestInterruptedCluster interrupts a command while a cluster does not answer. That is
// no cluster that cannot be reached.
func TestInterruptedCluster(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	errOut := &bytes.Buffer{}
	code := Run(ctx, "cardctl", []string{"explain", "--server", server.URL}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: errOut})
	assert.Equal(t, 130, code)
	assert.Empty(t, errOut.String())
}

// TestSignals sends each signal to a process that reads its input.
func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), asCardctl+"=explain -f -")
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		in, err := command.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		// More than a pipe holds: when it is written, the process reads.
		_, err = in.Write([]byte(strings.Repeat("# comment\n", 1<<17)))
		require.NoError(t, err)
		require.NoError(t, command.Process.Signal(signal))
		_ = command.Wait()
		assert.Equal(t, 130, command.ProcessState.ExitCode(), signal)
		assert.Empty(t, output.String())
	}
}

// asCardctl is the environment variable that makes the test binary run cardctl, with its
// value as the arguments.
const asCardctl = "RUN_AS_CARDCTL"

func TestMain(m *testing.M) {
	if arguments := os.Getenv(asCardctl); arguments != "" {
		Main(append([]string{"cardctl"}, strings.Fields(arguments)...))
	}
	os.Exit(m.Run())
}
