package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHistory has one line for each release. A release that is measured again has its line
// replaced, and columns of earlier lines stay.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.csv")
	require.NoError(t, os.WriteFile(path, []byte("release,commit,volcano,a goal of the past\nv0.1.0,abc,v1.14.1,3.5\n"), 0o600))
	s, err := readFile(sample)
	require.NoError(t, err)
	for range 2 {
		h, err := readHistory(path)
		require.NoError(t, err)
		h.put("v0.2.0", s)
		require.NoError(t, h.write(path))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 3)
	assert.True(t, strings.HasPrefix(lines[1], "v0.1.0,abc,v1.14.1,3.5,,"), lines[1])
	assert.True(t, strings.HasPrefix(lines[2], "v0.2.0,0123abc,,,1.291,10.57,1.305,"), lines[2])

	h, err := readHistory(path)
	require.NoError(t, err)
	svg, err := h.chart()
	require.NoError(t, err)
	assert.Contains(t, svg, "v0.2.0")
	assert.NotContains(t, svg, "v0.1.0", "it has no cycles")
	h, err = readHistory(filepath.Join(t.TempDir(), "none.csv"))
	require.NoError(t, err)
	_, err = h.chart()
	assert.ErrorContains(t, err, "no release has cycles")
}
