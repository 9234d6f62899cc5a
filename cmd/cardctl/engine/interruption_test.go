package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// countdown is a context that is done when it has been asked some times.
type countdown struct {
	context.Context
	left, late int // questions until it is done, and after that
}

func (c *countdown) Err() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	c.late++
	return context.Canceled
}

// busy has jobs for each action: some to be admitted and placed, one that reclaims, one that
// preempts, and pods without requests.
const busy = `
apiVersion: v1
kind: Node
metadata: {name: free, labels: {kubernetes.io/hostname: free}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100}}
---
apiVersion: v1
kind: Node
metadata: {name: full, labels: {kubernetes.io/hostname: full}}
status: {allocatable: {cpu: 2, memory: 64Gi, pods: 100}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {reclaimable: true, deserved: {cpu: 1}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: poor}
spec: {reclaimable: true, deserved: {cpu: 9}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 9
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: runs}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: runs-0, annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/preemptable: "true"}}
spec: {nodeName: full, schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: runs-1, annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/preemptable: "true"}}
spec: {nodeName: full, schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
status: {phase: Running}
---
`

func podText(name, queue, spec, requests string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {scheduling.volcano.sh/queue-name: " + queue + "}}\n" +
		"spec: {schedulerName: volcano, " + spec + "containers: [{name: c, image: i, resources: {requests: {" + requests + "}}}]}\n"
}

// TestInterruption ends a session at each question that an action asks, and closes it. No action
// asks another question then, nor does a later one run.
func TestInterruption(t *testing.T) {
	text := busy
	for _, name := range []string{"a", "b", "c"} {
		text += podText(name, "q", "", "cpu: 1")
	}
	text += podText("empty", "q", "", "") + podText("wants", "poor", "nodeSelector: {kubernetes.io/hostname: full}, ", "cpu: 1") +
		podText("first", "q", "priorityClassName: high, nodeSelector: {kubernetes.io/hostname: full}, ", "cpu: 1")
	c, err := Configure(`
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: capacity}, {name: predicates}]
`)
	require.NoError(t, err)
	placedAt := map[int]bool{}
	for after := 0; ; after++ {
		ctx := &countdown{Context: t.Context(), left: 1 << 30}
		s, err := Open(ctx, build(t, text), c)
		require.NoError(t, err)
		ctx.left = after
		err = s.Run()
		placed, evicted := 0, 0
		for _, job := range s.Jobs {
			placed += len(job.TaskStatusIndex[api.Binding])
			evicted += len(job.TaskStatusIndex[api.Releasing])
		}
		s.Close()
		if err == nil {
			assert.Equal(t, []int{4, 1}, []int{placed, evicted}, "all actions have work")
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.LessOrEqual(t, ctx.late, 2, "after %d questions: the question that ends it, and its error", after)
		placedAt[placed] = true
	}
	for n := range 4 {
		assert.True(t, placedAt[n], "ended when %d pods were placed", n)
	}
}

// TestOpenWaitsNoLonger returns while another session is open.
func TestOpenWaitsNoLonger(t *testing.T) {
	w := build(t, busy)
	c, err := Usual("capacity", nil)
	require.NoError(t, err)
	s, err := Open(t.Context(), w, c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := Open(ctx, w, c)
		waits <- err
	}()
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)
	s.Close()
	events, settled, err := Settle(ctx, w, c, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, settled)
	assert.Empty(t, events)
	_, err = Ahead(ctx, w, c, func(*Session) {})
	require.ErrorIs(t, err, context.Canceled)
}

// panicking is an action that panics.
type panicking struct{}

func (panicking) Name() string               { return "panicking" }
func (panicking) Initialize()                {}
func (panicking) Execute(*framework.Session) { panic("of an action") }
func (panicking) UnInitialize()              {}

// TestPanicsEndTheSession lets the next session open after a plugin panicked.
func TestPanicsEndTheSession(t *testing.T) {
	w := build(t, busy+podText("a", "q", "", "cpu: 1"))
	c, err := Usual("capacity", nil)
	require.NoError(t, err)
	broken := *c
	broken.Actions = []framework.Action{panicking{}}
	assert.PanicsWithValue(t, "of an action", func() { _, _ = Ahead(t.Context(), w, &broken, func(*Session) {}) })
	w.Queues = append(w.Queues, nil)
	assert.Panics(t, func() { _, _ = Ahead(t.Context(), w, c, func(*Session) {}) }, "while it opens")
	w.Queues = w.Queues[:len(w.Queues)-1]
	_, err = Ahead(t.Context(), w, c, func(*Session) {})
	require.NoError(t, err)
}
