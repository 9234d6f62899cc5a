package screen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/capacity-card/capacity-card/cmd/cardctl/command"
	"github.com/capacity-card/capacity-card/cmd/cardctl/screen"
)

// TestPictureOfExplain compares the picture in the README with the output of cardctl for the cluster of the demo.
func TestPictureOfExplain(t *testing.T) {
	file, err := filepath.Abs("../../../docs/explain.svg")
	require.NoError(t, err)
	t.Chdir("../../../examples/cardctl")

	out := bytes.NewBufferString("$ cardctl explain job llm -f .\n")
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: out}
	command.Run(t.Context(), "cardctl", []string{"explain", "job", "llm", "-f", "."}, streams)
	drawn := screen.SVG("cardctl explain", out.String(), 124)
	if *screen.Update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), drawn, "run this test with -update")
}
