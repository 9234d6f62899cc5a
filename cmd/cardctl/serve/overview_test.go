package serve

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// words are the words of a page, without its markup.
func words(page string) string {
	text := regexp.MustCompile(`<title>[^<]*</title>|<[^>]*>|\s+`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// TestOverview shows the free cards, the jobs that wait, the queues that borrow, and the problems. It also shows the
// changes since a reading half an hour ago.
func TestOverview(t *testing.T) {
	s := newSource(t, examples)
	s.evicted = []input.Evicted{{Time: time.Now().Add(-time.Minute), Pod: "a"}, {Time: time.Now().Add(-2 * time.Hour), Pod: "b"}}
	server := newServer(t, s, nil)
	now := server.keeper.now().model
	server.keeper.history = model.NewHistory()
	past, reading := *now, *now.Reading
	reading.Time = now.Time.Add(-30 * time.Minute)
	past.Reading, past.Waiting = &reading, past.Waiting[:1]
	past.Queues = append(past.Queues[:0:0], past.Queues...)
	for i := range past.Queues {
		if q := &past.Queues[i]; q.Queue == "train" {
			four := 4.0
			q.Resources = append(q.Resources[:0:0], q.Resources...)
			at := slices.IndexFunc(q.Resources, func(h queues.Holding) bool { return h.Resource == "NVIDIA-H200" })
			q.Resources[at].Allocated, q.Resources[at].Capability = 1, &four
		}
	}
	server.keeper.history.Add(&past)
	server.keeper.history.Add(now)
	h := server.Handler()

	var o overview
	require.NoError(t, json.Unmarshal(get(h, "/overview.json").Body.Bytes(), &o))
	assert.Equal(t, []changeRow{
		{What: changeWaiting, Before: 1, After: 4},
		{Queue: "train", What: changeAllocated, Resource: "NVIDIA-H200", Before: 1, After: 4},
		{Queue: "train", What: changeQuota, Resource: "NVIDIA-H200", Before: 4, After: 6},
	}, o.Changes.Items)
	assert.Equal(t, 1, o.Changes.Evicted, "an hour is over since the other one")
	assert.Equal(t, []borrower{{Queue: "train", Resource: "NVIDIA-H200", Amount: 1, Has: 4}}, o.Borrowers)
	assert.Equal(t, []any{4, 1, 4}, []any{o.Waiting.Jobs, o.Borrowing, len(o.Oldest)})
	for _, c := range o.Cards {
		if c.Card.Card == "NVIDIA-H200" {
			assert.Equal(t, []any{1.0, 6.0, 2}, []any{c.Free, c.Used, c.Waiting})
		}
	}
	first := o.Problems.Items[0]
	assert.Equal(t, []any{validate.Error, 1}, []any{first.Severity, first.Count})
	assert.Contains(t, first.Text, "it cannot run, even alone: Queue <research> has child queues")
	text := words(get(h, "/").Body.String())
	for _, want := range []string{"NVIDIA-H200 6 of 7 1 2 jobs", "default/llm", "needs 1 more NVIDIA-H200; research is full, 6 of 6",
		"train NVIDIA-H200 1 4", "the cluster waiting jobs 1 4", "train NVIDIA-H200, quota 4 6", "1 Pods evicted in the last hour"} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, get(h, "/").Body.String(), `href="/overview.json"`)

	// Who may not see the jobs sees numbers of them, and fewer issues.
	var hidden overview
	h = newServer(t, s, as(restricted{queues: true})).Handler()
	require.NoError(t, json.Unmarshal(get(h, "/overview.json").Body.Bytes(), &hidden))
	assert.Equal(t, 4, hidden.Waiting.Jobs)
	assert.Equal(t, oldest{Namespace: hiddenName, Owner: hiddenName, Queue: o.Oldest[0].Queue}, hidden.Oldest[0])
	assert.Less(t, hidden.Problems.Errors, o.Problems.Errors)
	assert.NotContains(t, get(h, "/").Body.String(), "llm")
	assert.Equal(t, 403, get(newServer(t, s, as(nil)).Handler(), "/overview").Code)
}

// TestTryForAllPods offers a quota that is enough for all pods that a gang needs to start, as the advice says. It also
// offers once to remove a job that has the missing cards.
func TestTryForAllPods(t *testing.T) {
	text := `
apiVersion: v1
kind: Node
metadata: {name: node-one, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: top, annotations: {volcano.sh/card.quota: '{"X": 2}'}}
spec: {capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team, annotations: {volcano.sh/card.quota: '{"X": 2}'}}
spec: {parent: top, capability: {cpu: 64, memory: 64Gi}}
` + jobOf("a", "one", "team", "node-one") + strings.ReplaceAll(jobOf("a", "gang", "team", ""), "minMember: 1", "minMember: 2")
	path := filepath.Join(t.TempDir(), "gang.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	page := words(get(newServer(t, newSource(t, path), nil).Handler(), "/job/a/gang").Body.String())
	assert.Contains(t, page, "needs 2 more X; team is full, 2 of 2")
	assert.Contains(t, page, "raise volcano.sh/card.quota of \"X\" of queue team to 4")
	assert.Contains(t, page, "Try queue/team:cards.X=4")
	assert.Contains(t, page, "Try queue/top:cards.X=4")
	assert.Equal(t, 1, strings.Count(page, "Try without job/a/one"), "it has what both queues lack")
}
