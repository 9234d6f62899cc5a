package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestMCPPassesFlags expects the flags that select the input behind "--", and a secret with them: the program runs cardctl.
func TestMCPPassesFlags(t *testing.T) {
	s := newSource(genericiooptions.NewTestIOStreamsDiscard())
	cmd := newMCP(s)
	given := []string{"--context", "c", "-f", "a b", "-f=-x", "-R", "--token=t", "--max-bytes=9"}
	require.NoError(t, cmd.ParseFlags(given))
	words, err := s.mcpWords(cmd.Flags(), "/bin/cardctl", 9)
	require.NoError(t, err)
	assert.Equal(t, []string{"cardctl-mcp", "--cardctl=/bin/cardctl", "--max-bytes=9", "--"}, words[:4])
	assert.ElementsMatch(t, []string{"--context=c", "--filename", "a b", "--filename", "-x", "--recursive=true", "--token=t"},
		words[4:])
}

// TestMCPProgram looks for the program in the directory of cardctl, also through a link, and then on the PATH.
func TestMCPProgram(t *testing.T) {
	bin, links, path := t.TempDir(), t.TempDir(), t.TempDir()
	program := func(name string) string {
		require.NoError(t, os.WriteFile(name, nil, 0o700))
		return name
	}
	cardctl, link := program(filepath.Join(bin, "cardctl")), filepath.Join(links, "kubectl-card")
	require.NoError(t, os.Symlink(cardctl, link))
	t.Setenv("PATH", path)

	code, stdout, stderr := run("", "mcp")
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "nor on the PATH: the archive of a release has it, and make mcp builds it")

	onPath := program(filepath.Join(path, mcpProgram))
	found, err := findMCP(link)
	require.NoError(t, err)
	assert.Equal(t, onPath, found)

	beside := program(filepath.Join(bin, mcpProgram))
	found, err = findMCP(link)
	require.NoError(t, err)
	assert.Equal(t, beside, found)
}
