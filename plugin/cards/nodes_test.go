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
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// stock returns the cards of all nodes, in whole cards.
func (f *fixture) stock() map[string]float64 {
	stock := map[string]float64{}
	for _, amount := range f.Stock() {
		stock[f.names.Name(amount.Dim)] = amount.Milli.Cards()
	}
	return stock
}

// TestHeldCards loses a node and brings it back with another card. A lost node is in no
// stock. Its pods hold their card until they are gone.
func TestHeldCards(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 4).queue("q", "", `{}`)
	f.Jobs = []workload.Job{{Name: "run", Queue: "q", Phase: workload.Running}}
	for i, list := range []string{"A|B", "", "A|B"} {
		task := workload.Task{Name: fmt.Sprint("pod-", i), Node: "b", Status: workload.TaskRunning, Request: gpus(1)}
		if list != "" {
			task.Annotations = map[string]string{card.NameKey: list}
		}
		f.Jobs[0].Tasks = append(f.Jobs[0].Tasks, task)
	}
	f.Jobs[0].Tasks[2].Status = workload.TaskSucceeded
	f.open(t)
	assert.Equal(t, map[string]float64{"A": 8, "B": 4}, f.stock())
	assert.Empty(t, f.registry.held)

	f.Nodes = f.Nodes[:1]
	for range 2 {
		f.open(t)
		assert.Equal(t, map[string]float64{"A": 8}, f.stock())
		assert.Len(t, f.registry.held, 2, "a finished pod holds nothing")
		for _, task := range f.Jobs[0].Tasks[:2] {
			_, p := f.read("q", cluster.Pod("run", task))
			for r := range f.Requests(p) {
				assert.Equal(t, map[fastres.Dim]card.Milli{f.dim(t, "B"): r.Amount}, maps.Collect(r.On(f.Node("b"))))
			}
		}
	}
	f.node("b", "C", 2).open(t)
	assert.Equal(t, map[string]float64{"A": 8, "C": 2}, f.stock())
	assert.Len(t, f.registry.held, 2)

	f.Jobs = nil
	f.open(t)
	f.registry.pods.used = 1 << 20 // so that Open forgets pods
	f.open(t)
	assert.Empty(t, f.registry.held, "the pods are gone")
}

// TestHeldCardsOfForgottenPods relabels a node in a session that forgets pods, or after names were renewed. The pods
// of the node still hold their card.
func TestHeldCardsOfForgottenPods(t *testing.T) {
	for name, forget := range map[string]func(*fixture){
		"pods": func(f *fixture) { f.registry.pods.used = 1 << 20 },
		"names": func(f *fixture) {
			old := f.names
			f.names = &index.Names{}
			f.registry.RenewNames(func(d fastres.Dim) fastres.Dim { return f.names.InternCard(old.Name(d)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture().node("n", "A", 8).queue("q", "", `{"A":8}`)
			task := workload.Task{Name: "pod", Node: "n", Status: workload.TaskRunning, Request: gpus(1)}
			f.Jobs = []workload.Job{{Name: "run", Queue: "q", Phase: workload.Running, Tasks: []workload.Task{task}}}
			f.open(t)
			forget(f)
			f.Nodes[0].Labels = map[string]string{"nvidia.com/gpu.product": "B"}
			for range 2 {
				f.open(t)
				_, p := f.read("q", cluster.Pod("run", task))
				for r := range f.Requests(p) {
					assert.Equal(t, map[fastres.Dim]card.Milli{f.dim(t, "A"): r.Amount}, maps.Collect(r.On(f.Node("n"))))
				}
			}
		})
	}
}

// TestQuotaKeepsItsLastGoodValue edits an annotation. A bad key keeps its last
// good value, and good keys count.
func TestQuotaKeepsItsLastGoodValue(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).queue("q", "", "")
	for _, step := range []struct {
		text     string
		a, b     float64 // milli-cards
		problems int
	}{
		{`{"A":2,"B":1}`, 2000, 1000, 0},
		{`{"A":"two","B":3}`, 2000, 3000, 1},
		{`{"A":`, 2000, 3000, 1},
		{`{"B":1.5}`, 0, 3000, 1},
		{`{"A":1}`, 1000, 0, 0},
	} {
		f.Queues[0].Annotations = map[string]string{card.QuotaKey: step.text}
		f.open(t)
		capability := f.ix.Capability.Row(f.ix.Lookup("q"))
		assert.Equal(t, step.a, capability.Get(f.dim(t, "A")), step.text)
		assert.Equal(t, step.b, capability.Get(f.dim(t, "B")), step.text)
		assert.True(t, f.QuotasChanged(), step.text)
		problems := f.Problems(f.ix)
		assert.Len(t, problems, 1)
		assert.Len(t, problems[0].Texts, step.problems, step.text)
	}
	f.open(t)
	assert.False(t, f.QuotasChanged(), "the annotation is the same")
}

// TestPodTable finds every pod after the table has grown, and no other.
func TestPodTable(t *testing.T) {
	const n = 10 * minPods
	table, pods, requests := newPodTable(), make([]*v1.Pod, n), make([]*PodRequest, n)
	for i := range n {
		pods[i], requests[i] = &v1.Pod{}, &PodRequest{}
		table.put(pods[i], requests[i], false)
		table.put(pods[i], requests[i], false) // again, which changes nothing
	}
	for i := range n {
		assert.Same(t, requests[i], table.get(pods[i]))
	}
	assert.Nil(t, table.get(&v1.Pod{}))
	assert.Equal(t, n, table.used)
	assert.LessOrEqual(t, 2*table.used, len(table.slots))
}
