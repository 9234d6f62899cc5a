package main_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
)

// writeLayout writes an image of a name and a tag as make image does, and returns its digest.
func writeLayout(t *testing.T, directory, reference string) v1.Hash {
	t.Helper()
	index, err := random.Index(64, 1, 2)
	require.NoError(t, err)
	path, err := layout.Write(directory, empty.Index)
	require.NoError(t, err)
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": reference})
	require.NoError(t, path.AppendIndex(index, named))
	digest, err := index.Digest()
	require.NoError(t, err)
	return digest
}

// push runs make push, and returns its output. The variables of a make that runs the tests do not count.
func push(arguments ...string) (string, error) {
	command := exec.Command("make", append([]string{"--no-print-directory", "-C", "..", "push"}, arguments...)...)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKEFLAGS=") || strings.HasPrefix(variable, "VERSION=")
	})
	output, err := command.CombinedOutput()
	return string(output), err
}

// TestPush pushes images to a registry of the test, and reads them under all names.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://") + "/volcano"

	const release = "v0.0.0-1-abc"
	for tag, volcano := range map[string]string{"": "v1.14.1", "v1.14.4": "v1.14.4"} {
		layouts := t.TempDir()
		scheduler := writeLayout(t, filepath.Join(layouts, "vc-scheduler"), "x/vc-scheduler:"+release+"-volcano-v1.14.1")
		cardctl := writeLayout(t, filepath.Join(layouts, "cardctl"), "x/cardctl:"+release+"-volcano-v1.14.1")
		output, err := push("REGISTRY="+at, "LAYOUTS="+layouts, "TAG="+tag)
		require.NoError(t, err, output)

		for pushed, want := range map[string]v1.Hash{
			"vc-scheduler:" + release + "-volcano-" + volcano: scheduler,
			"vc-scheduler-" + release + ":" + volcano:         scheduler,
			"cardctl:" + release + "-volcano-" + volcano:      cardctl,
		} {
			require.Contains(t, output, at+"/"+pushed+"\n")
			reference, err := name.ParseReference(at + "/" + pushed)
			require.NoError(t, err)
			found, err := remote.Head(reference)
			require.NoError(t, err, pushed)
			require.Equal(t, want, found.Digest, pushed)
		}
	}
}

// TestPushRefuses expects a message, and an exit status, where nothing or the wrong thing would be pushed.
func TestPushRefuses(t *testing.T) {
	checkout := t.TempDir()
	writeLayout(t, filepath.Join(checkout, "vc-scheduler"), "x/vc-scheduler:v0.0.0-1-abc-volcano-v0.0.0")
	for want, arguments := range map[string][]string{
		"make push REGISTRY=":            {},
		"has no images: make image":      {"REGISTRY=localhost:1/x", "LAYOUTS=" + t.TempDir()},
		"has no images: make release":    {"REGISTRY=localhost:1/x", "LAYOUTS=" + t.TempDir(), "VERSION=v0.1.0"},
		"is v0.0.0-1-abc, not v0.1.0":    {"REGISTRY=localhost:1/x", "LAYOUTS=" + checkout, "VERSION=v0.1.0", "TAG=v1.14.4"},
		"add TAG=, the tag of Volcano's": {"REGISTRY=localhost:1/x", "LAYOUTS=" + checkout},
		"dial tcp":                       {"REGISTRY=localhost:1/x", "LAYOUTS=" + checkout, "TAG=v1.14.4"},
	} {
		output, err := push(arguments...)
		require.Error(t, err, output)
		require.Contains(t, output, want)
	}
}
