package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// check validates manifests and returns the issues as they are printed, without
// the file's name.
func check(t *testing.T, manifests ...string) []string {
	t.Helper()
	return checkWith(t, func(queues []*scheduling.Queue) (*engine.Configuration, error) {
		return engine.Usual(plugin.Name, queues)
	}, manifests...)
}

func checkWith(t *testing.T, configure func([]*scheduling.Queue) (*engine.Configuration, error), manifests ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	objects := read(t, path, manifests)
	configuration, err := configure(objects.Queues)
	require.NoError(t, err)
	found, err := Check(t.Context(), objects, configuration)
	require.NoError(t, err)
	var lines []string
	for _, i := range found.Issues {
		if !strings.HasSuffix(i.Message, alphaNote) { // TestAlphaSettings expects these
			lines = append(lines, strings.TrimPrefix(i.String(), path+":"))
		}
	}
	return lines
}

// read writes manifests to a file, and reads it as cardctl does.
func read(t *testing.T, path string, manifests []string) *input.Objects {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(manifests, "\n---\n")), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	return objects
}

func queue(name, parent, annotations, spec string) string {
	if parent != "" {
		spec = "parent: " + parent + ", " + spec
	}
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + ", annotations: {" + annotations +
		"}}\nspec: {weight: 1, " + spec + "}"
}

func quota(json string) string     { return "volcano.sh/card.quota: '" + json + "'" }
func deserved(json string) string  { return "volcano.sh/card.deserved: '" + json + "'" }
func guarantee(json string) string { return "volcano.sh/card.guarantee: '" + json + "'" }

const node = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: A}}
status: {allocatable: {cpu: 8, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}}`

func job(queue, card, limits, request string) string {
	return `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, annotations: {volcano.sh/card.request: '` + request + `'}}
