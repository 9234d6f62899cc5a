package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestLabelsGone removes the labels that name cards from all nodes, as when the feature discovery of the device plugin
// is removed. Untyped pods do not get the cards past the quota. A resource of cards stays one, and the resources of
// vendors are known after a restart as well.
func TestLabelsGone(t *testing.T) {
	const mig, ascend, own = "nvidia.com/mig-1g.5gb", "huawei.com/Ascend910", "example.com/gpu"
	for _, test := range []struct {
		resource, label string
		restart         bool // the scheduler knows the resource after a restart
	}{
		{testbed.GPU, "nvidia.com/gpu.product", true},
		{mig, "nvidia.com/gpu.product", true},
		{ascend, "node.kubernetes.io/npu.chip.name", true},
		{own, "example.com/gpu.product", false},
	} {
		for _, build := range []framework.PluginBuilder{session.New, session.NewCapacity} {
			for _, untyped := range []cards.UntypedCards{cards.UntypedCharge, cards.UntypedReject, cards.UntypedIgnore} {
				for _, after := range []string{"labels were seen", "a restart"} {
					t.Run(test.resource+"/"+build(nil).Name()+"/"+string(untyped)+"/after "+after, func(t *testing.T) {
						s := testbed.NewScene().MixedNode("n", map[string]string{test.label: "A"}, workload.Resources{test.resource: 8}).
							MixedNode("other", nil, workload.Resources{test.resource: 8}).
							Queue("q", "", "quota", `{"A":2,"A/mig-1g.5gb-mixed":2}`).
							Pods("job", "q", "", 8, 0, testbed.Members(0), testbed.Requesting(test.resource, 1)).
							Pods("beside", "q", "A", 8, 0, testbed.Members(0), testbed.Requesting(test.resource, 1), func(j *workload.Job) {
								for i := range j.Tasks {
									j.Tasks[i].Request["rdma/ib"] = 1
								}
							})
						s.Nodes[0].Allocatable["rdma/ib"], s.Nodes[1].Allocatable["rdma/ib"] = 8, 8
						s.Build, s.Arguments = build, framework.Arguments{arguments.UntypedCards: string(untyped)}
						run := testbed.NewSequence(t, s)
						if after == "labels were seen" {
							run.Open(t)
						}
						s.Nodes[0].Labels = nil
						f := run.Open(t).Schedule(t)
						switch {
						case untyped == cards.UntypedIgnore:
							assert.Equal(t, map[string]int{"": 8}, f.Placed("job"), "untyped pods do not count")
							return
						case after == "a restart" && !test.restart:
							return // nothing says that it is a card's
						}
						assert.Empty(t, f.Cache.Bound)
						want := "No queue has a quota of <" + test.resource + ">: the nodes that have it lack the label " + test.label + ", which names the card"
						if untyped == cards.UntypedReject {
							want = "Pod requests <" + test.resource + "> but names no card: set the annotation volcano.sh/card.name"
						}
						assert.Contains(t, f.Job("job").JobFitErrors, want)
						fit := f.FitsNode(f.Task("beside-0"), "n")
						assert.Equal(t, cards.MissingLabel, fit.Reason)
						assert.Equal(t, test.label, fit.Label)
					})
				}
			}
		}
	}
}

// TestResourceOfNoNode has a pod that requests a resource of cards that no node has. The pod is refused as on an
// unlabeled node. A pod with an unknown resource that is no card is allowed.
func TestResourceOfNoNode(t *testing.T) {
	s := testbed.NewScene().MixedNode("n", nil, workload.Resources{}).Queue("q", "", "quota", `{"A":2}`).
		Pods("job", "q", "", 1, 0, testbed.Requesting("amd.com/cpx_nps4", 1)).Pods("plain", "q", "", 1, 0, testbed.Requesting("rdma/ib", 1)).
		Pods("later", "q", "", 0, 0, func(j *workload.Job) { j.MinResources = workload.Resources{"google.com/tpu": 4} })
	f := s.Open(t)
	assert.False(t, f.Allocatable(f.Queue("q"), f.Task("job-0")))
	assert.Contains(t, f.Job("job").JobFitErrors, "No queue has a quota of <amd.com/cpx_nps4>: the nodes that have it lack the label amd.com/cpx_nps4.product")
	assert.True(t, f.Allocatable(f.Queue("q"), f.Task("plain-0")), "a device that is no card has no quota")
	assert.True(t, f.Own.Cards.MinimumHasCards(f.Job("later")))
}

// TestCardLabelsChange names the label of a resource while a scheduler runs. Nodes and pods are the same objects as
// before, and are read again. The node has cards now, and a resource that no node has is known as a card resource.
func TestCardLabelsChange(t *testing.T) {
	const own, other = "example.com/gpu", "example.com/npu"
	s := testbed.NewScene().MixedNode("n", map[string]string{"example.com/model": "B"}, workload.Resources{own: 8}).Queue("q", "", "quota", `{"B":3}`).
		Pods("cards", "q", "B", 8, 0, testbed.Members(0), testbed.Requesting(own, 1)).Pods("none", "q", "", 1, 0, testbed.Requesting(other, 1))
	s.Arguments = framework.Arguments{}
	run := testbed.NewSequence(t, s)
	run.Edit = sameObjects()
	f := run.Open(t)
	assert.True(t, f.Allocatable(f.Queue("q"), f.Task("none-0")), "a device that is no card has no quota")
	assert.Empty(t, f.Schedule(t).Placed("cards"))
	s.Arguments[arguments.CardLabels] = map[string]any{own: "example.com/model", other: "example.com/npu-model"}
	f = run.Open(t)
	assert.False(t, f.Allocatable(f.Queue("q"), f.Task("none-0")))
	assert.Contains(t, f.Job("none").JobFitErrors, "the nodes that have it lack the label example.com/npu-model")
	assert.Equal(t, map[string]int{"": 3}, f.Schedule(t).Placed("cards"))
}

// sameObjects keeps the objects of nodes and pods from one session to the next, as a cluster does where nothing
// changes.
func sameObjects() func(*api.ClusterInfo) {
	nodes, pods := map[string]*v1.Node{}, map[string]*v1.Pod{}
	return func(info *api.ClusterInfo) {
		for name, node := range info.Nodes {
			if nodes[name] == nil {
				nodes[name] = node.Node
			}
			node.Node = nodes[name]
		}
		for _, job := range info.Jobs {
			for _, task := range job.Tasks {
				if pods[task.Name] == nil {
					pods[task.Name] = task.Pod
				}
				task.Pod = pods[task.Name]
			}
		}
	}
}
