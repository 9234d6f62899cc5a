package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLending runs the terminal session of docs/spec/cards.md and expects its output.
func TestLending(t *testing.T) {
	file, err := filepath.Abs("../../../docs/spec/cards.md")
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	t.Chdir("../../..")
	played := session.ReplaceAllStringFunc(string(text), func(block string) string {
		return "```console\n" + play(session.FindStringSubmatch(block)[1]) + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(played), 0o644))
		return
	}
	assert.Equal(t, string(text), played, "run this test with -update")
	assert.Contains(t, played, "Running 6, Waiting 2")
}

// lent is a node with two cards that a job borrows.
const lent = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 2}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: borrower, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.deserved: '{"X": 0}', volcano.sh/card.guarantee: '{"X": 0}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: owner, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.guarantee: '{"X": 0}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: borrows}
spec: {queue: borrower, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: borrows-0, annotations: {scheduling.k8s.io/group-name: borrows, volcano.sh/card.name: X, volcano.sh/preemptable: "true"}}
spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, image: i, resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: borrows-1, annotations: {scheduling.k8s.io/group-name: borrows, volcano.sh/card.name: X, volcano.sh/preemptable: "true"}}
spec: {schedulerName: volcano, nodeName: node-1, containers: [{name: c, image: i, resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}
status: {phase: Running}
`

// claims is a job that takes back one of the cards.
const claims = `
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: claims}
spec:
  schedulerName: volcano
  queue: owner
  minAvailable: 1
  tasks:
  - name: w
    replicas: 1
    template:
      metadata: {annotations: {volcano.sh/card.name: X}}
      spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}
`

// TestEvictedWithoutTheChange says that a job has fewer pods before the change than it runs now.
func TestEvictedWithoutTheChange(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "scheduler.conf")
	require.NoError(t, os.WriteFile(conf, []byte(`
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity-card}]
`), 0o600))
	const note = "note: before: the next cycles evict pods, also without the changes\n"
	for name, test := range map[string]struct {
		objects, job string
		noted        bool
	}{
		"a job takes a card back": {lent + claims, "Running 1, Waiting 1   Running 1, Waiting 1", true},
		"nobody does":             {lent, "Running 2   Running 2", false},
	} {
		code, stdout, stderr := run(test.objects, "simulate", "-f", "-", "--all", "--at", "2026-12-01T08:00Z", "--scheduler-conf", conf)
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, test.job, name)
		assert.Equal(t, test.noted, strings.Contains(stderr, note), "%s: %s", name, stderr)
	}
}
