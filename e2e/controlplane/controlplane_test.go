package controlplane

import (
	"context"
	"errors"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStagesAreLabeled(t *testing.T) {
	failed := errors.New("no port")
	err := labeled(t.Context(), "etcd", func(ctx context.Context) error {
		name, _ := pprof.Label(ctx, ComponentLabel)
		require.Equal(t, "etcd", name)
		return failed
	})
	require.ErrorIs(t, err, failed)
}

// TestDefinitionsAreReadable fails if a definition of the Volcano module has fields that the API server of go.mod does
// not know, or if the module keeps its definitions elsewhere.
func TestDefinitionsAreReadable(t *testing.T) {
	definitions, err := readDefinitions()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, definition := range definitions {
		require.NotEmpty(t, definition.Name)
		require.False(t, names[definition.Name], "%s is there twice", definition.Name)
		names[definition.Name] = true
	}
	for _, name := range []string{"queues.scheduling.volcano.sh", "podgroups.scheduling.volcano.sh", "jobs.batch.volcano.sh"} {
		require.True(t, names[name], name)
	}
}

// TestDefinitionsOutsideTheRepository expects an error that says that the definitions need the repository.
func TestDefinitionsOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := readDefinitions()
	require.ErrorContains(t, err, "within the repository")
}
