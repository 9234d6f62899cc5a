package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/report"
)

const (
	h200  = "NVIDIA-H200"
	h800  = "NVIDIA-H800"
	gpu   = "cpu: 1, memory: 1Gi, nvidia.com/gpu: 1"
	plain = "cpu: 1, memory: 1Gi"

	ascend = "huawei.com/Ascend910"
)

// TestReasons has one job named job wait for each reason there is, and expects the
// rule, the level of the tree, and the numbers.
func TestReasons(t *testing.T) {
	cluster := []string{node("a", h200, 8), node("b", h800, 8)}
	tree := []string{
		queue("top", "", `{"NVIDIA-H200": 6}`, ""),
		queue("left", "top", `{"NVIDIA-H200": 4, "NVIDIA-H800": 2}`, ""),
		queue("right", "top", `{"NVIDIA-H200": 6}`, ""),
	}
	tests := []struct {
		name      string
		manifests []string
		plugin    string // capacity-card where it is not set
		conf      string
		stage     Stage
		rule      report.Rule
		level     string
		says      string // part of the message
	}{
		// The queue.
		{name: "no such queue", manifests: []string{job("job", "gone", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.UnknownQueue, level: "gone", says: "Queue <gone> does not exist"},
		{name: "unknown parent", manifests: []string{queue("q", "gone", "", ""), job("job", "q", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.BrokenQueue, level: "q", says: `the parent queue does not exist: "gone"`},
		{name: "unknown parent further up", manifests: []string{queue("up", "gone", "", ""), queue("q", "up", "", ""), job("job", "q", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.BrokenQueue, level: "q", says: `queue "up": the parent queue does not exist`},
		{name: "cycle", manifests: []string{queue("p", "q", "", ""), queue("q", "p", "", ""), job("job", "q", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.BrokenQueue, level: "q", says: "the parents form a cycle"},
		{name: "inner queue", manifests: append(tree[:3:3], job("job", "top", pods{n: 1, limits: gpu, card: h200})),
			stage: Enqueue, rule: report.InnerQueue, level: "top"},
		{name: "closed queue", manifests: []string{closed(queue("q", "", "", "")), job("job", "q", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.ClosedQueue, level: "q"},
		{name: "closed after the job was admitted", conf: unlimited(false),
			manifests: []string{closed(queue("q", "", "", "")), group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: plain})},
			stage:     Allocate, rule: report.ClosedQueue, level: "q"},

		// Enqueue: cards.
		{name: "card.request above the quota", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), job("job", "q", pods{n: 5, limits: gpu, card: h200, request: `{"NVIDIA-H200": 5}`})},
			stage:     Enqueue, rule: report.OverQuota, level: "q",
			says: "insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <3>"},
		{name: "card.request above what is left", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), group("runs", "q", "Running", pods{n: 2, minimum: 2, limits: gpu, card: h200, node: "a"}),
				job("job", "q", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`})},
			stage: Enqueue, rule: report.OverQuota, level: "q", says: "requested <2>, total would be <4>, but capability is <3>"},
		{name: "card.request above the quota of the queue above", conf: unlimited(true),
			manifests: append(tree[:3:3], group("runs", "right", "Running", pods{n: 4, minimum: 4, limits: gpu, card: h200, node: "a"}),
				job("job", "left", pods{n: 3, limits: gpu, card: h200, request: `{"NVIDIA-H200": 3}`})),
			stage: Enqueue, rule: report.OverQuota, level: "top", says: "Queue <top> has insufficient <NVIDIA-H200> quota: requested <3>, total would be <7>, but capability is <6>"},
		{name: "reserved for another job", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), group("first", "q", "Inqueue", pods{n: 2, minimum: 2, limits: gpu, card: h200}),
				job("job", "q", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`})},
			stage: Enqueue, rule: report.OverQuota, level: "q", says: "requested <2>, total would be <4>, but capability is <3>"},
		{name: "either card, and both are too few", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 1, "NVIDIA-H800": 1}`, ""), job("job", "q", pods{n: 3, limits: gpu, card: h200 + "|" + h800, request: `{"NVIDIA-H200|NVIDIA-H800": 3}`})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<NVIDIA-H200|NVIDIA-H800> quota: requested <3>, total would be <3>, but capability is <2>"},
		{name: "a card that the queue has no quota of", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), job("job", "q", pods{n: 1, limits: gpu, card: h800, request: `{"NVIDIA-H800": 1}`})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<NVIDIA-H800> quota: requested <1>, total would be <1>, but capability is <0>"},
		{name: "a misspelt card", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), job("job", "q", pods{n: 1, limits: gpu, card: "H200", request: `{"H200": 1}`})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<H200> quota: requested <1>, total would be <1>, but capability is <0>"},
		{name: "cards of two resource names", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), job("job", "q", pods{n: 1, limits: gpu, card: "x", request: `{"NVIDIA-H200|NVIDIA-H800/mps-80g*1/2": 1}`})},
			stage:     Enqueue, rule: report.MixedResources, level: "q"},

		// Enqueue: everything else.
		{name: "cpu of a leaf that sets none", conf: configuration(plugin.Name, false, "unsetCapability: zero"), manifests: []string{queue("q", "", "", ""), job("job", "q", pods{n: 1, limits: plain})},
			stage: Enqueue, rule: report.OverQuota, level: "q", says: "<cpu> quota: requested <1>, total would be <1>, but capability is <0>"},
		{name: "cpu above the capability", plugin: plugin.CapacityName,
			manifests: []string{queue("q", "", "", "capability: {cpu: 2}"), job("job", "q", pods{n: 3, limits: "cpu: 1500m"})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<cpu> quota: requested <4.5>, total would be <4.5>, but capability is <2>"},
		{name: "memory above the capability", plugin: plugin.CapacityName,
			manifests: []string{queue("q", "", "", "capability: {memory: 2Gi}"), job("job", "q", pods{n: 3, limits: "memory: 1Gi"})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<memory> quota: requested <3Gi>, total would be <3Gi>, but capability is <2Gi>"},
		{name: "cpu above the capability two levels up", plugin: plugin.CapacityName,
			manifests: []string{queue("one", "root", "", "capability: {cpu: 4}"), queue("two", "one", "", ""), queue("q", "two", "", "capability: {cpu: 4}"), queue("r", "two", "", ""),
				group("runs", "r", "Running", pods{n: 3, minimum: 3, limits: "cpu: 1", node: "a"}), job("job", "q", pods{n: 2, limits: "cpu: 1"})},
			stage: Enqueue, rule: report.OverQuota, level: "one", says: "requested <2>, total would be <5>, but capability is <4>"},
		{name: "another resource", plugin: plugin.CapacityName,
			manifests: []string{queue("q", "", "", "capability: {cpu: 64, example.com/license: 1}"), job("job", "q", pods{n: 2, limits: "example.com/license: 1"})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "<example.com/license> quota: requested <2>"},
		{name: "kept for the guarantee of another queue", plugin: plugin.CapacityName,
			manifests: []string{queue("other", "", "", "guarantee: {resource: {cpu: 127}}"), queue("q", "", "", ""), job("job", "q", pods{n: 2, limits: "cpu: 1"})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "requested <2>, total would be <2>, but capability is <1>"},
		{name: "as many jobs as the queue above may have", conf: unlimited(true),
			manifests: append(tree[1:3:3], withAnnotation(tree[0], `volcano.sh/max-jobs: "1"`), group("runs", "right", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200, node: "a"}),
				job("job", "left", pods{n: 1, limits: gpu, card: h200})),
			stage: Enqueue, rule: report.TooManyJobs, level: "top", says: "Queue <top> has insufficient <jobs> quota: requested <1>, total would be <2>, but max-jobs is <1>"},
		{name: "more than the overcommit factor allows", conf: unlimited(false),
			manifests: []string{withAnnotation(withAnnotation(queue("q", "", `{"NVIDIA-H200": 8}`, ""), `volcano.sh/card.deserved: '{"NVIDIA-H200": 2}'`), `volcano.sh/card.guarantee: '{"NVIDIA-H200": 0}', volcano.sh/overcommit-factor: "1.5"`),
				job("job", "q", pods{n: 4, limits: gpu, card: h200, request: `{"NVIDIA-H200": 4}`})},
			stage: Enqueue, rule: report.OverQuota, level: "q", says: "requested <4>, total would be <4>, but deserved × overcommit-factor is <3>"},
		{name: "more than the queue above lets a namespace have", conf: unlimited(true),
			manifests: append(tree[1:3:3], withAnnotation(tree[0], `volcano.sh/card.quota.by: '{"namespace": {"*": {"NVIDIA-H200": 3}}}'`),
				group("runs", "right", "Running", pods{n: 2, minimum: 2, limits: gpu, card: h200, node: "a"}),
				job("job", "left", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`})),
			stage: Enqueue, rule: report.OverNamespace, level: "top",
			says: "Queue <top> has insufficient <NVIDIA-H200> quota for namespace <default>: requested <2>, total would be <4>, but card.quota.by is <3>"},
		{name: "another plugin", conf: configuration(plugin.Name, false, "unsetCapability: unlimited", "overcommit"),
			manifests: []string{queue("q", "", "", ""), stray("a", "cpu: 60"), job("job", "q", pods{n: 2, limits: "cpu: 60"})},
			stage:     Enqueue, rule: OtherPlugin, says: "overcommit"},

		// Allocate.
		{name: "pods of a Deployment", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""), deployment("job", "q", pods{n: 3, limits: gpu, card: h200})},
			stage:     Allocate, rule: report.OverQuota, level: "q", says: "requested <1>, total would be <3>, but capability is <2>"},
		{name: "pods of a Deployment, the queue above", conf: unlimited(true),
			manifests: append(tree[:3:3], group("runs", "right", "Running", pods{n: 4, minimum: 4, limits: gpu, card: h200, node: "a"}),
				deployment("job", "left", pods{n: 3, limits: gpu, card: h200})),
			stage: Allocate, rule: report.OverQuota, level: "top", says: "Queue <top> has insufficient <NVIDIA-H200> quota: requested <1>, total would be <7>, but capability is <6>"},
		{name: "pods of a Deployment, the limit of the namespace", conf: unlimited(false),
			manifests: []string{withAnnotation(queue("q", "", `{"NVIDIA-H200": 8}`, ""), `volcano.sh/card.quota.by: '{"namespace": {"*": {"NVIDIA-H200": 2}}}'`), deployment("job", "q", pods{n: 3, limits: gpu, card: h200})},
			stage:     Allocate, rule: report.OverNamespace, level: "q", says: "quota for namespace <default>: requested <1>, total would be <3>, but card.quota.by is <2>"},
		{name: "pods of a Deployment, the limit of who has no user", conf: unlimited(false),
			manifests: []string{withAnnotation(queue("q", "", `{"NVIDIA-H200": 8}`, ""), `volcano.sh/card.quota.by: '{"user": {"": {"NVIDIA-H200": 2}}}'`),
				deployment("job", "q", pods{n: 3, limits: gpu, card: h200})},
			stage: Allocate, rule: report.OverHolder, level: "q",
			says: "quota for jobs without a user: requested <1>, total would be <3>, but card.quota.by is <2>"},
		{name: "either card, the preferred one for the queue above", conf: unlimited(true),
			manifests: append(tree[:3:3], group("runs", "right", "Running", pods{n: 6, minimum: 6, limits: gpu, card: h200, node: "a"}),
				group("also", "left", "Running", pods{n: 2, minimum: 2, limits: gpu, card: h800, node: "b"}),
				group("job", "left", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h200 + "|" + h800})),
			stage: Allocate, rule: report.OverQuota, level: "top",
			says: "Queue <top> has insufficient <NVIDIA-H200> quota: requested <1>, total would be <7>, but capability is <6>; Queue <left> has insufficient <NVIDIA-H800>"},
		{name: "three pods of a gang of four", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 3}`, ""), group("job", "q", "Inqueue", pods{n: 4, minimum: 4, limits: gpu, card: h200})},
			stage:     Allocate, rule: report.OverQuota, level: "q",
			says: "3 of the 4 pods it needs to start have room; then: Queue <q> has insufficient <NVIDIA-H200> quota: requested <1>, total would be <4>, but capability is <3>"},
		{name: "cpu, one pod after the other", plugin: plugin.CapacityName,
			manifests: []string{queue("q", "", "", "capability: {cpu: 2}"), group("job", "q", "Running", pods{n: 3, minimum: 1, limits: "cpu: 1"})},
			stage:     Allocate, rule: report.OverQuota, level: "q", says: "<cpu> quota: requested <1>, total would be <3>, but capability is <2>"},
		{name: "no card is named, and that is refused", conf: unlimited(false, "untypedCards: reject"),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""), deployment("job", "q", pods{n: 1, limits: gpu})},
			stage:     Enqueue, rule: report.UntypedPod, level: "q", says: "names no card"},
		{name: "no card is named, and the job is admitted", conf: unlimited(false, "untypedCards: reject"),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""), group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: gpu})},
			stage:     Allocate, rule: report.UntypedPod, level: "q", says: "names no card"},
		{name: "no card is named, and none has quota", conf: unlimited(false),
			manifests: []string{queue("q", "", `{}`, ""), deployment("job", "q", pods{n: 1, limits: gpu})},
			stage:     Enqueue, rule: report.OverQuota, level: "q", says: "requested <1>, total would be <1>, but capability is <0>"},
		{name: "another resource than that of the card", conf: unlimited(false),
			manifests: []string{strings.ReplaceAll(node("c", "Ascend-910B", 8), "nvidia.com/gpu", ascend), queue("q", "", `{"NVIDIA-H200": 2}`, ""),
				group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: ascend + ": 1", card: h200})},
			stage: Allocate, rule: report.ResourceMismatch, level: "q", says: "<huawei.com/Ascend910>, which is not the resource name of the cards <NVIDIA-H200>"},
		{name: "a list of two resource names", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""), deployment("job", "q", pods{n: 1, limits: gpu, card: h200 + "|NVIDIA-H800/mps-80g*1/2"})},
			stage:     Enqueue, rule: report.MixedResources, level: "q"},
		{name: "proportion: more than the queue deserves", plugin: plugin.ProportionName,
			manifests: []string{queue("q", "", "", "capability: {cpu: 2}"), group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: "cpu: 3"})},
			stage:     Allocate, rule: report.OverQuota, level: "q", says: "but deserved is <2>"},
		{name: "proportion: the queue has all it deserves", plugin: plugin.ProportionName,
			manifests: []string{queue("q", "", "", `capability: {cpu: 2, memory: 2Gi, pods: 2}`), group("runs", "q", "Running", pods{n: 2, minimum: 2, limits: plain, node: "a"}),
				group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: plain})},
			stage: Allocate, rule: Overused, level: "q"},

		// Nodes.
		{name: "no node has the card", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-A100": 2}`, ""), deployment("job", "q", pods{n: 1, limits: gpu, card: "NVIDIA-A100"})},
			stage:     Node, rule: report.NoSuchCard, says: "2 × node(s) have none of the cards <NVIDIA-A100>"},
		{name: "the nodes do not say which card they have", conf: unlimited(false),
			manifests: []string{node("a", `""`, 8), node("b", `""`, 8), queue("q", "", `{"NVIDIA-H200": 2}`, ""), deployment("job", "q", pods{n: 1, limits: gpu, card: h200})},
			stage:     Node, rule: report.UnlabeledNode, says: "but lack the label nvidia.com/gpu.product"},
		{name: "the nodes are full", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 20}`, ""), group("runs", "q", "Running", pods{n: 8, minimum: 1, limits: gpu, card: h200, node: "a"}),
				deployment("job", "q", pods{n: 1, limits: gpu, card: h200})},
			stage: Node, rule: NodesFull, says: "not enough nvidia.com/gpu"},
		{name: "node selector", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""), deployment("job", "q", pods{n: 1, limits: gpu, card: h200, spec: "nodeSelector: {kubernetes.io/hostname: z}"})},
			stage:     Node, rule: NodesUnfit, says: "node affinity/selector"},
		{name: "either card has quota, but not the one of the nodes that fit", conf: unlimited(false),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 2, "NVIDIA-H800": 0}`, ""),
				deployment("job", "q", pods{n: 1, limits: gpu, card: h200 + "|" + h800, spec: "nodeSelector: {kubernetes.io/hostname: b}"})},
			stage: Node, rule: report.OverQuota, level: "q", says: "Queue <q> has insufficient <NVIDIA-H800> quota: requested <1>, total would be <1>, but capability is <0>"},

		// The gang.
		{name: "fewer pods than the minimum", conf: unlimited(false),
			manifests: []string{queue("q", "", "", ""), group("job", "q", "Inqueue", pods{n: 2, minimum: 3, limits: plain})},
			stage:     Gang, rule: NotEnoughPods, says: "valid: 2, min: 3"},
		{name: "scheduling gates", conf: unlimited(false),
			manifests: []string{queue("q", "", "", ""), group("job", "q", "Inqueue", pods{n: 2, minimum: 2, limits: plain, spec: "schedulingGates: [{name: example.com/wait}]"})},
			stage:     Gang, rule: Gated, says: "All 2 pods"},
		{name: "queue allocation gates, and the quota has no room", conf: unlimited(false, "semantics: v1.15"),
			manifests: []string{queue("q", "", `{"NVIDIA-H200": 1}`, ""), group("job", "q", "Inqueue", pods{n: 2, minimum: 1, limits: "nvidia.com/gpu: 2", card: h200,
				spec: "schedulingGates: [{name: scheduling.volcano.sh/queue-allocation-gate}]", extraAnnotations: `scheduling.volcano.sh/queue-allocation-gate: "true"`})},
			stage: Allocate, rule: report.OverQuota, level: "q", says: "insufficient <NVIDIA-H200> quota"},
		{name: "queue allocation gates without the annotation", conf: unlimited(false, "semantics: v1.15"),
			manifests: []string{queue("q", "", "", ""), group("job", "q", "Inqueue", pods{n: 2, minimum: 2, limits: plain, spec: "schedulingGates: [{name: scheduling.volcano.sh/queue-allocation-gate}]"})},
			stage:     Gang, rule: Gated, says: "All 2 pods"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := test.plugin
			if name == "" {
				name = plugin.Name
			}
			w, c := read(t, append(cluster[:2:2], test.manifests...), name, test.conf)
			findings := jobs(t, w, c, Options{Wanted: func(f *Finding) bool { return f.Matches("job") }})
			require.Len(t, findings, 1)
			f := findings[0]
			assert.Equal(t, Waiting, f.State, f.Message)
			assert.Equal(t, test.stage, f.Stage, f.Message)
			assert.Equal(t, test.rule, f.Rule, f.Message)
			assert.Equal(t, test.level, f.Level, f.Message)
			assert.Contains(t, f.Message, test.says)
			assert.NotEmpty(t, f.Message)
			assert.NotEmpty(t, f.Advice, "what would have to change")
		})
	}
	assert.Greater(t, len(tests), 30)
}
