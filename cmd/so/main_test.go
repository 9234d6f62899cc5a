package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// host is the build information of a scheduler that plugins of self match.
func host(change func(*debug.BuildInfo)) *debug.BuildInfo {
	info := &debug.BuildInfo{
		GoVersion: "go1.24.1",
		Main:      debug.Module{Path: volcano, Version: "v1.14.1", Sum: "h1:x"},
		Deps: []*debug.Module{
			{Path: "k8s.io/api", Version: "v0.0.0", Replace: &debug.Module{Path: "k8s.io/api", Version: "v0.34.1"}},
			{Path: "example.com/only-there", Version: "v9.0.0"},
		},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "1"}, {Key: "-trimpath", Value: "true"}, {Key: "vcs.time", Value: "now"}},
	}
	change(info)
	return info
}

var self = &debug.BuildInfo{Deps: []*debug.Module{
	{Path: volcano, Version: "v1.14.1"},
	{Path: "k8s.io/api", Version: "v0.20.0", Replace: &debug.Module{Path: "k8s.io/api", Version: "v0.34.1"}},
	{Path: "example.com/only-here", Version: "v1.0.0"},
}}

func TestMatches(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*debug.BuildInfo)
		want   string
	}{
		"same":    {func(*debug.BuildInfo) {}, ""},
		"go":      {func(i *debug.BuildInfo) { i.GoVersion = "go1.25" }, "GOTOOLCHAIN=go1.25"},
		"static":  {func(i *debug.BuildInfo) { i.Settings[0].Value = "0" }, "CGO_ENABLED=0"},
		"pie":     {func(i *debug.BuildInfo) { i.Settings[2] = debug.BuildSetting{Key: "-buildmode", Value: "pie"} }, "pie"},
		"tree":    {func(i *debug.BuildInfo) { i.Main.Sum = "" }, "source tree"},
		"volcano": {func(i *debug.BuildInfo) { i.Main.Version = "v1.14.0" }, "it has volcano.sh/volcano v1.14.0, this module has v1.14.1"},
		"kubernetes": {
			func(i *debug.BuildInfo) { i.Deps[0].Replace.Version = "v0.34.2" },
			"it has k8s.io/api k8s.io/api v0.34.2, this module has k8s.io/api v0.34.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := matches(host(c.change), self, "go1.24.1")
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	require.Equal(t, []string{"-trimpath=true"}, flags(host(func(*debug.BuildInfo) {})))
}

// TestPluginsHaveMains finds a main for each plugin, and no other.
func TestPluginsHaveMains(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.Len(t, mains, len(plugins))
	for _, name := range plugins {
		_, err := os.Stat(filepath.Join(name, "main.go"))
		require.NoError(t, err)
	}
}
