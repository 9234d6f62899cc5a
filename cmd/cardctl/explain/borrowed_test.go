package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// adviceFor explains one job of manifests.
func adviceFor(t *testing.T, name, conf string, manifests ...string) Finding {
	t.Helper()
	w, c := read(t, manifests, plugin.Name, conf)
	findings := jobs(t, w, c, Options{Ahead: true, Wanted: func(f *Finding) bool { return f.Matches(name) }})
	require.Len(t, findings, 1)
	return findings[0]
}

// TestBorrower has a full node of eight cards. borrower has seven and deserves four; owner deserves
// four and has one, and its Deployment was scaled to two.
func TestBorrower(t *testing.T) {
	lends := func(name, more string) string {
		return withAnnotation(queue(name, "", `{"NVIDIA-H200": 8}`, more),
			`volcano.sh/card.deserved: '{"NVIDIA-H200": 4}', volcano.sh/card.guarantee: '{"NVIDIA-H200": 0}'`)
	}
	reclaims := func(arguments ...string) string {
		return strings.Replace(unlimited(false, arguments...), "enqueue, allocate", "enqueue, allocate, reclaim", 1)
	}
	starves := reclaims("reclaimBeyondMinimum: true")
	const parts = "queue owner has 1 NVIDIA-H200 and deserves 4\nqueue borrower has 7 NVIDIA-H200 and deserves 4\n"
	for name, test := range map[string]struct {
		conf, borrower, owner string
		edit                  [2]string // of the Deployment's pods
		want                  string
	}{
		"it has its minimum": {conf: reclaims(), want: parts +
			"nothing is evicted for it: reclaim skips jobs that have their minimum, and it has 1 of 1 pods; " +
			"set the argument reclaimBeyondMinimum of the plugin capacity-card, and enableJobStarving: false of the plugin gang"},
		"gang decides who starves": {conf: starves, want: parts +
			"nothing is evicted for it: reclaim skips jobs that have their minimum, and it has 1 of 1 pods; set enableJobStarving: false of the plugin gang"},
		"it names no card": {conf: reclaims(), edit: [2]string{`volcano.sh/card.name: "NVIDIA-H200", `, ""}, want: parts +
			"nothing is evicted for it: reclaim skips jobs that have their minimum"},
		"its queue waits before it takes": {conf: starves, owner: `volcano.sh/reclaim-delay: 1h, `,
			edit: [2]string{`name: web-one,`, `name: web-one, creationTimestamp: "2200-01-01T00:00:00Z",`},
			want: parts + "nothing is evicted for it: reclaim skips jobs that have their minimum"},
		"it starves": {conf: strings.Replace(starves, "name: gang", "name: gang\n    enableJobStarving: false", 1),
			want: parts + "the next cycles evict pods of default/PodGroup/runs in queue borrower for it: runs-6"},
		"no reclaim": {conf: unlimited(false), want: parts + "nothing is evicted for it: the scheduler's configuration has no action reclaim"},
		"all pods are spared": {conf: strings.Replace(starves, "name: gang", "name: gang\n    enableJobStarving: false", 1), borrower: "reclaimable: false",
			want: parts + "nothing is evicted for it: 0 of the 1 pods it needs would have room; it lacks 1 NVIDIA-H200\n" +
				"7 pods of default/PodGroup/runs are spared: their queue has reclaimable: false"},
	} {
		t.Run(name, func(t *testing.T) {
			web := group("web", "owner", "Running", pods{n: 2, minimum: 1, limits: gpu, card: h200, node: "a"})
			web = strings.Replace(web, `metadata: {name: web-1,`, `metadata: {name: web-one,`, 1)
			at := strings.Index(web, "name: web-one")
			web = web[:at] + strings.Replace(strings.Replace(web[at:], `nodeName: "a"`, `nodeName: ""`, 1), "phase: Running", "phase: Pending", 1)
			if test.edit[0] != "" {
				web = strings.ReplaceAll(web, test.edit[0], test.edit[1])
			}
			owner := strings.Replace(lends("owner", ""), "volcano.sh/card.deserved", test.owner+"volcano.sh/card.deserved", 1)
			f := adviceFor(t, "web", test.conf, node("a", h200, 8), lends("borrower", test.borrower), owner,
				group("runs", "borrower", "Running", pods{n: 7, minimum: 1, limits: gpu, card: h200, node: "a"}), web)
			assert.Equal(t, NodesFull, f.Rule, f.Message)
			assert.True(t, strings.HasPrefix(strings.Join(f.Advice, "\n"), test.want), "%q", f.Advice)
		})
	}
}

