package stock

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
)

// manifests have a node with cards of a queue and of no queue, and a node with cards that have no name.
const manifests = `
apiVersion: v1
kind: Node
metadata: {name: a, labels: {nvidia.com/gpu.product: A}}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {nvidia.com/gpu.product: ""}}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, annotations: {volcano.sh/card.quota: '{"A": 6, "B": 2}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: r, annotations: {volcano.sh/card.quota: '{"A": 5}', volcano.sh/card.deserved: '{"A": 1}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: ours, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: others}
spec: {nodeName: a, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 3}}}]}
status: {phase: Running}
`

func TestCount(t *testing.T) {
	stock := count(t, manifests, nil)

	assert.Equal(t, []Card{
		{Card: "A", Nodes: 1, Allocatable: 8, Charged: 2, Used: 5, Free: 3, Quota: 11, Deserved: 11, Guarantee: 11, Oversubscribed: 3},
		{Card: "B", Quota: 2, Deserved: 2, Guarantee: 2, Oversubscribed: 2},
	}, stock.Cards)
	assert.Equal(t, []OnNode{{Node: "a", Card: "A", Resource: "nvidia.com/gpu", Allocatable: 8, Charged: 2, Used: 5, Free: 3, Queues: map[string]float64{"q": 2}}}, stock.Nodes)
	assert.Equal(t, []UnlabeledNode{{Node: "b", Resource: "nvidia.com/gpu", Label: "nvidia.com/gpu.product"}}, stock.Unlabeled)
	require.Len(t, stock.Queues, 3)
	q, r := stock.Queues[0], stock.Queues[2]
	assert.Equal(t, []any{"q", "A", 2.0, 6.0}, []any{q.Queue, q.Card, q.Allocated, *q.Quota})
	assert.Equal(t, []any{"r", "A", 0.0, 5.0, 5.0}, []any{r.Queue, r.Card, r.Allocated, *r.Quota, r.Deserved}, "guaranteed as much as its quota, so it deserves that")
}

// TestLost counts the cards of a node that is gone, and of one that is not ready.
func TestLost(t *testing.T) {
	stock := count(t, lostText, nil)
	assert.Equal(t, []LostCards{
		{Node: "down", Card: "A", Queue: "q", Cards: 1},
		{Node: "gone", Card: "A", Queue: "q", Cards: 2},
	}, stock.Lost)
	assert.InDelta(t, 3.0, stock.Cards[0].Charged, 0, "as the queue is charged")
	assert.InDelta(t, 4.0, stock.Cards[0].Oversubscribed, 0, "the queue deserves 4, and no node is ready")
}

const lostText = `
apiVersion: v1
kind: Node
metadata: {name: down, labels: {nvidia.com/gpu.product: A}}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 8}, conditions: [{type: Ready, status: "False"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, annotations: {volcano.sh/card.quota: '{"A": 4}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: gone, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: down, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
`

// count counts the cards of manifests, under the plugin with some arguments.
func count(t *testing.T, text string, arguments map[string]any) *Stock {
	t.Helper()
	return Count(open(t, text, arguments))
}

// open opens a session on manifests, under the plugin with some arguments.
func open(t *testing.T, text string, arguments map[string]any) (*engine.World, *engine.Session) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	c, err := engine.Usual(plugin.Name, objects.Queues)
	require.NoError(t, err)
	c.Arguments = arguments
	for _, tier := range c.Tiers {
		for i := range tier.Plugins {
			if tier.Plugins[i].Name == plugin.Name {
				tier.Plugins[i].Arguments = arguments
			}
		}
	}
	w, err := engine.Build(objects)
	require.NoError(t, err)
	s, err := engine.Open(t.Context(), w, c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return w, s
}

