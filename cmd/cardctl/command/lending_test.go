package command

import (
	"os"
	"path/filepath"
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
