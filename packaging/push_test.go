package main_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
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
	require.NoError(t, path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": reference})))
	digest, err := index.Digest()
	require.NoError(t, err)
	return digest
}

// push runs make push, and returns what it prints.
func push(arguments ...string) (string, error) {
	output, err := exec.Command("make", append([]string{"--no-print-directory", "-C", "..", "push"}, arguments...)...).CombinedOutput()
	return string(output), err
}

// TestPush pushes images to a registry of the test, and reads them under all names.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://") + "/volcano"

	for tag, names := range map[string][]string{
		"": {"vc-scheduler:v0.0.0-1-abc-volcano-v1.14.1", "vc-scheduler-v0.0.0-1-abc:v1.14.1", "cardctl:v0.0.0-1-abc-volcano-v1.14.1"},
		"v1.14.4": {
			"vc-scheduler:v0.0.0-1-abc-volcano-v1.14.4", "vc-scheduler-v0.0.0-1-abc:v1.14.4", "cardctl:v0.0.0-1-abc-volcano-v1.14.4",
		},
	} {
		layouts, digests := t.TempDir(), map[string]v1.Hash{}
		for _, program := range []string{"vc-scheduler", "cardctl"} {
			digests[program] = writeLayout(t, filepath.Join(layouts, program), "ghcr.io/capacity-card/"+program+":v0.0.0-1-abc-volcano-v1.14.1")
		}
		output, err := push("REGISTRY="+at, "LAYOUTS="+layouts, "TAG="+tag)
		require.NoError(t, err, output)
		for _, each := range names {
			require.Contains(t, output, at+"/"+each+"\n")
			reference, err := name.ParseReference(at + "/" + each)
			require.NoError(t, err)
			found, err := remote.Head(reference)
			require.NoError(t, err, each)
			program := "cardctl"
			if strings.HasPrefix(each, "vc-scheduler") {
				program = "vc-scheduler"
			}
			require.Equal(t, digests[program], found.Digest, each)
		}
	}
}

// TestPushRefuses expects a message, and an exit status, where nothing or the wrong thing would be pushed.
func TestPushRefuses(t *testing.T) {
	checkout := t.TempDir()
	writeLayout(t, filepath.Join(checkout, "vc-scheduler"), "ghcr.io/capacity-card/vc-scheduler:v0.0.0-1-abc-volcano-v0.0.0")
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