// TestNodesOf counts the pods and cards of a job by node. A pod that terminates counts without its cards.
func TestNodesOf(t *testing.T) {
	_, s := open(t, manifests+`
---
apiVersion: v1
kind: Pod
metadata: {name: more, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata:
  name: ending
  deletionTimestamp: "2026-01-01T00:00:00Z"
  annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A}
spec: {schedulerName: volcano, nodeName: b, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}
`, nil)

	require.Len(t, s.Jobs, 1)
	assert.Equal(t, []JobOnNode{
		{Node: "a", Pods: 2, Cards: []Amount{{"A", 3}}},
		{Node: "b", Pods: 1},
	}, NodesOf(s, s.Jobs["default/g"]))
}

// TestCardLabels counts cards that a label of the argument cardLabels names.
func TestCardLabels(t *testing.T) {
	const text = "apiVersion: v1\nkind: Node\nmetadata: {name: mlu-1, labels: {example.com/model: MLU590}}\nstatus: {allocatable: {cambricon.com/mlu: 8}}\n"
	stock := count(t, text, map[string]any{"cardLabels": map[string]any{"cambricon.com/mlu": "example.com/model"}})
	require.Len(t, stock.Cards, 1)
	assert.Equal(t, "MLU590", stock.Cards[0].Card)
	assert.Empty(t, stock.Unlabeled)
}

// TestFractions counts the fractions of a shared card that pods of a queue and of no queue have.
func TestFractions(t *testing.T) {
	const text = `
apiVersion: v1
kind: Node
metadata:
  name: a
  annotations: {volcano.sh/node-vgpu-register: "g0,10,8000,NVIDIA-A,true,hami-core:g1,10,8000,NVIDIA-A,true,hami-core:"}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100, volcano.sh/vgpu-number: 20, volcano.sh/vgpu-memory: 16000, volcano.sh/vgpu-cores: 200}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, annotations: {volcano.sh/card.quota: '{"A": 1}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: ours, annotations: {scheduling.k8s.io/group-name: g, volcano.sh/card.name: A, volcano.sh/vgpu-ids-new: "g0,NVIDIA,2000,0:"}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i, resources: {limits: {volcano.sh/vgpu-memory: 2000}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: others}
spec: {nodeName: a, containers: [{name: c, image: i, resources: {limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 4000}}}]}
status: {phase: Running}
`
	stock := count(t, text, nil)
	assert.Equal(t, []Card{{Card: "A", Nodes: 1, Allocatable: 2, Charged: 0.25, Used: 0.75, Free: 1.25, Quota: 1, Deserved: 1, Guarantee: 1}}, stock.Cards)
	require.Len(t, stock.Nodes, 1)
	assert.Equal(t, map[string]float64{"q": 0.25}, stock.Nodes[0].Queues)
	assert.Empty(t, stock.Unlabeled)
}

// TestUnusable has eight cards on each of five nodes. Two of the nodes take pods.
func TestUnusable(t *testing.T) {
	text := ""
	for name, more := range map[string]string{"open": "}", "cordoned": "unschedulable: true}", "tainted": "taints: [{key: dedicated, value: x, effect: NoSchedule}]}",
		"device": "taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}", "down": "}\nstatus: {allocatable: {nvidia.com/gpu: 8}, conditions: [{type: Ready, status: Unknown}]}"} {
		text += "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {nvidia.com/gpu.product: A}}\nspec: {" + more
		if name != "down" {
			text += "\nstatus: {allocatable: {nvidia.com/gpu: 8}}"
		}
		text += "\n"
	}
	stock := count(t, text, nil)
	assert.Equal(t, []Card{{Card: "A", Nodes: 5, Allocatable: 40, Free: 16, Unusable: 24}}, stock.Cards)
	why := map[string]string{}
	for _, n := range stock.Nodes {
		why[n.Node] = n.Why
	}
	assert.Equal(t, map[string]string{"open": "", "device": "", "cordoned": "cordoned", "tainted": "tainted dedicated=x:NoSchedule", "down": "NotReady"}, why)
}

