package cards

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota"
)

// vgpu is Volcano's way to share cards, and hami is HAMi's way.
var vgpu, hami = card.Sharings[0], card.Sharings[1]

// shared adds a node with cards of some models, each with a memory.
func (f *fixture) shared(name string, memory ...string) *fixture {
	f.Nodes = append(f.Nodes, workload.Node{Name: name, Allocatable: workload.Resources{string(vgpu.Number): 20},
		Annotations: map[string]string{vgpu.Register: registration(name, memory...)}})
	return f
}

// registration registers cards, each written as its model and its memory.
func registration(node string, cards ...string) (text string) {
	for i := 0; i < len(cards); i += 2 {
		text += fmt.Sprintf("%s-%d,10,%s,NVIDIA-%s,true,hami-core:", node, i/2, cards[i+1], cards[i])
	}
	return text
}

// part is a pod that requests memory of a shared card.
func part(list string, memory int64) *v1.Pod {
	return pod(list, workload.Resources{string(vgpu.Number): 1, string(vgpu.Memory): memory})
}

// on returns the amount that a pod is charged for on a node, by card.
func (f *fixture) on(p *PodRequest, node string) map[string]card.Milli {
	charged := map[string]card.Milli{}
	for r := range f.Requests(p) {
		for d, amount := range maps.All(maps.Collect(r.On(f.Node(node)))) {
			charged[f.names.Name(d)] += amount
		}
	}
	return charged
}

// most returns the largest amount that a pod can take, of any card and of one card.
func (f *fixture) most(t *testing.T, p *PodRequest, name string) (any, named card.Milli) {
	t.Helper()
	for r := range f.Requests(p) {
		any, named = r.Amount, r.Of(f.dim(t, name))
	}
	return any, named
}

// TestFractionsBeforeTheNodeIsKnown takes the least memory that a card of the model has anywhere.
func TestFractionsBeforeTheNodeIsKnown(t *testing.T) {
	f := newFixture().shared("a", "A", "8000").shared("a2", "A", "4000").shared("b", "B", "2000").queue("q", "", `{"A":8,"B":8}`).open(t)
	assert.Equal(t, map[string]float64{"A": 2, "B": 1}, f.stock())

	_, p := f.read("q", part("A", 1000))
	any, of := f.most(t, p, "A")
	assert.Equal(t, card.Milli(250), any)
	assert.Equal(t, card.Milli(250), of)
	_, p = f.read("q", part("A|B", 1000))
	any, of = f.most(t, p, "A")
	assert.Equal(t, card.Milli(500), any, "of B")
	assert.Equal(t, card.Milli(250), of)
	assert.Equal(t, map[string]card.Milli{"A": 125}, f.on(p, "a"))
	assert.Equal(t, map[string]card.Milli{"A": 250}, f.on(p, "a2"))
	assert.Equal(t, map[string]card.Milli{"B": 500}, f.on(p, "b"))
	assert.Equal(t, map[string]card.Milli{"A": 250}, f.on(p, "gone"), "the first card of the list")
	_, p = f.read("q", part("", 1000))
	any, _ = f.most(t, p, "A")
	assert.Equal(t, card.Milli(500), any, "an untyped pod can get each")
	_, p = f.read("q", part("C", 1000))
	any, _ = f.most(t, p, "A")
	assert.Equal(t, card.Milli(1000), any, "no node has a C")
}

// TestPodsShareWhatTheyRequest reads equal pods once, except for pods that have devices.
func TestPodsShareWhatTheyRequest(t *testing.T) {
	f := newFixture().shared("a", "A", "8000").queue("q", "", `{"A":8}`).open(t)
	_, x := f.read("q", part("A", 1000))
	_, y := f.read("q", part("A", 1000))
	assert.Same(t, x, y)
	_, y = f.read("q", part("A", 2000))
	assert.NotSame(t, x, y)
	placed := part("A", 1000)
	placed.Spec.NodeName = "a"
	placed.Annotations[vgpu.Assigned] = "a-0,NVIDIA,1000,0:"
	_, y = f.read("q", placed)
	assert.NotSame(t, x, y)
	assert.Equal(t, map[string]card.Milli{"A": 125}, f.on(y, "a"))
}