// TestBorrowerBelowAFullQueue has cards left on the nodes, and none in the queue above. A queue that
// is not below it borrows too, and cannot help.
func TestBorrowerBelowAFullQueue(t *testing.T) {
	lends := func(name, parent string) string {
		return withAnnotation(queue(name, parent, `{"NVIDIA-H200": 8}`, ""),
			`volcano.sh/card.deserved: '{"NVIDIA-H200": 2}', volcano.sh/card.guarantee: '{"NVIDIA-H200": 0}'`)
	}
	f := adviceFor(t, "web", unlimited(true), node("a", h200, 16), queue("top", "", `{"NVIDIA-H200": 4}`, ""),
		lends("borrower", "top"), lends("owner", "top"), lends("elsewhere", ""),
		group("runs", "borrower", "Running", pods{n: 4, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("far", "elsewhere", "Running", pods{n: 4, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("web", "owner", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h200}))
	assert.Equal(t, report.OverQuota, f.Rule, f.Message)
	assert.Equal(t, []Part{{"owner", h200, 0, 2}}, f.Lacks)
	assert.Equal(t, []Part{{"borrower", h200, 4, 2}}, f.Borrowers)
}

// TestAdviceNamesEveryBound has gangs that several bounds stop, one behind the other.
func TestAdviceNamesEveryBound(t *testing.T) {
	tree := []string{node("a", h200, 8), node("b", h200, 8), queue("top", "", `{"NVIDIA-H200": 5}`, ""), queue("q", "top", `{"NVIDIA-H200": 4}`, "")}
	both := []string{
		`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 7, or request less`,
		`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H200" of queue top to 7, or request less`,
	}
	f := adviceFor(t, "gang", unlimited(true), append(tree[:4:4], group("gang", "q", "Inqueue", pods{n: 7, minimum: 7, limits: gpu, card: h200}))...)
	assert.Equal(t, Allocate, f.Stage, f.Message)
	assert.Equal(t, both, f.Advice, "not only the bound of the fifth pod")

	f = adviceFor(t, "gang", unlimited(true), append(tree[:4:4], job("gang", "q", pods{n: 7, minimum: 7, limits: gpu, card: h200, request: `{"NVIDIA-H200": 7}`}))...)
	assert.Equal(t, Enqueue, f.Stage, f.Message)
	assert.Equal(t, both, f.Advice)

	f = adviceFor(t, "gang", unlimited(true), append(tree[:4:4], group("runs", "q", "Running", pods{n: 2, minimum: 2, limits: gpu, card: h200, node: "a"}),
		group("gang", "q", "Inqueue", pods{n: 3, minimum: 3, limits: gpu, card: h200}))...)
	assert.Equal(t, []string{`raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 5, or free 1 in it`}, f.Advice, "top has room for all three")

	roles := strings.Replace(group("gang", "q", "Inqueue", pods{n: 4, minimum: 4, limits: gpu, card: h200}), h200, h800, 2)
	f = adviceFor(t, "gang", unlimited(false), node("a", h200, 8), node("b", h800, 8), queue("q", "", `{"NVIDIA-H200": 1, "NVIDIA-H800": 1}`, ""), roles)
	assert.Equal(t, []string{
		`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H800" of queue q to 2, or request less`,
		`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 2, or request less`,
	}, f.Advice, "not only the bound of the role that comes first")
}

// TestAdviceOnLargePods has pods that are larger than every node.
func TestAdviceOnLargePods(t *testing.T) {
	f := adviceFor(t, "job", unlimited(false), node("a", h200, 8), node("b", h200, 4), node("c", h800, 16), queue("q", "", `{"NVIDIA-H200": 40}`, ""),
		deployment("job", "q", pods{n: 1, limits: "cpu: 1, nvidia.com/gpu: 16", card: h200}))
	assert.Equal(t, NodesTooSmall, f.Rule, f.Message)
	assert.Contains(t, f.Message, "1 × too small: it has 8 nvidia.com/gpu, and the pod requests 16")
	assert.Equal(t, []string{"no node is that large: request less for each pod, and run more pods"}, f.Advice)

	f = adviceFor(t, "job", unlimited(false), node("a", h200, 8), queue("q", "", `{"NVIDIA-H200": 8}`, ""),
		group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: "cpu: 1, nvidia.com/gpu: 16", card: h200}))
	assert.Equal(t, report.OverQuota, f.Rule, f.Message)
	assert.Equal(t, []string{"no node is that large: request less for each pod, and run more pods",
		`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 16, or request less`}, f.Advice, "both at once")

	f = adviceFor(t, "job", unlimited(false), node("a", h200, 8), node("b", h200, 8), queue("q", "", "", ""), deployment("job", "q", pods{n: 1, limits: "cpu: 1, memory: 512Gi"}))
	assert.Contains(t, f.Message, "too small: it has 256Gi memory, and the pod requests 512Gi")
}

// TestAdviceFitsTheTree has a queue without a place in the tree that the annotations of the queues describe.
func TestAdviceFitsTheTree(t *testing.T) {
	broken := []string{node("a", h200, 8), withAnnotation(queue("q", "", `{"NVIDIA-H200": 4}`, ""), "volcano.sh/hierarchy: root/eng//prod, volcano.sh/hierarchy-weights: 1/1/1/1"),
		deployment("job", "q", pods{n: 1, limits: gpu, card: h200})}
	f := adviceFor(t, "job", unlimited(true, "hierarchyFrom: annotation"), broken...)
	assert.Equal(t, report.BrokenQueue, f.Rule, f.Message)
	assert.Equal(t, []string{"correct the annotations volcano.sh/hierarchy and volcano.sh/hierarchy-weights of the queue that is named"}, f.Advice)
	f = adviceFor(t, "job", unlimited(true), broken...)
	assert.NotEqual(t, report.BrokenQueue, f.Rule, "its parent is the root")
}

// TestBrokenQueue has a queue with an empty name in its path. The queue has six of eight cards. They count in no queue
// above it, and reclaim does not take them. Its sibling may have all eight, and waits.
func TestBrokenQueue(t *testing.T) {
	placed := func(name, path string) string {
		return withAnnotation(queue(name, "", `{"NVIDIA-H200": 8}`, ""), "volcano.sh/hierarchy: "+path)
	}
	conf := strings.Replace(unlimited(true, "hierarchyFrom: annotation", "reclaimBeyondMinimum: true"), "enqueue, allocate", "enqueue, allocate, reclaim", 1)
	manifests := []string{node("a", h200, 8), placed("eng", "root/eng"), placed("prod", "root/eng//prod"), placed("dev", "root/eng/dev"),
		group("runs", "prod", "Running", pods{n: 6, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("waits", "dev", "Inqueue", pods{n: 3, minimum: 3, limits: gpu, card: h200})}
	f := adviceFor(t, "waits", conf, manifests...)
	assert.Equal(t, NodesFull, f.Rule, f.Message)
	assert.Equal(t, []string{"queue dev has 0 NVIDIA-H200 and deserves 8", "queue prod has 6 NVIDIA-H200 and deserves 8",
		"6 pods of default/PodGroup/runs are spared: their queue does not reach the root; cardctl validate says what is wrong with its place"}, append(f.Advice[:2:2], f.Advice[3]))

	w, c := read(t, manifests, plugin.Name, conf)
	s, err := engine.Open(t.Context(), w, c)
	require.NoError(t, err)
	x, has := newExplainer(s, w), map[string]float64{}
	for _, queue := range []string{"root", "eng", "prod", "dev"} {
		h, _ := x.holding(queue, h200)
		has[queue] = h.Allocated
	}
	most, _ := x.holding("dev", h200)
	s.Close()
	assert.Equal(t, map[string]float64{"root": 0, "eng": 0, "prod": 6, "dev": 0}, has)
	assert.InDelta(t, 8, most.Capability, 0)

	findings := jobs(t, w, c, Options{Wanted: func(f *Finding) bool { return f.Name == "runs" }, Ahead: true})
	require.Len(t, findings, 1)
	assert.Equal(t, "no job can reclaim it: queue prod does not reach the root", findings[0].Safety)
	assert.Empty(t, findings[0].Reclaimers)
}

// TestAdviceNamesUnlabeledNodes has a full node and a node without any label.
func TestAdviceNamesUnlabeledNodes(t *testing.T) {
	f := adviceFor(t, "job", unlimited(false), node("a", h200, 1), node("bare", "", 8), queue("q", "", `{"NVIDIA-H200": 8}`, ""),
		group("runs", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200, node: "a"}), deployment("job", "q", pods{n: 1, limits: gpu, card: h200}))
	assert.Equal(t, NodesFull, f.Rule, f.Message)
	assert.Contains(t, f.Message, "1 × node(s) have <nvidia.com/gpu> but lack the label nvidia.com/gpu.product")
	assert.Contains(t, f.Advice, "nodes with cards without a name, which may be such nodes: 1; cardctl cards names the label that they lack")
}

// TestAdviceNamesGuarantees has all cards that are left guaranteed to queues without pods.
func TestAdviceNamesGuarantees(t *testing.T) {
	guaranteed := func(name, parent, n string) string {
		return withAnnotation(queue(name, parent, `{"NVIDIA-H200": 8}`, ""), `volcano.sh/card.guarantee: '{"NVIDIA-H200": `+n+`}'`)
	}
	for _, tree := range []bool{false, true} {
		f := adviceFor(t, "job", unlimited(tree), node("a", h200, 8), guaranteed("q", "", "0"), guaranteed("kept", "", "5"), guaranteed("used", "", "1"),
			group("runs", "q", "Running", pods{n: 2, minimum: 2, limits: gpu, card: h200, node: "a"}),
			group("own", "used", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200, node: "a"}),
			group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h200}))
		assert.Contains(t, []report.Rule{report.Guaranteed, report.OverQuota}, f.Rule, f.Message)
		assert.Equal(t, []Unused{{"kept", h200, 0, 5}}, f.Unused, "%s %q", f.Message, f.Advice)
		assert.Contains(t, f.Advice, "queue kept is guaranteed 5 NVIDIA-H200 and has 0")
	}
}

// TestAdviceOnUntypedPods has a pod that names no card, in a queue with quotas of slices.
func TestAdviceOnUntypedPods(t *testing.T) {
	f := adviceFor(t, "job", unlimited(false), node("a", h200, 8), node("b", h800, 8), queue("q", "", `{"NVIDIA-H200/mig-1g.18gb-mixed": 4}`, ""),
		group("job", "q", "Inqueue", pods{n: 1, minimum: 1, limits: gpu}))
	assert.Equal(t, report.OverQuota, f.Rule, f.Message)
	assert.Equal(t, []string{"name a card: set the annotation volcano.sh/card.name of its pods; queue q has a quota of NVIDIA-H200/mig-1g.18gb-mixed"}, f.Advice)
}