spec:
  queue: ` + queue + `
  tasks: [{name: w, replicas: 2, template: {metadata: {annotations: {volcano.sh/card.name: "` + card + `"}}, spec: {containers: [{name: c, image: i, resources: {limits: {` + limits + `}}}]}}}]`
}

// podOn is a PodGroup of queue q with a pod on a node.
func podOn(name, node string) string {
	return `
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: ` + name + `}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, annotations: {scheduling.k8s.io/group-name: ` + name + `, volcano.sh/card.name: A}}
spec: {schedulerName: volcano, nodeName: ` + node + `, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status: {phase: Running}`
}

const open = "capability: {cpu: 8, memory: 64Gi}"

// TestShares has shares of the cards of the nodes. Without nodes they are neither more nor less than numbers.
func TestShares(t *testing.T) {
	nothing := guarantee(`{"A":0,"Z":0}`)
	queues := []string{
		queue("q", "", quota(`{"A":"50%","Z":"10%,min=1"}`)+", "+deserved(`{"A":3,"Z":0}`)+", "+nothing, open),
		queue("r", "", quota(`{"A":"60%"}`)+", "+deserved(`{"A":"20%"}`)+", "+guarantee(`{"A":0}`), open),
	}
	with := strings.Join(check(t, append(queues, node)...), "\n")
	for _, want := range []string{
		`note: Queue/q: metadata.annotations[volcano.sh/card.quota]: "A" is 50%: 2 of the 4 cards that the nodes give`,
		`note: Queue/q: metadata.annotations[volcano.sh/card.quota]: "Z" is 10%,min=1: 1 of the 0 cards that the nodes give`,
		`note: Queue/r: metadata.annotations[volcano.sh/card.deserved]: "A" is 20%: 0 of the 4 cards that the nodes give`,
		`warning: Queue/q: metadata.annotations[volcano.sh/card.deserved]: "A" is 3, more than its quota of 2`,
		"have shares of A that add up to 110% (volcano.sh/card.quota)",
		`no node has the card "Z"`,
	} {
		assert.Contains(t, with, want)
	}
	assert.NotContains(t, with, "has no quota")

	without := strings.Join(check(t, queues...), "\n")
	assert.Contains(t, without, "have shares of A that add up to 110% (volcano.sh/card.quota)")
	for _, other := range []string{" is 50%", "more than", "has no quota", "NaN", "queues deserve"} {
		assert.NotContains(t, without, other)
	}

	wrong := strings.Join(check(t, node, queue("q", "", quota(`{"A":"150%"}`), open)), "\n")
	assert.Contains(t, wrong, `error: Queue/q: metadata.annotations[volcano.sh/card.quota]: "A": "150%" is not a share of the cards: 0% to 100%, then min=N or max=N or both`)
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		manifests []string
		want      []string
	}{
		"all is well": {[]string{node, queue("q", "", quota(`{"A":4}`), open), job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 2", `{"A":4}`)}, nil},
		"too many pods": {
			[]string{queue("q", "", quota(`{"A":4}`), open), strings.Replace(job("q", "A", "cpu: 1", `{"A":4}`), "replicas: 2", "replicas: 2000000000", 1)},
			[]string{"7: warning: Job/j: its 2000000000 pods are left out: cardctl makes at most 100000 pods"}},
		"unknown parent, and below": {
			[]string{queue("p", "gone", "", ""), queue("q", "p", "", "")},
			[]string{`4: error: Queue/p: spec.parent: there is no queue "gone"`,
				`9: error: Queue/q: spec.parent: its path does not reach the root: queue "p": the parent queue does not exist: "gone"`}},
		"cycle": {
			[]string{queue("p", "q", "", ""), queue("q", "p", "", "")},
			[]string{"4: error: Queue/p: spec.parent: the parents form a cycle: p → q → p", "9: error: Queue/q: spec.parent: the parents form a cycle: q → p → q"}},
		"its own parent": {[]string{queue("p", "p", "", "")}, []string{"4: error: Queue/p: spec.parent: the parents form a cycle: p → p"}},
		"root with a parent": {
			[]string{queue("root", "p", "", ""), queue("p", "", "", "")}, []string{"4: error: Queue/root: spec.parent: the root has no parent"}},
		"bad keys": {
			[]string{queue("q", "", quota(`{"A":1.5,"B":"x","C":2}`), "")},
			[]string{`3: error: Queue/q: metadata.annotations[volcano.sh/card.quota]: "A": 1.5 is not a whole number of cards`,
				`3: error: Queue/q: metadata.annotations[volcano.sh/card.quota]: "B": `}},
		"no JSON": {[]string{queue("q", "", quota(`{"A":1`), "")}, []string{"3: error: Queue/q: metadata.annotations[volcano.sh/card.quota]: "}},
		"above the parent": {
			[]string{queue("p", "", quota(`{"A":2}`), "capability: {cpu: 2}"), queue("q", "p", quota(`{"A":3}`)+", "+guarantee(`{"A":0}`), "capability: {cpu: 3}")},
			[]string{`8: error: Queue/q: metadata.annotations[volcano.sh/card.quota]: "A" is 3, more than the 2 of its parent p`,
				"9: error: Queue/q: spec.capability.cpu: 3 is more than the 2 of its parent p"}},
		"announced lengths": {
			[]string{strings.Replace(job("q", "A", "cpu: 1", `{"A":4}`), "annotations: {", "annotations: {volcano.sh/expected-runtime: '4', ", 1),
				queue("q", "", quota(`{"A":4}`), ""), strings.NewReplacer("name: j,", "name: k,", "annotations: {volcano.sh/card.name", "annotations: {volcano.sh/expected-runtime: 0h, volcano.sh/card.name",
					"name: j, annotations: {", "name: k, annotations: {volcano.sh/expected-runtime: 4h, ").Replace(job("q", "A", "cpu: 1", `{"A":4}`))},
			[]string{`4: warning: Job/j: metadata.annotations[volcano.sh/expected-runtime]: "4" is not a duration above 0, such as 4h; it counts as not set`,
				`20: warning: Job/k: spec.tasks[0].template.metadata.annotations[volcano.sh/expected-runtime]: "0h" is not a duration above 0, such as 4h; it counts as not set`}},
		"times of checkpoints": {
			[]string{strings.Replace(job("q", "A", "cpu: 1", `{"A":4}`), "annotations: {", "annotations: {volcano.sh/checkpoint-time: '1764576000', ", 1),
				queue("q", "", quota(`{"A":4}`), ""), strings.NewReplacer("name: j,", "name: k,", "annotations: {volcano.sh/card.name", "annotations: {volcano.sh/checkpoint-time: '2026-12-01T08:30', volcano.sh/card.name",
					"name: j, annotations: {", "name: k, annotations: {volcano.sh/checkpoint-time: '2026-12-01T08:30+01:00', ").Replace(job("q", "A", "cpu: 1", `{"A":4}`))},
			[]string{`4: warning: Job/j: metadata.annotations[volcano.sh/checkpoint-time]: "1764576000" is not a time with a zone, such as 2026-12-01T08:30:00Z; it counts as not set`,
				`20: warning: Job/k: spec.tasks[0].template.metadata.annotations[volcano.sh/checkpoint-time]: "2026-12-01T08:30" is not a time with a zone, such as 2026-12-01T08:30:00Z; it counts as not set`}},
		"children are guaranteed too much": {
			[]string{queue("p", "", quota(`{"A":3}`), "capability: {cpu: 3}"), queue("q", "p", quota(`{"A":2}`), "guarantee: {resource: {cpu: 2}}"),
				queue("r", "p", quota(`{"A":2}`), "guarantee: {resource: {cpu: 2}}")},
			[]string{"4: error: Queue/p: spec.capability.cpu: 3, and its children are guaranteed 4",
				`3: warning: Queue/p: metadata.annotations[volcano.sh/card.quota]: "A" is 3, and its children are guaranteed 4`}},
		"a guarantee of a queue above ends the defaults of its children": {
			[]string{queue("p", "", quota(`{"A":3}`)+", "+guarantee(`{"A":0}`), ""), queue("q", "p", quota(`{"A":3}`), ""),
				queue("r", "p", quota(`{"A":3}`), "")}, nil},
		"children deserve too much": {
			[]string{queue("p", "", quota(`{"A":3}`)+", "+deserved(`{"A":1}`)+", "+guarantee(`{"A":0}`), ""), queue("q", "p", quota(`{"A":3}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"A":0}`), "")},
			[]string{`3: warning: Queue/p: metadata.annotations[volcano.sh/card.deserved]: "A" is 1, and its children deserve 2 (volcano.sh/card.deserved is the quota where it is not set)`}},
		"children deserve their quotas": {
			[]string{queue("p", "", quota(`{"A":4}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"A":0}`), ""), queue("q", "p", quota(`{"A":4}`), "")},
			[]string{`3: warning: Queue/p: metadata.annotations[volcano.sh/card.deserved]: "A" is 2, and its children deserve 4 (volcano.sh/card.deserved is the quota where it is not set)`}},
		"deserved below a guarantee that is not set": {
			[]string{queue("q", "", quota(`{"A":4}`)+", "+deserved(`{"A":2}`), "")},
			[]string{`3: warning: Queue/q: metadata.annotations[volcano.sh/card.deserved]: "A" has no effect: card.guarantee is not set, so it is the quota of 4`}},
		"deserved below a guarantee": {
			[]string{queue("q", "", quota(`{"A":4}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"A":3}`), "")},
			[]string{`3: warning: Queue/q: metadata.annotations[volcano.sh/card.deserved]: "A" counts as 3: card.guarantee is as much`}},
		"deserved, and a queue above states a guarantee": {
			[]string{queue("p", "", quota(`{"A":4}`)+", "+deserved(`{"A":4}`)+", "+guarantee(`{"A":0}`), ""), queue("q", "p", quota(`{"A":4}`)+", "+deserved(`{"A":2}`), "")}, nil},
		"limits that bound no job without a user": {
			[]string{queue("q", "", quota(`{"A":4}`)+`, volcano.sh/card.quota.by: '{"namespace": {"*": {"A": 1}}, "user": {"*": {"A": 1}}, "label:team": {"*": {"A": 1}, "": {"A": 0}}}'`, "")},
			[]string{`3: note: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: "*" of "user" does not bound jobs without it: add "" to bound them`}},
		"deserved and guarantee of one queue": {
			[]string{queue("q", "", quota(`{"A":1}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"B":1}`), "")},
			[]string{`3: warning: Queue/q: metadata.annotations[volcano.sh/card.deserved]: "A" is 2, more than its quota of 1`,
				`3: warning: Queue/q: metadata.annotations[volcano.sh/card.guarantee]: "B" has no quota, so it counts for nothing`}},
		"negative": {[]string{queue("q", "", "", "capability: {cpu: -1}")}, []string{"4: error: Queue/q: spec.capability.cpu: -1 is negative"}},
		"stock": {
			[]string{node, queue("q", "", quota(`{"A":3,"B":1}`), ""), queue("r", "", quota(`{"A":3}`), "")},
			[]string{"cluster: warning: queues are guaranteed 6 A together, and the nodes have 4",
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.quota]: no node has the card "B"`}},
		"lending": {
			[]string{node, queue("q", "", quota(`{"A":4}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"A":0}`), ""),
				queue("r", "", quota(`{"A":4}`)+", "+deserved(`{"A":2}`)+", "+guarantee(`{"A":0}`), "")}, nil},
		"deserved after a loss of a node": {
			[]string{node, queue("q", "", quota(`{"A":8}`)+", "+deserved(`{"A":4}`)+", "+guarantee(`{"A":0}`), ""),
				queue("r", "", quota(`{"A":8}`)+", "+deserved(`{"A":4}`)+", "+guarantee(`{"A":0}`), "")},
			[]string{"cluster: warning: queues deserve 8 A together, and the nodes have 4"}},
		"pods on nodes that are gone": {
			[]string{node, strings.NewReplacer("node-1", "down", "pods: 100, nvidia.com/gpu: 4}", `pods: 100}, conditions: [{type: Ready, status: Unknown}]`).Replace(node),
				queue("q", "", quota(`{"A":4}`), ""), podOn("a", "gone"), podOn("b", "gone"), podOn("c", "down"), podOn("d", "node-1")},
			[]string{"cluster: warning: Node/gone: does not exist, and has pods: 2; queues are charged for them until they are deleted",
				"8: warning: Node/down: is not ready, and has pods: 1; queues are charged for them until they are deleted"}},
		"a misspelt card that a queue deserves": {
			[]string{queue("q", "", quota(`{"NVIDIA-L40S":4}`)+", "+deserved(`{"NVIDIA-L40":2}`), "")},
			[]string{`3: warning: Queue/q: metadata.annotations[volcano.sh/card.deserved]: "NVIDIA-L40" has no quota, so it counts for nothing; did you mean "NVIDIA-L40S"?`}},
		"a node whose card has no name": {
			[]string{strings.Replace(node, "product: A", `product: ""`, 1)},
			[]string{"4: warning: Node/node-1: metadata.labels: nvidia.com/gpu has no card name: the label nvidia.com/gpu.product is missing or bad"}},
		"a node that does not register": {
			[]string{strings.Replace(node, "nvidia.com/gpu:", "volcano.sh/vgpu-number:", 1)},
			[]string{"4: warning: Node/node-1: metadata.annotations[volcano.sh/node-vgpu-register]: volcano.sh/vgpu-number has no cards: the node does not register them"}},
		"a bad request": {
			[]string{job("q", "A", "cpu: 1", `{"A":-1}`)}, []string{"4: error: Job/j: metadata.annotations[volcano.sh/card.request]: "}},
		"a job above the quota": {
			[]string{node, queue("q", "", quota(`{"A":3}`), open), job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 2", `{"A":4}`)},
			[]string{"13: error: Job/j: it cannot run, even alone: Queue <q> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <3> (OverQuota)"}},
		"a job that no node has room for": {
			[]string{node, queue("q", "", quota(`{"A":40}`), open), job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 5", `{}`)},
			[]string{"cluster: warning: queues are guaranteed 40 A together, and the nodes have 4",
				"13: error: Job/j: it cannot run, even alone: No node fits: 1 × too small: it has 4 nvidia.com/gpu, and the pod requests 5 (NodesTooSmall)"}},
		"a job that runs, and whose queue lost its quota": {
			[]string{node, queue("q", "", quota(`{"A":0}`), open), podOn("a", "node-1")},
			[]string{"13: warning: PodGroup/a: it runs, and cannot start again, even alone: Queue <q> has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0> (OverQuota)"}},
		"a job behind another one": {
			[]string{node, strings.Replace(queue("q", "", quota(`{"A":3}`), open), "annotations: {", `annotations: {volcano.sh/order: fifo, `, 1),
				strings.Replace(job("q", "A", "cpu: 1", `{"A":1}`), "name: j", "name: a", 1), job("q", "A", "cpu: 1", `{"A":1}`)}, nil},
		"a job in no queue": {
			[]string{node, job("gone", "A", "cpu: 1", `{}`)}, []string{"8: error: Job/j: it cannot run, even alone: Queue <gone> does not exist (UnknownQueue)"}},
		"misspelt fields and keys": {
			[]string{queue("q", "", "volcano.sh/card.quotas: '{}'", "capabilty: {cpu: 1}")},
			[]string{`3: error: Queue/q: metadata.annotations[volcano.sh/card.quotas]: is unknown and has no effect; did you mean "volcano.sh/card.quota"?`,
				`4: error: Queue/q: spec.capabilty: unknown field; did you mean "capability"?`}},
		"a misspelt field in an export": {
			[]string{strings.Replace(queue("q", "", "", "capabilty: {cpu: 1}"), "{name: q,", "{name: q, uid: u,", 1)},
			[]string{`4: warning: Queue/q: spec.capabilty: unknown field; did you mean "capability"?`}},
		"keys of other objects": {
			[]string{queue("q", "", `volcano.sh/card.name: A, volcano.sh/hierarchy: root/q`, ""),
				strings.Replace(job("q", "A", "cpu: 1", `{"A":1}`), "card.name", "card.quota", 1),
				strings.Replace(job("q", "A", "cpu: 1", `{"A":1}`), "name: j, annotations: {volcano.sh/card.request:", "name: k, annotations: {volcano.sh/card.card:", 1)},
			[]string{"3: error: Queue/q: metadata.annotations[volcano.sh/card.name]: is an annotation of pods and has no effect here",
				"12: error: Job/j: spec.tasks[0].template.metadata.annotations[volcano.sh/card.quota]: is an annotation of queues and has no effect here",
				"17: error: Job/k: metadata.annotations[volcano.sh/card.card]: is an annotation of pods and has no effect here"}},
		"names that are misspelt": {
			[]string{strings.ReplaceAll(node, "product: A", "product: NVIDIA-H200"), queue("research", "", quota(`{"NVIDIA-H20":1}`), ""), queue("q", "reserch", "", "")},
			[]string{`15: error: Queue/q: spec.parent: there is no queue "reserch"; did you mean "research"?`,
				`9: warning: Queue/research: metadata.annotations[volcano.sh/card.quota]: no node has the card "NVIDIA-H20"; did you mean "NVIDIA-H200"?`}},
		"service classes and policies of reclaim": {
			[]string{queue("q", "", `volcano.sh/reclaim-fence: "yes", volcano.sh/min-runtime: "30", volcano.sh/preempt-min-runtime: 10m, volcano.sh/reclaim-delay: 2m`, ""),
				strings.Replace(job("q", "A", "cpu: 1", `{"A":1}`), "annotations: {volcano.sh/card.request", "annotations: {volcano.sh/service.type: traning, volcano.sh/card.request", 1),
				strings.Replace(job("q", "A", "cpu: 1", `{"A":1}`), "name: j, annotations: {volcano.sh/card.request", "name: k, annotations: {volcano.sh/service.type: training, volcano.sh/card.request", 1)},
			[]string{`3: error: Queue/q: metadata.annotations[volcano.sh/preempt-min-runtime]: is volcano.sh/min-runtime: preempt=TIME now`,
				`3: error: Queue/q: metadata.annotations[volcano.sh/reclaim-fence]: "yes" is not true or false`,
				`3: error: Queue/q: metadata.annotations[volcano.sh/min-runtime]: "30" is not a list of reclaim=TIME; preempt=TIME, such as reclaim=30m,preempt=10m`,
				`9: error: Job/j: metadata.annotations[volcano.sh/service.type]: "traning" is not inference or training`}},
		"policies": {
			[]string{queue("q", "", `volcano.sh/max-jobs: "20", volcano.sh/overcommit-factor: "1.5", volcano.sh/inqueue-timeout: 30m, volcano.sh/card.quota.by: '{"namespace": {"*": {"A":1, "cpu": "8"}}}'`, ""),
				queue("r", "", `volcano.sh/max-jobs: "0", volcano.sh/overcommit-factor: "much", volcano.sh/inqueue-timeouts: 30m`, "")},
			[]string{`8: error: Queue/r: metadata.annotations[volcano.sh/inqueue-timeouts]: is unknown and has no effect; did you mean "volcano.sh/inqueue-timeout"?`,
				`8: error: Queue/r: metadata.annotations[volcano.sh/max-jobs]: "0" is not a whole number above 0`,
				`8: error: Queue/r: metadata.annotations[volcano.sh/overcommit-factor]: "much" is not a number above 0 with at most 3 decimals, such as 1.5`}},
		"soft quotas": {
			[]string{node,
				queue("q", "", quota(`{"A":8}`)+`, volcano.sh/soft-quota: '{"A": 4, "B": 1}'`, ""),
				queue("r", "", quota(`{"A":8}`)+`, volcano.sh/card.deserved: '{"A": 2}', volcano.sh/card.guarantee: '{"A": 5}', volcano.sh/soft-quota: '{"A": 4}'`, ""),
				queue("s", "", quota(`{"A":8}`)+`, volcano.sh/soft-quota: '{"A": 8}'`, ""),
				queue("t", "", quota(`{"A":8}`)+`, volcano.sh/card.deserved: '{"A": 2}', volcano.sh/card.guarantee: '{"A": 0}', volcano.sh/soft-quota: '{"A": 4}'`, ""),
				queue("u", "", quota(`{"A":8}`)+`, volcano.sh/soft-quota: '{"A": 1.5}'`, "")},
			[]string{"cluster: warning: queues are guaranteed 29 A together, and the nodes have 4",
				`29: error: Queue/u: metadata.annotations[volcano.sh/soft-quota]: "{\"A\": 1.5}" is not a JSON object of cards and whole numbers, such as {"NVIDIA-H200": 8}`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/soft-quota]: no node has the card "B"`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/soft-quota]: "A" has no effect: card.deserved is not set, so it is the quota of 8`,
				`14: warning: Queue/r: metadata.annotations[volcano.sh/card.deserved]: "A" counts as 5: card.guarantee is as much`,
				`14: warning: Queue/r: metadata.annotations[volcano.sh/soft-quota]: "A" counts as 5: card.guarantee is as much`,
				`19: warning: Queue/s: metadata.annotations[volcano.sh/soft-quota]: "A" has no effect: the quota is 8`}},
		"limits of holders": {
			[]string{node, queue("q", "", `volcano.sh/card.quota.by: '{"user": {"*": {"A": 4, "B": 2, "@group": 1}}}'`, ""),
				queue("r", "", `volcano.sh/card.quota.by: '{"users": {}}'`, "")},
			[]string{`14: error: Queue/r: metadata.annotations[volcano.sh/card.quota.by]: "{\"users\": {}}" is not a JSON object of namespace, user, group or label:<name>`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: no node has the card "B"`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: "@group" is not a group of cards of the argument cardGroups`,
				`9: note: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: "*" of "user" does not bound jobs without it: add "" to bound them`}},
		"budgets and limits of namespaces": {
			[]string{node, queue("q", "", `volcano.sh/card.budget: '{"A": "4h/day", "B": "2h/day", "@group": "1h/day"}', volcano.sh/card.quota.by: '{"namespace": {"*": {"C": 1, "@others": 1}}}'`, "")},
			[]string{`9: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: no node has the card "C"`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.budget]: no node has the card "B"`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: "@others" is not a group of cards of the argument cardGroups`,
				`9: warning: Queue/q: metadata.annotations[volcano.sh/card.budget]: "@group" is not a group of cards of the argument cardGroups`}},
		"a limit of a resource that does not count": {
			[]string{queue("q", "", `volcano.sh/card.quota.by: '{"namespace": {"*": {"cpu": "8", "nvidia.com/gpu": "4"}}}'`, "")},
			[]string{`3: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: "nvidia.com/gpu" has no effect: capacity-card counts cpu, memory and cards; a number without quotes is a limit of cards`}},
		"no nodes": {[]string{queue("q", "", quota(`{"A":3}`), open), job("q", "A", "nvidia.com/gpu: 2", `{"A":4}`)}, nil},
		"twice":    {[]string{queue("q", "", "", ""), queue("q", "", "", "")}, []string{"6: warning: Queue/q: was read at "}},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(t, c.manifests...)
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				assert.Truef(t, strings.HasPrefix(got[i], want), "want %s\n got %s", want, got[i])
			}
		})
	}
}