// TestGroups counts groups of the cards of two models.
func TestGroups(t *testing.T) {
	node := func(model string) string {
		return "apiVersion: v1\nkind: Node\nmetadata: {name: n-" + model + ", labels: {nvidia.com/gpu.product: " + model +
			"}}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n---\n"
	}
	stock := count(t, node("A")+node("B"), map[string]any{"cardGroups": map[string]any{
		"both": map[string]any{"A": 1, "B": "1/2"}, "none": map[string]any{"C": 1}, "wrong": 1}})
	require.Len(t, stock.Cards, 4)
	assert.Equal(t, Card{Card: "@both", Nodes: 2, Allocatable: 12, Free: 12}, stock.Cards[0])
	assert.Equal(t, Card{Card: "@none"}, stock.Cards[1])
}

// claimed has a node with cards that are devices of a driver. One of two pods has a claim of its own, and both share
// another claim.
const claimed = `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {capacity: {cpu: 64, memory: 64Gi, pods: 100}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a-gpu.nvidia.com}
spec:
  driver: gpu.nvidia.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {type: {string: gpu}, productName: {string: NVIDIA H200}}}
  - {name: gpu-1, attributes: {type: {string: gpu}, productName: {string: NVIDIA H200}}}
  - {name: gpu-2, attributes: {type: {string: gpu}, productName: {string: NVIDIA H200}}}
  - {name: gpu-3, attributes: {type: {string: gpu}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: own, uid: own}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status: {allocation: {devices: {results: [{request: r, driver: gpu.nvidia.com, pool: a, device: gpu-0}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: both, uid: both}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status: {allocation: {devices: {results: [{request: r, driver: gpu.nvidia.com, pool: a, device: gpu-1}]}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, annotations: {volcano.sh/card.quota: '{"NVIDIA-H200": 6}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: one, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i}],
  resourceClaims: [{name: mine, resourceClaimTemplateName: t}, {name: ours, resourceClaimName: both}]}
status: {phase: Running, resourceClaimStatuses: [{name: mine, resourceClaimName: own}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, nodeName: a, containers: [{name: c, image: i}], resourceClaims: [{name: ours, resourceClaimName: both}]}
status: {phase: Running}
`

// TestDevices counts the cards of resource claims.
func TestDevices(t *testing.T) {
	stock := count(t, claimed, nil)
	assert.Equal(t, []Card{{Card: "NVIDIA-H200", Nodes: 1, Allocatable: 3, Charged: 2, Used: 2, Free: 1, Quota: 6, Deserved: 6, Guarantee: 6, Oversubscribed: 3}}, stock.Cards)
	assert.Equal(t, []OnNode{{Node: "a", Card: "NVIDIA-H200", Resource: "gpu.nvidia.com", Allocatable: 3, Charged: 2, Used: 2, Free: 1,
		Queues: map[string]float64{"q": 2}}}, stock.Nodes)
	assert.Equal(t, []UnlabeledNode{{"a", "gpu.nvidia.com", "productName"}}, stock.Unlabeled)
	assert.Empty(t, stock.Lost)
}

// TestSum adds up the cards of clusters by name.
func TestSum(t *testing.T) {
	first := &Stock{Cards: []Card{
		{Card: "A", Nodes: 1, Allocatable: 8, Charged: 2, Used: 3, Free: 5, Unusable: 1, Quota: 6, Deserved: 10, Guarantee: 2, Oversubscribed: 2},
		{Card: "B", Nodes: 1, Allocatable: 4, Free: 4},
	}}
	second := &Stock{Cards: []Card{
		{Card: "A", Nodes: 2, Allocatable: 1, Charged: 1, Used: 1, Free: 1, Unusable: 1, Quota: 1, Deserved: 1, Guarantee: 1, Oversubscribed: 1},
	}}
	sum := Sum([]*Stock{first, second})
	assert.Equal(t, []Card{
		{Card: "A", Nodes: 3, Allocatable: 9, Charged: 3, Used: 4, Free: 6, Unusable: 2, Quota: 7, Deserved: 11, Guarantee: 3, Oversubscribed: 3},
		{Card: "B", Nodes: 1, Allocatable: 4, Free: 4},
	}, sum.Cards)
	assert.Equal(t, 1, first.Cards[0].Nodes, "the clusters stay as they are")
	assert.Empty(t, Sum(nil).Cards)
}
