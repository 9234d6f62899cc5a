package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is the raw output of the questions with charts, to which all engines answer in the same time.
func asked() string {
	var raw strings.Builder
	for _, n := range peersQueues {
		for _, p := range peers {
			fmt.Fprintf(&raw, "BenchmarkPeers/of=open/queues=%d/impl=%s-2 1 %d ns/op 0 B/op 0 allocs/op\n", n, p.key, 100*n)
			fmt.Fprintf(&raw, "BenchmarkPeers/of=fits/queues=%d/impl=%s-2 1 %d ns/op 5000 asked 0 differ 0 B/op 0 allocs/op\n", n, p.key, 100*n)
		}
	}
	return raw.String()
}

// decided is the raw output of a whole scheduler.
func decided(impl string, ns, processor, left int) string {
	var raw strings.Builder
	for _, n := range peersQueues {
		fmt.Fprintf(&raw, "BenchmarkSchedulers/queues=%d/impl=%s-2 1 %d ns/op 3100 admitted %d cpu-ns/op "+
			"0 exceeded %d left 0 overfilled 64 B/op 2 allocs/op\n", n, impl, ns, processor, left)
	}
	return raw.String()
}

func peersPageOf(t *testing.T, raw string) string {
	t.Helper()
	s, err := read(strings.NewReader(raw), "peers")
	require.NoError(t, err)
	files := map[string]string{}
	require.NoError(t, peersPages(s, files, map[string]string{}))
	return files[peersPage]
}

// TestSchedulers shows whole schedulers where they were measured, and says which of them take less than ours.
func TestSchedulers(t *testing.T) {
	page := peersPageOf(t, asked())
	assert.NotContains(t, page, "## Whole schedulers", "results from before they were measured")
	assert.Contains(t, page, "Nowhere in this run.")

	page = peersPageOf(t, asked()+decided("ours", 2e6, 3e6, 0)+decided("ours-nodes", 5e6, 9e6, 0)+
		decided("kueue", 4e6, 1e6, 0)+decided("kai", 6e6, 9e6, 7))
	assert.Contains(t, page, "## Whole schedulers")
	assert.Contains(t, page, "| 10 | ours | 500 | 3 ms | 3,100 | 2 | 64 B | none |")
	assert.Contains(t, page, "| 5,000 | KAI | 167 | 9.00 ms | 3,100 | 2 | 64 B | 7 left |")
	assert.NotContains(t, page, "| 10 | YuniKorn |", "it was not measured")
	assert.Contains(t, page, "- **Whole schedulers.** Kueue: 1 ms of processor time a job at 10 queues, ours 3 ms;")
	assert.NotContains(t, page, "KAI: 9.00 ms", "that of ours which does the most alike takes as much")
}

// TestPeersReasonsAreOfQuestions expects each reason to belong to a question on the page.
func TestPeersReasonsAreOfQuestions(t *testing.T) {
	known := map[string]bool{"peers.md.tmpl": true, "peers.reasons.tmpl": true}
	for _, a := range askings {
		known[a.key] = true
	}
	for _, w := range wholes {
		known["schedulers-"+w.key] = w.rival != ""
	}
	for _, reason := range peersReasons.Templates() {
		assert.True(t, known[reason.Name()], reason.Name())
	}
}
