package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/internal/picture"
)

// TestPicture holds the picture of a session in the README against what the commands
// print for the cluster of the demo.
func TestPicture(t *testing.T) {
	file, err := filepath.Abs("../../../docs/explain.svg")
	require.NoError(t, err)
	t.Chdir(scene)
	drawn := picture.SVG("cardctl explain", play("$ cardctl explain job llm -f .\n"), 124)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), drawn, "run this test with -update")
}
