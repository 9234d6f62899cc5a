package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

var update = flag.Bool("update", false, "write what the commands print into testdata/sessions.txt")

// The page, the terminal sessions, and where their commands are run.
const (
	page     = "../../../docs/cardctl.md"
	sessions = "testdata/sessions.txt"
	scene    = "../../../examples/cardctl"
)

// TestSessions runs the terminal sessions, and expects what they show.
func TestSessions(t *testing.T) {
	text, err := os.ReadFile(sessions)
	require.NoError(t, err)
	path, err := filepath.Abs(sessions)
	require.NoError(t, err)
	t.Chdir(scene)
	played := play(string(text))
	require.GreaterOrEqual(t, strings.Count(played, "$ "), 17)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(played), 0o600))
		return
	}
	assert.Equal(t, string(text), played, "run this test with -update")
}

// play runs the commands of sessions, one for each line that begins with "$ ".
func play(lines string) string {
	var out bytes.Buffer
	code := 0
	for line := range strings.Lines(lines) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(strings.ReplaceAll(command, "'", ""))
		if words[0] == "echo" {
			fmt.Fprintln(&out, code)
			continue
		}
		streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}
		code = Run(context.Background(), words[0], words[1:], streams)
	}
	return out.String()
}

// TestPageNamesCommandsAndFlags expects the page to have every command and every
// flag of its own.
func TestPageNamesCommandsAndFlags(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, cmd := range New("cardctl", genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		assert.Contains(t, string(text), "## "+cmd.Name(), cmd.Name())
	}
	for _, flag := range []string{"--filename", "--recursive", "--scheduler-conf", "--plugin", "--output", "--once", "--interval", "--add", "--set", "--remove", "--all", "--no-headers", "--watch", "--selector", "--all-namespaces"} {
		assert.Contains(t, string(text), flag)
	}
}
