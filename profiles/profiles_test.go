// Package profiles_test reads the profiles that make profile writes here.
package profiles_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProfilesShowThePlugins guards against profiles of nothing.
func TestProfilesShowThePlugins(t *testing.T) {
	for of, plugin := range map[string]string{"upstream": "plugins/capacity.", "ours": "capacity-card/plugin/"} {
		for _, path := range find(t, "*-"+of+"-*.pb.gz") {
			assert.True(t, slices.ContainsFunc(parse(t, path).Sample, func(s *profile.Sample) bool {
				return slices.ContainsFunc(functions(s), func(f string) bool { return strings.Contains(f, plugin) })
			}), path)
		}
	}
}

// TestEveryProfileHasItsPage and every page its profile.
func TestEveryProfileHasItsPage(t *testing.T) {
	for _, path := range find(t, "*.pb.gz") {
		assert.FileExists(t, strings.TrimSuffix(path, ".pb.gz")+".txt")
	}
	for _, path := range find(t, "*.txt") {
		assert.FileExists(t, strings.TrimSuffix(path, ".txt")+".pb.gz")
	}
}

func find(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func parse(t *testing.T, path string) *profile.Profile {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	p, err := profile.Parse(file)
	require.NoError(t, err, path)
	return p
}

// functions is a stack from the leaf on.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}
