package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWatchList wraps the ListWatch of an informer. It refuses a source without exactly one.
func TestWatchList(t *testing.T) {
	const informer = "\t\t&cache.ListWatch{\n\t\t\tListFunc: list,\n\t\t},\n\t\t&v1beta1.Queue{},\n"
	for _, test := range []struct {
		name, source, want string
	}{
		{"one", informer,
			"\t\tcache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{\n\t\t\tListFunc: list,\n" +
				"\t\t}, client),\n\t\t&v1beta1.Queue{},\n"},
		{"none", "package v1beta1\n", ""},
		{"two", informer + informer, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := watchList(test.source)
			assert.Equal(t, test.want != "", ok)
			if ok {
				assert.Equal(t, test.want, got)
			} else {
				assert.Equal(t, test.source, got)
			}
		})
	}
}

// TestCopyModule copies read-only files. The copies can be written.
func TestCopyModule(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "apis")
	require.NoError(t, os.Mkdir(filepath.Join(from, "pkg"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "pkg", "labels.go"), []byte("package pkg\n"), 0o444))
	require.NoError(t, copyModule(to, from))

	copied := filepath.Join(to, "pkg", "labels.go")
	require.NoError(t, edit(copied, func(s string) (string, bool) { return s + gateKey, true }))
	text, err := os.ReadFile(copied)
	require.NoError(t, err)
	assert.Equal(t, "package pkg\n"+gateKey, string(text))
	assert.ErrorContains(t, edit(copied, func(s string) (string, bool) { return s, false }), "does not look as expected")
}

// TestPatchNeedsInformers refuses a module without informers.
func TestPatchNeedsInformers(t *testing.T) {
	dir := t.TempDir()
	files := []string{"pkg/apis/scheduling/v1beta1/labels.go", "pkg/client/clientset/versioned/fake/clientset_generated.go"}
	for _, file := range files {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	assert.ErrorContains(t, patch(dir), "has no informers")
}
