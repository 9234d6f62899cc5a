package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLending runs the terminal session of docs/spec/cards.md and expects its output.
func TestLending(t *testing.T) {
	file, err := filepath.Abs("../../../docs/spec/cards.md")
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	t.Chdir("../../..")
	played := session.ReplaceAllStringFunc(string(text), func(block string) string {
		return "```console\n" + play(session.FindStringSubmatch(block)[1]) + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(played), 0o644))
		return
	}
	assert.Equal(t, string(text), played, "run this test with -update")
	assert.Contains(t, played, "Running 6, Waiting 2")
}

// TestEvictedWithoutTheChange says that a job has fewer pods before the change than it runs now.
func TestEvictedWithoutTheChange(t *testing.T) {
	const note = "note: before: the next cycles evict pods, also without the changes\n"
	lent := strings.Replace(lentText, "ANNOTATION", "", 1)
	nobody, _, _ := strings.Cut(lent, "---\napiVersion: batch")
	for name, test := range map[string]struct {
		objects, borrows string
		noted            bool
	}{
		"a job takes a card back": {lent, "Finished    Finished", true},
		"nobody does":             {nobody, "Running 1   Running 1", false},
	} {
		code, stdout, stderr := run(test.objects, "simulate", "-f", "-", "--all", "--at", "2026-12-01T08:00Z")
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, test.borrows, name)
		assert.Equal(t, test.noted, strings.Contains(stderr, note), "%s: %s", name, stderr)
	}
}