// TestUnlabeledNode has a node without the label of its cards, which matters where cards count.
func TestUnlabeledNode(t *testing.T) {
	bare := strings.ReplaceAll(node, "labels: {nvidia.com/gpu.product: A}", "labels: {}")
	want := "4: warning: Node/node-1: metadata.labels: nvidia.com/gpu has no card name: the label nvidia.com/gpu.product is missing or bad"
	with := func(name string) func([]*scheduling.Queue) (*engine.Configuration, error) {
		return func(queues []*scheduling.Queue) (*engine.Configuration, error) { return engine.Usual(name, queues) }
	}
	assert.Equal(t, []string{want}, checkWith(t, with(plugin.Name), bare, queue("q", "", "", open)))
	assert.Equal(t, []string{want}, checkWith(t, with(plugin.CapacityName), bare, queue("q", "", quota(`{}`), open)))
	assert.Empty(t, checkWith(t, with(plugin.CapacityName), bare, queue("q", "", "", open)))
}

// TestGuaranteesOfTraining has service classes, and queues with a guarantee of a card that defaults to the quota. For
// jobs of training, this default is most likely a mistake.
func TestGuaranteesOfTraining(t *testing.T) {
	const conf = `
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: capacity-card
    enableHierarchy: true
    arguments:
      reclaimByServiceType: true
      podOwnerReferenceToServiceType: {Job: training}
`
	const key = "3: %s: Queue/q: metadata.annotations[volcano.sh/card.quota]: volcano.sh/card.guarantee does not name %s, and defaults to the quota: inference takes none "
	ofClass := func(class string) string {
		return strings.Replace(job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 1", `{}`), "annotations: {", "annotations: {volcano.sh/service.type: "+class+", ", 1)
	}
	for name, test := range map[string]struct {
		queue, job, want string
	}{
		"no job":                       {queue("q", "", quota(`{"A":4,"B":0}`), open), "", fmt.Sprintf(key, "note", `"A"`) + "from the queue, if its jobs are of training"},
		"training by the owner":        {queue("q", "", quota(`{"A":4,"B":2}`), open), job("q", "A", "cpu: 1", `{}`), fmt.Sprintf(key, "warning", `"A", "B"`) + "from the jobs of training in the queue"},
		"one card is named":            {queue("q", "", quota(`{"A":4,"B":2}`)+", "+guarantee(`{"A":0}`), open), ofClass("training"), fmt.Sprintf(key, "warning", `"B"`) + "from the jobs of training in the queue"},
		"inference":                    {queue("q", "", quota(`{"A":4}`), open), ofClass("inference"), ""},
		"a guarantee":                  {queue("q", "", quota(`{"A":4}`)+", "+guarantee(`{"A":4}`), open), ofClass("training"), ""},
		"a queue that lends nothing":   {queue("q", "", quota(`{"A":4}`), open+", reclaimable: false"), ofClass("training"), ""},
		"training in a queue below it": {queue("q", "", quota(`{"A":4}`), "") + "\n---\n" + queue("r", "q", quota(`{"A":4}`)+", "+guarantee(`{"A":0}`), ""), strings.Replace(ofClass("training"), "queue: q", "queue: r", 1), fmt.Sprintf(key, "warning", `"A"`) + "from the jobs of training in the queue"},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := []string{test.queue}
			if test.job != "" {
				manifests = append(manifests, test.job)
			}
			issues := checkWith(t, func([]*scheduling.Queue) (*engine.Configuration, error) { return engine.Configure(conf) }, manifests...)
			if test.want == "" {
				require.Empty(t, issues)
				return
			}
			require.Equal(t, []string{test.want}, issues)
			require.Empty(t, check(t, manifests...), "without classes")
		})
	}
}

// TestDeviceQuotas warns of quotas of device classes that have no effect. With releases before
// v1.15 none has.
func TestDeviceQuotas(t *testing.T) {
	issues := check(t, queue("q", "", "", `capability: {cpu: 8, memory: 8Gi, deviceclass/gpu.example.com: 2}, guarantee: {resource: {deviceclass/gpu.example.com: 1}}`))
	require.NotEmpty(t, issues)
	last := issues[len(issues)-1]
	if release.KnowsDeviceClaims() {
		require.Len(t, issues, 1)
		assert.Contains(t, last, "warning: Queue/q: spec.guarantee.resource.deviceclass/gpu.example.com: has no effect: of devices, only the capability counts")
		return
	}
	require.Len(t, issues, 2)
	for _, field := range []string{"spec.capability", "spec.guarantee.resource"} {
		assert.Contains(t, strings.Join(issues, "\n"), "warning: Queue/q: "+field+".deviceclass/gpu.example.com: bounds no devices: Volcano "+release.Built().String()+" has no quotas of device classes")
	}
}

// TestUnnamedDevice has a device without the attribute that names its card, and a quota of the other one.
func TestUnnamedDevice(t *testing.T) {
	const slice = `apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.nvidia.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {productName: {string: B}}}
  - {name: gpu-1}
`
	got := checkWith(t, func(queues []*scheduling.Queue) (*engine.Configuration, error) {
		return engine.Usual(plugin.Name, queues)
	},
		node, slice, queue("q", "", quota(`{"A": 1, "B": 1}`), open))
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "warning: ResourceSlice/s: spec.devices: device gpu-1 has no card name: the attribute productName is missing or bad")
}

