package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// TestTimeSlices has a node share its cards by time slices. Annotations may have the name of an MPS
// slice that such a slice had once, unless a node has MPS slices of that name.
func TestTimeSlices(t *testing.T) {
	const slice, former, shared = "H800/ts*1/4", "H800/mps-80g*1/4", "nvidia.com/gpu.shared"
	node := func(name, strategy string) workload.Node {
		return workload.Node{Name: name, Allocatable: workload.Resources{shared: 8}, Labels: map[string]string{"nvidia.com/gpu.product": "H800",
			"nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": strategy}}
	}
	f := newFixture().queue("q", "", `{"`+former+`":2}`).queue("both", "", `{"`+former+`":2,"`+slice+`":3}`)
	for _, test := range []struct {
		name     string
		nodes    []workload.Node
		q, both  map[string]card.Milli
		usable   string // the card of a pod that names the former card
		problems int
	}{
		{"time slices", []workload.Node{node("n", "time-slicing")}, map[string]card.Milli{slice: 2000}, map[string]card.Milli{slice: 3000}, slice, 2},
		{"both", []workload.Node{node("n", "time-slicing"), node("m", "mps")}, map[string]card.Milli{former: 2000},
			map[string]card.Milli{former: 2000, slice: 3000}, former, 0},
		{"MPS", []workload.Node{node("n", "mps")}, map[string]card.Milli{former: 2000}, map[string]card.Milli{former: 2000, slice: 3000}, former, 0},
		{"time slices again", []workload.Node{node("n", "time-slicing")}, map[string]card.Milli{slice: 2000}, map[string]card.Milli{slice: 3000}, slice, 2},
	} {
		f.Nodes = test.nodes
		f.open(t)
		for queue, want := range map[string]map[string]card.Milli{"q": test.q, "both": test.both} {
			got := map[string]card.Milli{}
			for d, amount := range f.Quotas(f.ix.Lookup(queue)) {
				got[f.CardName(d)] = amount
			}
			assert.Equal(t, want, got, "%s: %s", test.name, queue)
		}
		_, p := f.read("q", pod(former, workload.Resources{shared: 1}))
		for r := range f.Requests(p) {
			if assert.Len(t, r.Selector.Dims, 1, test.name) {
				assert.Equal(t, test.usable, f.CardName(r.Selector.Dims[0]), test.name)
			}
		}
		problems := 0
		for _, each := range f.Problems(f.ix) {
			problems += len(each.Texts)
		}
		assert.Equal(t, test.problems, problems, test.name)
		assert.Equal(t, test.name != "MPS", f.QuotasChanged(), test.name)
	}
}

// TestLabelsChange has another label name the cards from one session to the next.
func TestLabelsChange(t *testing.T) {
	f := newFixture().queue("q", "", `{"A":2,"B":2}`)
	f.Nodes = append(f.Nodes, workload.Node{Name: "n", Labels: map[string]string{"example.com/model": "A", "example.com/npu.product": "B"},
		Allocatable: workload.Resources{"example.com/npu": 8}})
	for _, test := range []struct {
		labels card.Labels
		want   string
	}{{nil, "B"}, {card.Labels{"example.com/npu": "example.com/model"}, "A"}, {card.Labels{"example.com/npu": "example.com/none"}, ""}, {nil, "B"}} {
		f.settings.Labels = test.labels
		f.open(t)
		var stock []string
		for _, amount := range f.Stock() {
			stock = append(stock, f.CardName(amount.Dim))
		}
		if test.want == "" {
			assert.Empty(t, stock)
			_, p := f.read("q", pod("", workload.Resources{"example.com/npu": 1}))
			assert.True(t, f.Uses(p), "the resource remains one of cards")
			continue
		}
		assert.Equal(t, []string{test.want}, stock)
	}
}
