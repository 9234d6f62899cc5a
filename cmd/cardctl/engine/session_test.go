package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin"
)

// TestSessionsLeaveNoMetrics finds no series with a name of a world after its sessions: each world
// of a simulation may have other names.
func TestSessionsLeaveNoMetrics(t *testing.T) {
	const text = `
apiVersion: v1
kind: Node
metadata: {name: unique-node, labels: {nvidia.com/gpu.product: unique-card}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, nvidia.com/gpu: 8, unique.io/thing: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: unique-queue, annotations: {volcano.sh/card.quota: '{"unique-card": 1, "bad": "x"}'}}
spec: {capability: {cpu: 8, memory: 64Gi, unique.io/thing: 8}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: unique-job}
spec:
  queue: unique-queue
  minAvailable: 1
  tasks: [{name: w, replicas: 2, template: {metadata: {annotations: {volcano.sh/card.name: unique-card}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]}}}]
`
	c, err := Configure(`
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: drf}, {name: capacity-card}, {name: predicates}]
`)
	require.NoError(t, err)
	_, _, err = Settle(t.Context(), build(t, text), c, nil)
	require.NoError(t, err)
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, series := range family.Metric {
			for _, label := range series.Label {
				assert.False(t, strings.HasPrefix(label.GetValue(), "unique"), "%s: %v", family.GetName(), series)
			}
		}
	}
}

// TestClustersShareNoMemory opens sessions on two clusters in turns. In one of them, a label makes a resource a card. It is
// no card in the other one, whatever the sessions before saw.
func TestClustersShareNoMemory(t *testing.T) {
	cards := build(t, `
apiVersion: v1
kind: Node
metadata: {name: worker, labels: {acme.com/chip.product: A}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, acme.com/chip: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
`)
	plain := build(t, `
apiVersion: v1
kind: Node
metadata: {name: worker}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, acme.com/chip: 4}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {capability: {cpu: 8, acme.com/chip: 4}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default}
spec: {queue: q, minMember: 1, minResources: {cpu: 1, acme.com/chip: 2}}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, namespace: default, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: 1}, limits: {acme.com/chip: 2}}}]}
status: {phase: Pending}
`)
	c, err := Usual(plugin.Name, nil)
	require.NoError(t, err)
	accounts := func(cluster string, w *World) string {
		configuration := *c
		configuration.Cluster = cluster
		s, err := Open(t.Context(), w, &configuration)
		require.NoError(t, err)
		defer s.Close()
		return fmt.Sprintf("%+v", s.Tree())
	}

	alone := accounts("plain", plain)
	accounts("cards", cards)
	assert.Equal(t, alone, accounts("plain", plain))
	assert.NotEqual(t, alone, accounts("cards", plain), "the worlds differ by what a memory has seen")
}