// TestJobsThatWindowsLetRun has a job above the quota of its queue, which windows raise, now or later: it can run. One
// that no window lets run cannot, and of one that too many windows would have to be tried for, that is not said. The
// message names the quota of now.
func TestJobsThatWindowsLetRun(t *testing.T) {
	never := func(quota int) string {
		return fmt.Sprintf("error: Job/j: it cannot run, even alone: Queue <q> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <%d> (OverQuota)", quota)
	}
	window := func(when, quota string) string { return "{" + when + `, "card.quota": {"A": ` + quota + "}}" }
	const weekly, later, over = `"days": "Mon,Thu", "from": "20:00", "until": "06:00"`, `"from": "2098-12-01T00:00Z", "until": "2098-12-08T00:00Z"`,
		`"from": "2020-12-01T00:00Z", "until": "2020-12-08T00:00Z"`
	noon, night := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 26, 22, 0, 0, 0, time.UTC)
	many := []string{}
	for i := range 50 {
		many = append(many, window(fmt.Sprintf(`"from": "%02d:%02d", "until": "%02d:%02d"`, i/3, i%3*20, i/3, i%3*20+1), "3"))
	}
	for name, test := range map[string]struct {
		now           time.Time
		windows, want string
	}{
		"none":                    {noon, "", never(2)},
		"too little":              {noon, window(weekly, "3"), never(2)},
		"too little, in it":       {night, window(weekly, "3"), never(3)},
		"each week":               {noon, window(weekly, "4"), ""},
		"each week, in it":        {night, window(weekly, "4"), ""},
		"once, in a long time":    {noon, window(weekly, "3") + "," + window(later, "4"), ""},
		"over":                    {noon, window(over, "4"), never(2)},
		"too much for one window": {noon, window(later, "9"), ""},
		"too many to try":         {noon, strings.Join(many, ","), "warning: Job/j: it cannot run, even alone, now and at the next 40 times at which windows change: "},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := quota(`{"A":2}`)
			if test.windows != "" {
				annotations += ", volcano.sh/override: '[" + test.windows + "]'"
			}
			configure := func(queues []*scheduling.Queue) (*engine.Configuration, error) {
				c, err := engine.Usual(plugin.Name, queues)
				c.At = test.now
				return c, err
			}
			issues := strings.Join(checkWith(t, configure, node, queue("q", "", annotations, open), job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 2", `{"A":4}`)), "\n")
			if test.want == "" {
				assert.NotContains(t, issues, "cannot run")
			} else {
				assert.Contains(t, issues, test.want)
			}
		})
	}
}

