package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// ours is a mod file as this module has it, in /ours.
const ours = `module github.com/capacity-card/capacity-card

go 1.25.0

require (
	example.com/newer v1.2.0
	k8s.io/api v0.35.3
	k8s.io/kube-proxy v0.35.3
	k8s.io/utils v0.0.0-20251002143259-bc988d571ff4
	volcano.sh/apis v1.15.1
	volcano.sh/volcano v1.15.1
)

replace volcano.sh/apis => ./build/apis
`

func parse(t *testing.T, text string) *modfile.File {
	t.Helper()
	file, err := modfile.Parse("go.mod", []byte(text), nil)
	require.NoError(t, err)
	return file
}

func TestMerge(t *testing.T) {
	for _, test := range []struct {
		name, source string
		goVersion    string
		require      map[string]string
		replace      map[string]string
	}{
		{
			"a fork of the same release",
			"module volcano.sh/volcano\n\ngo 1.24.0\n\nrequire (\n\tk8s.io/api v0.35.3\n\tvolcano.sh/apis v1.15.1\n)\n",
			"1.25.0",
			map[string]string{"k8s.io/api": "v0.35.3", "k8s.io/kube-proxy": "v0.35.3", "volcano.sh/volcano": "v0.0.0"},
			map[string]string{"volcano.sh/volcano": "/theirs", "volcano.sh/apis": "/ours/build/apis"},
		},
		{
			"a branch with a newer Kubernetes and its own APIs",
			"module volcano.sh/volcano\n\ngo 1.26.0\n\nrequire (\n\texample.com/newer v1.1.0\n\tk8s.io/api v0.36.1\n\tvolcano.sh/apis v0.0.0\n)\n\n" +
				"replace (\n\tk8s.io/api => k8s.io/api v0.36.1\n\tvolcano.sh/apis => ./staging/src/volcano.sh/apis\n)\n",
			"1.26.0",
			map[string]string{
				"example.com/newer": "v1.2.0", "k8s.io/api": "v0.36.1", "k8s.io/kube-proxy": "v0.36.1",
				"k8s.io/utils": "v0.0.0-20251002143259-bc988d571ff4", "volcano.sh/volcano": "v0.0.0",
			},
			map[string]string{
				"k8s.io/api": "k8s.io/api", "volcano.sh/volcano": "/theirs", "volcano.sh/apis": "/theirs/staging/src/volcano.sh/apis",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := parse(t, ours)
			require.NoError(t, merge(file, parse(t, test.source), "/theirs", "/ours"))
			assert.Equal(t, test.goVersion, file.Go.Version)
			for path, want := range test.require {
				assert.Equal(t, want, version(file, path), path)
			}
			replaced := map[string]string{}
			for _, r := range file.Replace {
				replaced[r.Old.Path] = r.New.Path
			}
			assert.Equal(t, test.replace, replaced)
		})
	}
}

func TestRunRefuses(t *testing.T) {
	other := t.TempDir()
	require.NoError(t, write(other, parse(t, "module example.com/other\n"), "go.mod", other))
	assert.ErrorContains(t, run(other, t.TempDir()), "is not the module volcano.sh/volcano")
	assert.ErrorContains(t, run(filepath.Join(other, "missing"), t.TempDir()), "no such file or directory")
}

// TestBaseFor chooses the mod file by the Kubernetes of the checkout.
func TestBaseFor(t *testing.T) {
	t.Chdir("../../..")
	requires := func(kubernetes string) *modfile.File {
		return parse(t, "module volcano.sh/volcano\n\nrequire k8s.io/api "+kubernetes+"\n")
	}
	for kubernetes, want := range map[string]string{
		"v0.34.0": "go.mod", "v0.34.1": "go.mod", "v0.34.9": "go.mod",
		"v0.35.0": "go.v1.15.mod", "v0.35.3": "go.v1.15.mod", "v0.36.1": "go.v1.15.mod",
	} {
		base, err := baseFor(requires(kubernetes))
		require.NoError(t, err)
		assert.Equal(t, want, base, kubernetes)
	}
	_, err := baseFor(requires("v0.33.2"))
	assert.ErrorContains(t, err, `k8s.io/api "v0.33.2", which is older`)
}
