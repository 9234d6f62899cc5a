package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// TestAlphaSettings expects one note for each alpha setting in use, and none for others.
func TestAlphaSettings(t *testing.T) {
	pod := func(name string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {volcano.sh/expected-runtime: 4h}}\n" +
			"spec: {schedulerName: volcano, containers: [{name: c, image: i}]}"
	}
	path := filepath.Join(t.TempDir(), "objects.yaml")
	manifests := strings.Join([]string{queue("q", "", `volcano.sh/max-jobs: "2"`, ""), pod("a"), pod("b")}, "\n---\n")
	require.NoError(t, os.WriteFile(path, []byte(manifests), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)

	text := "actions: \"enqueue, allocate, reclaim\"\ntiers:\n- plugins:\n  - name: capacity-card\n" +
		"    arguments: {fractions: memory, reclaimGangs: keep}\n"
	configuration, err := engine.Configure(text)
	require.NoError(t, err)
	configuration.Given = &input.Configuration{Text: text, Source: input.Source{File: "scheduler.conf", Line: 1}, Object: "ConfigMap/conf"}

	found, err := Check(t.Context(), objects, configuration)
	require.NoError(t, err)
	var notes []string
	for _, i := range found.Issues {
		if i.Severity == Note {
			notes = append(notes, strings.TrimPrefix(i.String(), path+":"))
		}
	}
	assert.Equal(t, []string{
		"8: note: Pod/a: metadata.annotations[volcano.sh/expected-runtime]: expected-runtime" + alphaNote,
		"scheduler.conf:1: note: ConfigMap/conf: capacity-card: argument fractions" + alphaNote,
	}, notes)
}
