package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReport replays six hours of each row, and writes the same again.
func TestReport(t *testing.T) {
	var text, again bytes.Buffer
	require.NoError(t, report(&text, 1, 6*time.Hour))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	require.Len(t, lines, 7, text.String())
	for i, row := range []string{"minimums     volcano", "minimums     leastWork", "nothing      volcano", "nothing      leastWork"} {
		assert.True(t, strings.HasPrefix(lines[3+i], row), lines[3+i])
	}
	require.NoError(t, report(&again, 1, 6*time.Hour))
	assert.Equal(t, text.String(), again.String())
}
