package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/quota"
)

// TestChargeFollowsTheNode is the example of the package: a pod that lists two
// cards is charged to the card of the node that it lands on.
func TestChargeFollowsTheNode(t *testing.T) {
	const h200, h800 = "NVIDIA-H200", "NVIDIA-H800"
	f := newFixture().node("one", h200, 8).node("other", h800, 8).queue("q", "", `{"NVIDIA-H200":4,"NVIDIA-H800":4}`).open(t)
	_, p := f.read("q", pod(h200+"|"+h800, gpus(2)))
	for node, charged := range map[string]string{"one": h200, "other": h800, "unknown": h200} {
		x := fastres.NewVector(f.names.Len())
		f.AddTo(x, p, node)
		want := fastres.NewVector(f.names.Len())
		want.Set(f.dim(t, charged), 2000)
		assert.Equal(t, want, x, "node %s", node)
	}
}

// TestFitNode tries a pod of two cards of A|B on each kind of node. team has a quota of 3 cards of A and 4 of B. Its
// leaf q uses 1 card of A and 3 of B.
func TestFitNode(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).node("c", "C", 8).queue("root", "", `{}`).
		queue("team", "root", `{"A":3,"B":4}`).queue("q", "team", `{"A":9,"B":9}`)
	f.Nodes = append(f.Nodes, workload.Node{Name: "unlabeled", Allocatable: workload.Resources{"nvidia.com/gpu.shared": 8}})
	f.open(t)
	f.allocate(t, "q", "A", 1000)
	f.allocate(t, "q", "B", 3000)
	team := f.ix.Lookup("team")
	for _, test := range []struct {
		name    string
		list    string
		request workload.Resources
		node    string
		want    NodeReason
		verdict quota.Verdict
		cards   string // of the refused request
	}{
		{"the card has quota left", "A|B", gpus(2), "a", NodeFits, quota.Verdict{}, ""},
		{"another card of the list has quota left", "A|B", gpus(2), "b", OtherCard, quota.Verdict{Reason: quota.OverQuota, Queue: team}, "B"},
		{"no card of the list has quota left", "A|B", gpus(3), "a", OverQuota, quota.Verdict{Reason: quota.OverQuota, Queue: team}, "A"},
		{"the node has another card", "A|B", gpus(1), "c", NoSuchCard, quota.Verdict{}, "A|B"},
		{"the node has another resource", "A|B", gpus(1), "unlabeled", NoSuchCard, quota.Verdict{}, "A|B"},
		{"the node is unknown", "A|B", gpus(1), "gone", NoSuchCard, quota.Verdict{}, "A|B"},
		{"an untyped pod fits on any card with quota", "", gpus(1), "b", NodeFits, quota.Verdict{}, ""},
		{"an unlabeled node", "", workload.Resources{"nvidia.com/gpu.shared": 1}, "unlabeled", MissingLabel, quota.Verdict{}, "nvidia.com/gpu.shared"},
		{"a pod without cards", "", workload.Resources{"cpu": 1000}, "gone", NodeFits, quota.Verdict{}, ""},
		{"a card list of two resources", "A|A/mig-1g.18gb-mixed", gpus(1), "a", PodRefused,
			quota.Verdict{Reason: quota.MixedResources, Queue: f.ix.Lookup("q")}, "A|A/mig-1g.18gb-mixed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, p := f.read("q", pod(test.list, test.request))
			fit := f.FitNode(q, p, test.node, func(d fastres.Dim, milli float64) quota.Verdict {
				return quota.CardFits(f.ix, &f.ix.Capability, q, d, milli)
			})
			assert.Equal(t, test.want, fit.Reason)
			assert.Equal(t, test.verdict, fit.Verdict)
			cards := ""
			if fit.Request.Selector != nil && fit.Request.Selector.Typed {
				cards = f.Describe(fit.Request)
			} else if fit.Request.Selector != nil {
				cards = f.ResourceName(fit.Request.Resource)
			}
			assert.Equal(t, test.cards, cards)
			assert.Equal(t, test.want == MissingLabel, fit.Label != "")
		})
	}
}

// TestPreferenceHalves scores nodes by the position of their card in the list.
func TestPreferenceHalves(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).node("c", "C", 8).node("d", "D", 8).queue("q", "", `{}`)
	for _, weight := range []float64{1, 2.5} {
		f.settings.NodeOrderWeight = weight
		f.open(t)
		_, p := f.read("q", pod("B|Z|A|C", gpus(1)))
		none := func(fastres.Dim, float64) bool { return false }
		for node, want := range map[string]float64{"b": 100, "a": 25, "c": 12.5, "d": 0, "unknown": 0} {
			assert.Equal(t, want*weight, f.Preference(p, node, nil, none), "node %s, weight %v", node, weight)
		}
		_, untyped := f.read("q", pod("", gpus(1)))
		assert.Zero(t, f.Preference(untyped, "a", nil, none), "an untyped pod prefers no card")
		onlyB := func(d fastres.Dim, _ float64) bool { return d == f.dim(t, "B") }
		assert.Equal(t, 6.25*weight, f.Preference(p, "b", nil, onlyB), "B is promised: it comes after the four of the list")
		assert.Equal(t, 25*weight, f.Preference(p, "a", nil, onlyB))
	}
}

// TestFrees evicts pods for a pod of queue q that requests A.
func TestFrees(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).queue("q", "", `{"A":2,"B":2}`).queue("lender", "", `{"A":2,"B":2}`)
	f.Nodes[0].Labels["example.com/gpu.product"], f.Nodes[0].Allocatable["example.com/gpu"] = "E", 8
	f.open(t)
	q, claim := f.read("q", pod("A", gpus(1)))
	_, victim := f.read("lender", pod("", gpus(1)))
	_, plain := f.read("lender", pod("", workload.Resources{"cpu": 1000}))
	_, another := f.read("lender", pod("", workload.Resources{"example.com/gpu": 1}))
	for node, want := range map[string]bool{"a": true, "b": false} {
		assert.Equal(t, want, f.Usable(q, claim, f.Node(node)), node)
	}
	for p, want := range map[*PodRequest]bool{victim: true, plain: false, another: true} {
		assert.Equal(t, want, f.Occupies(p))
	}
	for _, lacking := range []bool{true, false} {
		lacks := func(_ Request, d fastres.Dim) bool {
			assert.Equal(t, f.dim(t, "A"), d)
			return lacking
		}
		assert.Equal(t, lacking, f.Frees(claim, victim, f.Node("a"), lacks))
		assert.False(t, f.Frees(claim, plain, f.Node("a"), lacks), "the victim has no card")
		assert.False(t, f.Frees(claim, another, f.Node("a"), lacks), "the victim has another card of the node")
	}
}
