package whatif

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// explained explains the jobs of a file at half past nine.
func explained(t *testing.T, file string) map[string]explain.Finding {
	t.Helper()
	objects, err := input.ReadFiles([]string{filepath.Join("testdata", "remedies", file+".yaml")}, false, nil, nil)
	require.NoError(t, err)
	require.Empty(t, objects.Problems)
	configuration, err := engine.Configure(objects.ConfigMaps[0].Data["volcano-scheduler.conf"])
	require.NoError(t, err)
	configuration.At = time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	world, err := engine.Build(objects)
	require.NoError(t, err)

	findings, err := Explain(t.Context(), world, configuration, explain.Options{})
	require.NoError(t, err)
	all := map[string]explain.Finding{}
	for _, f := range findings {
		all[f.Name] = f
	}
	return all
}

// TestExplain has jobs that wait for a card. The explanation has the verdict, the pods that the next cycles evict, the
// reasons that spare the others, and the smallest change that helps. The explanation of the job with the cards agrees.
func TestExplain(t *testing.T) {
	const parts = "queue own has 0 NVIDIA-L40S and deserves 4"
	const borrows = "queue borrower has 8 NVIDIA-L40S and deserves 4"
	for file, test := range map[string]struct {
		verdict, rule string
		advice        []string
		holder        []string // the finding on the job with the cards
	}{
		"full-gang": {verdict: "now", rule: "NodesFull", advice: []string{
			parts, borrows,
			"nothing is evicted for it: 0 of the 2 pods it needs would have room; it lacks 2 NVIDIA-L40S",
			"8 pods of default/Job/whole are spared: their job needs them",
			"tried: with the argument reclaimGangs: whole, it starts, and pods are evicted for it: 8",
		}, holder: []string{
			"the next cycles evict none of its pods; queue borrower has more than it deserves: 4 NVIDIA-L40S (8 of 4 deserved)",
			"default/Job/owner in queue own lacks such cards, and its pods are spared: their job needs them",
		}},
		"small-budget": {verdict: "now", rule: "NodesFull", advice: []string{
			parts, borrows,
			"nothing is evicted for it: 2 of the 3 pods it needs would have room; it lacks 1 NVIDIA-L40S",
			"6 pods of default/Job/elastic are spared: volcano.sh/eviction-budget (lose) of queue borrower",
			"tried: with volcano.sh/eviction-budget: lose=3/1h of queue borrower, it starts, and pods are evicted for it: 3",
		}, holder: []string{
			"the next cycles evict none of its pods; queue borrower has more than it deserves: 4 NVIDIA-L40S (8 of 4 deserved)",
			"default/Job/owner in queue own lacks such cards, and its pods are spared: " +
				"volcano.sh/eviction-budget (lose) of queue borrower",
		}},
		"soft-quota": {verdict: "now", rule: "NodesFull", advice: []string{
			"queue own has 0 NVIDIA-L40S and deserves 2", "queue borrower has 8 NVIDIA-L40S and deserves 2",
			"nothing is evicted for it: 0 of the 1 pods it needs would have room; it lacks 6 NVIDIA-L40S",
			"2 pods of default/Job/elastic are spared: by the rules of lending, their queue keeps them",
			"the quota has room but the nodes have none: wait for pods to end, or add nodes with such cards",
		}, holder: []string{
			"the next cycles evict none of its pods; " +
				"queue borrower has more than it deserves: 6 NVIDIA-L40S (8 of 2 deserved)",
			"default/Job/owner in queue own lacks such cards, and its pods are spared: " +
				"by the rules of lending, their queue keeps them",
		}},
		"over-deserved": {verdict: "now", rule: "NodesFull", advice: []string{
			parts, borrows,
			"nothing is evicted for it: Queue <own> has insufficient <NVIDIA-L40S> quota: requested <6>, total would be <6>, but deserved is <4>",
			"tried: with volcano.sh/card.deserved of 6 NVIDIA-L40S in queue own, it starts, and pods are evicted for it: 8",
		}, holder: []string{
			"the next cycles evict none of its pods; queue borrower has more than it deserves: 4 NVIDIA-L40S (8 of 4 deserved)",
		}},
		"window": {verdict: "until 2026-12-01 10:00:00 +0000 UTC", rule: "OverQuota at own", advice: []string{
			"it cannot run in own before 2026-12-01T10:00Z: wait until then",
			`a window of queue own sets card.quota to {"NVIDIA-L40S": 0} until 2026-12-01T10:00Z (daily 09:00 to 10:00 UTC)`,
		}},
		"few-nodes": {verdict: "never", rule: "NodesFull", advice: []string{
			"nothing is evicted for it: 8 of the 20 pods it needs would have room; it lacks 12 NVIDIA-L40S",
			"the nodes have room for 8 of the 20 pods that it needs, even if it is alone: " +
				"add nodes with such cards, or request less",
			"tried: with 2 more nodes that have such cards, it starts",
		}},
		"parent": {verdict: "never", rule: "OverQuota at department", advice: []string{
			`it can never run in own as it is: raise volcano.sh/card.quota of "NVIDIA-L40S" of queue department to 3, ` +
				`or request less`,
			"tried: with a quota of 3 NVIDIA-L40S in queue department, it starts",
		}},
		"either": {verdict: "never", rule: "OverQuota at own", advice: []string{
			`it can never run in own as it is: raise volcano.sh/card.quota of "NVIDIA-L40S" of queue own to 1, or request less`,
			`it can never run in own as it is: raise volcano.sh/card.quota of "NVIDIA-A100" of queue own to 1, or request less`,
			"tried: with a quota of 1 NVIDIA-L40S in queue own, it starts",
		}},
	} {
		t.Run(file, func(t *testing.T) {
			all := explained(t, file)
			f := all["owner"]
			require.NotNil(t, f.Verdict)
			verdict := string(f.Verdict.Kind)
			if f.Verdict.Until != nil {
				verdict += " " + f.Verdict.Until.String()
			}
			assert.Equal(t, test.verdict, verdict)

			rule := string(f.Rule)
			if f.Level != "" {
				rule = fmt.Sprint(f.Rule, " at ", f.Level)
			}
			assert.Equal(t, test.rule, rule)
			assert.Equal(t, test.advice, f.Advice)

			for name, holder := range all {
				if name != "owner" {
					assert.Equal(t, test.holder[0], holder.Safety)
					require.Len(t, holder.Wanted, len(test.holder)-1)
					for i, wanted := range holder.Wanted {
						assert.Equal(t, test.holder[i+1], wanted.String())
					}
				}
			}
		})
	}
}

