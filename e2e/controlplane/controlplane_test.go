package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefinitionsAreVolcanos fails when the Volcano version in go.mod moved on and crds/ did not. To repair it, copy
// config/crd/*/bases/*.yaml of the Volcano module over crds/.
func TestDefinitionsAreVolcanos(t *testing.T) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	require.NoError(t, err)
	originals, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "*", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, originals, "the Volcano module has no resource definitions where they used to be")

	copies, err := definitionFiles.ReadDir("crds")
	require.NoError(t, err)
	require.Len(t, copies, len(originals))
	for _, original := range originals {
		want, err := os.ReadFile(original)
		require.NoError(t, err)
		got, err := definitionFiles.ReadFile("crds/" + filepath.Base(original))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "crds/%s differs from the Volcano module's", filepath.Base(original))
	}
}

// TestDefinitionsAreReadable catches a definition with fields that the API server of go.mod does not know.
func TestDefinitionsAreReadable(t *testing.T) {
	files, err := definitionFiles.ReadDir("crds")
	require.NoError(t, err)
	for _, file := range files {
		definition, err := readDefinition("crds/" + file.Name())
		require.NoError(t, err, file.Name())
		require.NotEmpty(t, definition.Name, file.Name())
	}
}