// TestNodesOfSeveralModels admits a pod that may have each, and charges both until it has its devices.
func TestNodesOfSeveralModels(t *testing.T) {
	f := newFixture().shared("n", "A", "8000", "B", "4000").queue("q", "", `{"A":1,"B":1}`).open(t)
	rule := func(d fastres.Dim, milli float64) quota.Verdict {
		if milli > f.ix.Capability.At(f.ix.Lookup("q"), d) {
			return quota.Verdict{Reason: quota.OverQuota}
		}
		return quota.Verdict{Reason: quota.Admitted}
	}
	q, p := f.read("q", part("A", 2000))
	assert.Equal(t, NoSuchCard, f.FitNode(q, p, "n", rule).Reason)
	q, p = f.read("q", part("A|B", 2000))
	assert.Equal(t, NodeFits, f.FitNode(q, p, "n", rule).Reason)
	assert.True(t, f.Usable(q, p, f.Node("n")))
	assert.Equal(t, map[string]card.Milli{"A": 250, "B": 500}, f.on(p, "n"))
	placed := part("A|B", 2000)
	placed.Spec.NodeName = "n"
	placed.Annotations[vgpu.Assigned] = "n-1,NVIDIA,2000,0:"
	_, p = f.read("q", placed)
	assert.Equal(t, map[string]card.Milli{"B": 500}, f.on(p, "n"))
	q, p = f.read("q", pod("A|B", workload.Resources{string(vgpu.Number): 2}))
	fit := f.FitNode(q, p, "n", rule)
	assert.Equal(t, OverQuota, fit.Reason)
	assert.Equal(t, card.Milli(2000), fit.Request.Amount)
}

// TestFractionsOfHAMi divides cards where the node registers them, and takes whole ones elsewhere.
func TestFractionsOfHAMi(t *testing.T) {
	f := newFixture().node("whole", "A", 8).queue("q", "", `{"A":8}`)
	f.Nodes = append(f.Nodes, workload.Node{Name: "shared", Allocatable: workload.Resources{gpuName: 10},
		Labels:      map[string]string{"nvidia.com/gpu.product": "A"},
		Annotations: map[string]string{hami.Register: "g0,10,8000,100,NVIDIA-A,0,true:"}})
	f.open(t)
	assert.Equal(t, map[string]float64{"A": 9}, f.stock(), "the ten of the shared node are one card")
	_, p := f.read("q", pod("A", workload.Resources{gpuName: 1, string(hami.Memory): 2000}))
	any, _ := f.most(t, p, "A")
	assert.Equal(t, card.Milli(1000), any, "it may get a whole one")
	assert.Equal(t, map[string]card.Milli{"A": 1000}, f.on(p, "whole"))
	assert.Equal(t, map[string]card.Milli{"A": 250}, f.on(p, "shared"))
	_, p = f.read("q", pod("A", gpus(1)))
	assert.Equal(t, map[string]card.Milli{"A": 1000}, f.on(p, "shared"))
}

// TestUnregisteredNodes refuses pods on nodes that do not register, whether or not another node does.
func TestUnregisteredNodes(t *testing.T) {
	f := newFixture().queue("q", "", `{"A":8}`)
	f.Nodes = append(f.Nodes, workload.Node{Name: "n", Allocatable: workload.Resources{string(vgpu.Number): 20}})
	f.open(t)
	admit := func(fastres.Dim, float64) quota.Verdict { return quota.Verdict{Reason: quota.Admitted} }
	for _, list := range []string{"A", ""} {
		q, p := f.read("q", part(list, 1000))
		fit := f.FitNode(q, p, "n", admit)
		assert.Equal(t, MissingLabel, fit.Reason, list)
		assert.Equal(t, vgpu.Register, fit.Label)
	}
	assert.Nil(t, f.registry.models)
}