// TestNodesWithoutLabels adds nodes like one that has no label and registers its cards.
func TestNodesWithoutLabels(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{
		"volcano.sh/node-vgpu-register": "g0,10,8000,NVIDIA-A,true,hami-core:",
	}}}
	w := &engine.World{Nodes: []*v1.Node{node}}
	f := &explain.Finding{Cards: card.List{"A"}, Pods: explain.Pods{Minimum: 3}, Verdict: &explain.Verdict{Fit: 1}}
	all := nodes(w, f)
	require.Len(t, all, 1)
	require.NoError(t, all[0].apply(w, nil))
	require.Len(t, w.Nodes, 3)
	assert.Equal(t, "a-more-1", w.Nodes[2].Labels[v1.LabelHostname])
}

// TestManyNodes adds no nodes if the pods that wait, times all nodes, are too many for the next cycles.
func TestManyNodes(t *testing.T) {
	w := &engine.World{}
	for range 50 {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"nvidia.com/gpu.product": "A"}}}
		node.Status.Allocatable = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
		w.Nodes = append(w.Nodes, node)
	}
	for minimum, want := range map[int]int{2000: 0, 40: 1, math.MaxInt32: 0} {
		f := &explain.Finding{Cards: card.List{"A"}, Pods: explain.Pods{Minimum: minimum}, Verdict: &explain.Verdict{Fit: 1}}
		assert.Len(t, nodes(w, f), want, "%d pods", minimum)
	}
}

// TestRaise sets the field that bounds a resource: an extended resource in the spec of the queue is no card.
func TestRaise(t *testing.T) {
	spec := v1beta1.QueueSpec{
		Capability: v1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")},
		Deserved:   v1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
	}
	o := &input.Objects{Queues: []*v1beta1.Queue{{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: spec}}}
	for _, test := range []struct{ resource, against, want string }{
		{"nvidia.com/gpu", "capability", "queue/q:capability.nvidia.com/gpu=6"},
		{"nvidia.com/gpu", "deserved", "queue/q:deserved.nvidia.com/gpu=6"},
		{"cpu", "capability", "queue/q:capability.cpu=5.5"},
		{"H200", "capability", "queue/q:cards.H200=6"},
		{"H200", "deserved", "queue/q:deservedCards.H200=6"},
		{"H200", "soft-quota", ""},
	} {
		setting, ok := Raise(o, report.Shortage{Queue: "q", Resource: test.resource, Against: test.against, Total: 5.5})
		assert.Equal(t, test.want, setting)
		assert.Equal(t, test.want != "", ok)
	}

	_, ok := Raise(o, report.Shortage{Queue: "root", Resource: "H200", Against: "capability"})
	assert.False(t, ok, "no queue of the input")
}
