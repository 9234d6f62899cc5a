package neighbours

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// question is the part of a request to an extender that the answers depend on.
type question struct {
	Task     struct{ Name string }
	Node     struct{ Name string }
	Nodes    []struct{ Name string }
	Job      struct{ Name string }
	Queue    struct{ Name string }
	Evictees []json.RawMessage
}

// answers are the answers of an extender: the names that it protects, refuses and
// prefers.
type answers struct {
	spared, unwanted, favourite string
}

func (a answers) to(verb string, q question) (any, bool) {
	switch verb {
	case "predicate":
		if q.Node.Name == a.unwanted {
			return map[string]any{"status": "unwanted", "code": 2}, true // 2: evicting others does not help
		}
		return map[string]any{}, true
	case "prioritize":
		scores := map[string]float64{}
		for _, n := range q.Nodes {
			if n.Name == a.favourite {
				scores[n.Name] = 10000
			}
		}
		return map[string]any{"nodeScore": scores}, true
	case "preemptable", "reclaimable":
		victims := slices.DeleteFunc(q.Evictees, func(raw json.RawMessage) bool {
			var task struct{ Name string }
			return json.Unmarshal(raw, &task) != nil || task.Name == a.spared
		})
		return map[string]any{"status": util.Permit, "victims": victims}, true
	case "jobEnqueueable":
		if q.Job.Name == a.unwanted {
			return map[string]any{"status": util.Reject}, true
		}
		return map[string]any{"status": util.Permit}, true
	case "queueOverused":
		return map[string]any{"overused": q.Queue.Name == a.unwanted}, true
	}
	return nil, false
}

// serve starts an extender for one verb, and returns its options in a configuration.
// The test fails where the extender is never called.
func (a answers) serve(t *testing.T, verb string) string {
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, known := a.to(strings.TrimPrefix(r.URL.Path, "/"), q)
		if !known {
			http.NotFound(w, r)
			return
		}
		called = true
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(func() {
		server.Close()
		require.True(t, called, "the extender was not called for %s", verb)
	})
	return "{name: extender, arguments: {extender.urlPrefix: '" + server.URL + "', extender.httpTimeout: 10s, extender." + verb + "Verb: " + verb + "}}"
}

// TestExtender runs an HTTP server as extender, verb by verb.
func TestExtender(t *testing.T) {
	one := []workload.Node{node("n", 16)}
	for verb, p := range map[string]pair{
		"predicate": {
			cluster: drawn(),
			both:    "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
		},
		"prioritize": {
			cluster: drawn(),
			both:    "new-0 on idle", neighbourAlone: "new-0 on idle, new-1 on idle", quotaAlone: "new-0 on full",
		},
		"jobEnqueueable": {
			actions: "enqueue",
			cluster: workload.Cluster{Nodes: one, Queues: []workload.Queue{bounded("q", 2)}, Jobs: []workload.Job{
				job("unwanted", "q", 0, enqueueing(2)), job("w", "q", 0, enqueueing(2)), job("x", "q", 0, enqueueing(2)),
			}},
			both: "w enqueued", neighbourAlone: "w enqueued, x enqueued", quotaAlone: "unwanted enqueued",
		},
		"queueOverused": {
			cluster: workload.Cluster{Nodes: one, Queues: []workload.Queue{bounded("q", 1), bounded("unwanted", 1)}, Jobs: []workload.Job{
				job("a", "q", 2), job("b", "unwanted", 2),
			}},
			both: "a-0 on n", neighbourAlone: "a-0 on n, a-1 on n", quotaAlone: "a-0 on n, b-0 on n",
		},
	} {
		t.Run(verb, func(t *testing.T) {
			unwanted := "unwanted"
			if verb == "predicate" {
				unwanted = "full"
			}
			if p.actions == "" {
				p.actions = "allocate"
			}
			p.neighbour = "extender"
			p.tiers = [][]string{{"gang", answers{unwanted: unwanted, favourite: "idle"}.serve(t, verb), quota}, {binpack}}
			p.run(t)
		})
	}
}
