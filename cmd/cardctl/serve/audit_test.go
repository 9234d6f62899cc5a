package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/audit"
)

// TestAuditPage has a page of one check, and says that there is no record of use.
func TestAuditPage(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	body := words(get(h, "/audit").Body.String())
	for _, text := range []string{"There is no record of use over time: the scheduler keeps none: the argument fairShareHalfLife is not set.",
		"UnusedQuota a quota that was hardly used not known", "Sums deserved amounts and guarantees that add up to more than there is"} {
		assert.Contains(t, body, text)
	}
	assert.Contains(t, get(h, "/audit?days=30").Body.String(), "cardctl audit --days 30")
	var r audit.Report
	require.NoError(t, json.Unmarshal(get(h, "/audit.json?days=400").Body.Bytes(), &r))
	assert.Equal(t, audit.DefaultDays, r.Days)
	assert.Empty(t, r.Items, "what queues deserve is within the cards of the nodes")
}

const windowed = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: q
  annotations:
    volcano.sh/card.quota: '{"A": 4}'
    volcano.sh/card.budget: '{"A": "100h/month"}'
    volcano.sh/override: '[{"from": "%s", "until": "2099-01-01T00:00Z", "card.quota": {"A": 8}}, {"from": "2020-01-01T00:00Z", "until": "2020-01-02T00:00Z", "max-jobs": 2}]'
spec: {weight: 1}
`

// write writes a manifest to a file, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestQueueHasWindowsAndBudgets shows which windows are in force until when, and the rest of each budget.
func TestQueueHasWindowsAndBudgets(t *testing.T) {
	s := newSource(t, write(t, fmt.Sprintf(windowed, "2020-01-01T00:00Z")))
	body := words(get(newServer(t, s, nil).Handler(), "/queue/q").Body.String())
	for _, text := range []string{"in force until 2099-01-01 00:00:00 UTC", "The next change is at 2099-01-01 00:00:00 UTC", "is over", "A month 100 0 0 100"} {
		assert.Contains(t, body, text)
	}
}

// TestPagesFollowWindows has a cluster in which nothing changes but that a window begins.
func TestPagesFollowWindows(t *testing.T) {
	begins := time.Now().Add(1500 * time.Millisecond).UTC().Truncate(time.Second).Add(time.Second)
	s := newSource(t, write(t, fmt.Sprintf(windowed, begins.Format(time.RFC3339))))
	server := newServer(t, s, nil)
	require.False(t, server.keeper.now().model.Queue("q").Windows[0].Holds)
	server.keeper.clock = time.Millisecond
	go server.Run(t.Context())
	require.Eventually(t, func() bool { return server.keeper.now().model.Queue("q").Windows[0].Holds }, time.Minute, 10*time.Millisecond)
}

// TestTick reads a cluster that does not change after a multiple of the time that the last reading took, and files only
// if the time decides about something in them.
func TestTick(t *testing.T) {
	quiet := newServer(t, newSource(t, examples), nil).keeper
	windows := newServer(t, newSource(t, write(t, fmt.Sprintf(windowed, "2020-01-01T00:00Z"))), nil).keeper
	assert.False(t, quiet.now().model.Timed())
	assert.True(t, windows.now().model.Timed())

	hour := time.Now().Add(-time.Hour)
	fires := func(k *keeper, took time.Duration) bool {
		select {
		case <-k.tick(hour, took):
			return true
		case <-time.After(10 * time.Millisecond):
			return false
		}
	}
	for _, k := range []*keeper{quiet, windows} {
		assert.True(t, fires(k, time.Minute), "an hour is more than 20 minutes")
		assert.False(t, fires(k, 4*time.Minute), "the server would work a twentieth of the time")
	}

	quiet.source.(*source).changed = nil
	windows.source.(*source).changed = nil
	assert.False(t, fires(quiet, 0))
	assert.True(t, fires(windows, 0))
}

// TestQuietClusterIsReadAgain tells when the pages were computed from when an object changed last.
func TestQuietClusterIsReadAgain(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	first := server.keeper.now().model.Time
	assert.NotContains(t, get(server.Handler(), "/queues").Body.String(), "unchanged since")

	server.keeper.read(t.Context(), false)
	assert.True(t, server.keeper.now().model.Time.After(first))
	assert.Equal(t, first, server.keeper.now().unchanged)
	assert.Contains(t, get(server.Handler(), "/queues").Body.String(), "unchanged since")

	server.keeper.read(t.Context(), true)
	assert.True(t, server.keeper.now().unchanged.After(first))
	assert.NotContains(t, get(server.Handler(), "/queues").Body.String(), "unchanged since")
}
