package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/plugin/release"
)

var update = flag.Bool("update", false, "write what the commands print into testdata/sessions.md")

// The page, the terminal sessions, and where their commands are run.
const (
	page       = "../../../docs/cardctl.md"
	replayPage = "../../../docs/replay.md"
	sessions   = "testdata/sessions.md"
	scene      = "../../../examples/cardctl"
)

var session = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestSessions runs terminal sessions on the files of examples/cardctl, and compares the output with the sessions.
// TestPlayground in e2e runs the sessions of the page on a cluster.
func TestSessions(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the pages show the rules of Volcano v1.14.1")
	}
	text, err := os.ReadFile(sessions)
	require.NoError(t, err)
	path, err := filepath.Abs(sessions)
	require.NoError(t, err)
	t.Chdir(scene)
	found := 0
	played := session.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		return "```console\n" + play(session.FindStringSubmatch(block)[1]) + "```"
	})
	require.GreaterOrEqual(t, found, 8)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(played), 0o600))
		return
	}
	assert.Equal(t, string(text), played, "run this test with -update")
}

// play runs the commands of a session, one for each line that begins with "$ ".
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

// TestPageNamesCommandsAndFlags expects the pages to have every command and every
// flag of its own.
func TestPageNamesCommandsAndFlags(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	more, err := os.ReadFile(replayPage)
	require.NoError(t, err)
	text = append(text, more...)
	for _, cmd := range New("cardctl", genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		assert.Contains(t, string(text), "## "+cmd.Name(), cmd.Name())
	}
	for _, flag := range []string{"--filename", "--recursive", "--scheduler-conf", "--plugin", "--output", "--once", "--interval", "--add", "--set", "--remove", "--all", "--no-headers", "--watch", "--selector", "--all-namespaces", "--contexts",
		"--trace", "--format", "--map", "--conf", "--out", "--seed", "--make", "--busy", "--period", "--progress"} {
		assert.Contains(t, string(text), flag)
	}
}
