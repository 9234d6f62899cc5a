package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// TestLoadPlugins leaves nothing for Volcano to load again.
func TestLoadPlugins(t *testing.T) {
	for name, directory := range map[string]string{"no folder": "", "without plugins": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			server := &options.ServerOption{PluginsDir: directory}
			require.NoError(t, loadPlugins(server))
			assert.Empty(t, server.PluginsDir)
		})
	}
}

func TestLoadPluginsThatAreNone(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "capacity.so"), []byte("text"), 0o600))
	server := &options.ServerOption{PluginsDir: directory}

	err := loadPlugins(server)
	assert.ErrorContains(t, err, "loading the plugins of --plugins-dir "+directory)
	assert.ErrorContains(t, err, "make so SCHEDULER=")
	assert.Equal(t, directory, server.PluginsDir)
}