// TestFractionsOutliveChangesOfTheNode expects a running pod to keep its charge until the pod is gone.
func TestFractionsOutliveChangesOfTheNode(t *testing.T) {
	for name, change := range map[string]func(*workload.Node){
		"another memory": func(n *workload.Node) {
			n.Annotations = map[string]string{vgpu.Register: registration("n", "A", "4000")}
		},
		"another model": func(n *workload.Node) {
			n.Annotations = map[string]string{vgpu.Register: registration("n", "B", "8000")}
		},
		"not registered": func(n *workload.Node) { n.Annotations = nil },
		"other devices": func(n *workload.Node) {
			n.Annotations = map[string]string{vgpu.Register: registration("m", "A", "8000")}
		},
		"no device plugin": func(n *workload.Node) { n.Annotations, n.Allocatable = nil, workload.Resources{"cpu": 1} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture().shared("n", "A", "8000").shared("other", "A", "8000", "B", "8000").queue("q", "", `{"A":8,"B":8}`)
			request := workload.Resources{string(vgpu.Number): 1, string(vgpu.Memory): 2000}
			exact := map[string]string{card.NameKey: "A", vgpu.Assigned: "n-0,NVIDIA,4000,0:"}
			tasks := []workload.Task{
				{Name: "unassigned", Node: "n", Status: workload.TaskRunning, Request: request, Annotations: map[string]string{card.NameKey: "A"}},
				{Name: "assigned", Node: "n", Status: workload.TaskRunning, Request: request, Annotations: exact},
			}
			f.Jobs = []workload.Job{{Name: "run", Queue: "q", Phase: workload.Running, Tasks: tasks}}
			f.open(t)
			change(&f.Nodes[0])
			for range 2 {
				f.open(t)
				for i, want := range []card.Milli{250, 500} {
					_, p := f.read("q", cluster.Pod("run", tasks[i]))
					assert.Equal(t, map[string]card.Milli{"A": want}, f.on(p, "n"), tasks[i].Name)
				}
			}
			f.registry = NewRegistry()
			f.open(t)
			for i := range tasks {
				_, p := f.read("q", cluster.Pod("run", tasks[i]))
				assert.NotEmpty(t, f.on(p, "n"), "after a restart, the best that is known")
			}
		})
	}
}

// TestNewDevicesChangeNoCharge keeps exact charges where a node gets devices, or one is unhealthy.
func TestNewDevicesChangeNoCharge(t *testing.T) {
	f := newFixture().shared("n", "A", "8000").queue("q", "", `{"A":8}`)
	task := workload.Task{Name: "pod", Node: "n", Status: workload.TaskRunning,
		Request:     workload.Resources{string(vgpu.Number): 1, string(vgpu.Memory): 2000},
		Annotations: map[string]string{card.NameKey: "A", vgpu.Assigned: "n-0,NVIDIA,4000,0:"}}
	f.Jobs = []workload.Job{{Name: "run", Queue: "q", Phase: workload.Running, Tasks: []workload.Task{task}}}
	f.open(t)
	for _, register := range []string{registration("n", "A", "8000", "A", "8000"), "n-0,10,8000,NVIDIA-A,false,hami-core:"} {
		f.Nodes[0].Annotations = map[string]string{vgpu.Register: register}
		f.open(t)
		_, p := f.read("q", cluster.Pod("run", task))
		assert.Equal(t, map[string]card.Milli{"A": 500}, f.on(p, "n"))
		assert.Empty(t, f.registry.held)
	}
}

// TestWhatCountsOfFractions reads pods again if the argument changes.
func TestWhatCountsOfFractions(t *testing.T) {
	f := newFixture().shared("n", "A", "8000").queue("q", "", `{"A":8}`)
	request := workload.Resources{string(vgpu.Number): 1, string(vgpu.Memory): 2000, string(vgpu.Cores): 50}
	for by, want := range map[card.FractionsBy]card.Milli{card.ByDominant: 500, card.ByMemory: 250} {
		f.settings.Fractions = by
		f.open(t)
		_, p := f.read("q", pod("A", request))
		assert.Equal(t, map[string]card.Milli{"A": want}, f.on(p, "n"))
	}
}

// TestNoFractions computes nothing of fractions where no node registers and no pod requests one.
func TestNoFractions(t *testing.T) {
	f := newFixture().node("n", "A", 8).queue("q", "", `{"A":8}`).open(t)
	_, p := f.read("q", pod("A", gpus(1)))
	assert.Nil(t, p.fractions)
	assert.Nil(t, f.registry.models)
	assert.Nil(t, f.Node("n").devices)
}
