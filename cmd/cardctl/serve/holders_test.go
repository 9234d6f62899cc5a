package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// limited has a running job of ann in namespace one, one of bob in namespace two, and limits of users and of a label.
var limited = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {nvidia.com/gpu.product: A}}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: q
  annotations:
    volcano.sh/card.quota: '{"A": 8}'
    volcano.sh/card.quota.by: '{"user": {"*": {"A": 2}}, "label:team": {"x": {"A": 5}}}'
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: other, annotations: {volcano.sh/card.quota: '{"A": 8}'}}
spec: {weight: 1}
` + heldBy("ann", "one", "q", 2) + heldBy("bob", "two", "other", 1)

func heldBy(user, namespace, queue string, cards int) string {
	return strings.NewReplacer("USER", user, "SPACE", namespace, "QUEUE", queue, "CARDS", string(rune('0'+cards))).Replace(`
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: SPACE, annotations: {volcano.sh/user: USER}}
spec: {queue: QUEUE, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: SPACE, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: CARDS}}}]}
status: {phase: Running}
`)
}

// TestHolders shows cards by the keys that the page has, in a queue, and only of jobs that the viewer may see.
func TestHolders(t *testing.T) {
	s := newSource(t, write(t, limited))
	h := newServer(t, s, nil).Handler()

	users := words(get(h, "/holders").Body.String())
	assert.Contains(t, users, "ann A 2 1 0 2 of 2 in q bob A 1 1 0 –")
	assert.Contains(t, users, "user group namespace label:team", "the keys to choose from")
	assert.Contains(t, users, "cardctl top --by user")

	assert.NotContains(t, words(get(h, "/holders?queue=q").Body.String()), "bob")
	assert.Contains(t, words(get(h, "/holders?by=namespace").Body.String()), "one A 2 1 0 two A 1 1 0")
	assert.Equal(t, http.StatusNotFound, get(h, "/holders?by=label:size").Code)
	assert.Equal(t, http.StatusNotFound, get(h, "/holders?queue=none").Code)
}

// TestHoldersAreHidden names no user and no namespace that is known only from jobs that the viewer may not see.
func TestHoldersAreHidden(t *testing.T) {
	s := newSource(t, write(t, limited))
	h := newServer(t, s, as(restricted{queues: true, namespaces: []string{"one"}})).Handler()

	for _, path := range []string{"/holders", "/holders?by=namespace", "/holders.json", "/holders.json?by=namespace"} {
		body := get(h, path).Body.String()
		assert.NotContains(t, body, "bob", path)
		assert.NotContains(t, body, "two", path)
	}
	assert.Contains(t, words(get(h, "/holders").Body.String()), "In namespaces that you may not see: 1 job, 1 pod")
}

// TestCommands has the command of a page with the queue that the page shows, and says which commands print the same.
func TestCommands(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	for path, want := range map[string]string{
		"/queues?queue=lab":          "The same in a terminal cardctl top lab --once -f dump.json",
		"/waiting?queue=lab":         "The same in a terminal cardctl explain queue lab -f dump.json",
		"/holders?queue=lab&by=user": "The same in a terminal cardctl top lab --by user -f dump.json",
		"/job/default/llm":           "The same in a terminal cardctl explain job llm -n default -f dump.json",
		"/lending":                   "In a terminal cardctl top --once -o wide -f dump.json",
	} {
		assert.Contains(t, words(get(h, path).Body.String()), want)
	}
}