// TestUsedUpBudgets has a job that budgets of its queue refuse today. It runs later, so it is no error.
func TestUsedUpBudgets(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	midnight := noon.Truncate(24 * time.Hour)
	taken := map[string]evict.CountRecord{"q": {Seconds: 86400, Times: [][2]int64{{noon.UnixMilli(), 1}}}}
	for name, test := range map[string]struct {
		annotation string
		record     store.Record
		want       explain.Verdict
	}{
		"card-hours": {
			`volcano.sh/card.budget: '{"A": "40h/day"}'`,
			store.Record{Budgets: &budget.Record{
				Columns: []budget.ColumnRecord{{Card: "A", Window: "day", From: midnight}},
				Queues:  map[string]budget.QueueRecord{"q": {Used: [][]float64{{1e9}}}},
			}},
			explain.Verdict{Kind: explain.Until, Until: ptr.To(midnight.Add(24 * time.Hour))},
		},
		"evictions for the queue": {
			"volcano.sh/eviction-budget: take=1/1d",
			store.Record{Evictions: &evict.Record{Taken: taken}},
			explain.Verdict{Kind: explain.Now},
		},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := []string{
				node,
				queue("q", "", quota(`{"A":4}`)+", "+guarantee(`{"A":0}`)+", "+test.annotation, open),
				queue("lender", "", quota(`{"A":4}`)+", "+deserved(`{"A":0}`)+", "+guarantee(`{"A":0}`), open),
				strings.ReplaceAll(podOn("lent", "node-1"), "queue: q", "queue: lender"),
				job("q", "A", "cpu: 1, memory: 1Gi, nvidia.com/gpu: 2", `{"A":4}`),
			}
			configure := func(queues []*scheduling.Queue) (*engine.Configuration, error) {
				c, err := engine.Usual(plugin.Name, queues)
				c.At = noon
				c.Budgets = &store.Stored{Record: test.record, Saved: noon, Now: noon}
				return c, err
			}
			assert.NotContains(t, strings.Join(checkWith(t, configure, manifests...), "\n"), "cannot run")

			objects := read(t, filepath.Join(t.TempDir(), "f"), manifests)
			c, err := configure(objects.Queues)
			require.NoError(t, err)
			world, err := engine.Build(objects)
			require.NoError(t, err)
			findings, err := explain.Jobs(t.Context(), world, c, explain.Options{Ahead: true})
			require.NoError(t, err)
			require.Equal(t, "Job/j", findings[0].Owner)
			require.NotNil(t, findings[0].Verdict, findings[0])
			assert.Equal(t, test.want, *findings[0].Verdict)
		})
	}
}
