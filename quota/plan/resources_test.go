package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// onCards returns a world with the resources card and cpu. The node has some of each left. One pod claims one of each.
// Pods of another queue, which deserves nothing, run on the node.
func onCards(free []float64, pods ...Candidate) *world {
	w := &world{cannot: map[placement]bool{}, claim: 1}
	w.queues = []modelQueue{{limit: 1e9}, {limit: 1e9, deserved: 1000}, {limit: 1e9}}
	w.p.Nodes = []Node{{Name: "n", Free: free}}
	w.p.Pods = []Pod{{Requests: []float64{1000, 1000}}}
	for _, c := range pods {
		w.p.Jobs, w.owners = append(w.p.Jobs, Job{Name: c.Name, Spare: 1, Pods: []Candidate{c}}), append(w.owners, 2)
		w.queues[2].allocated += c.Frees[0]
		w.queues[0].allocated += c.Frees[0]
	}
	w.p.Accounts = w
	return w
}

// TestFor evicts a pod with a card only where a card is lacking.
func TestFor(t *testing.T) {
	withCard := Candidate{Name: "card", Frees: []float64{1000, 1000}, For: []bool{true, false}}
	withCPU := Candidate{Name: "cpu", Frees: []float64{0, 1000}, For: []bool{true, true}, Order: 1}
	for name, c := range map[string]struct {
		free []float64
		pods []Candidate
		want []Victim // nil for no plan
	}{
		"a card is lacking":              {[]float64{0, 0}, []Candidate{withCard}, []Victim{{0, 0}}},
		"cpu is lacking":                 {[]float64{1000, 0}, []Candidate{withCard}, nil},
		"cpu is lacking, and can be had": {[]float64{1000, 0}, []Candidate{withCard, withCPU}, []Victim{{1, 0}}},
		"a card gives its cpu as well":   {[]float64{0, 0}, []Candidate{withCPU, withCard}, []Victim{{1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Make(&onCards(c.free, c.pods...).p)
			assert.Equal(t, c.want != nil, got.Found())
			assert.Equal(t, c.want, got.Victims)
		})
	}
}

// TestSparedAreUseful names only spared pods that have some of the missing resources.
func TestSparedAreUseful(t *testing.T) {
	withCard := Candidate{Name: "card", Frees: []float64{1000, 0}, For: []bool{true, false}}
	withCPU := Candidate{Name: "cpu", Frees: []float64{0, 1000}, For: []bool{true, true}, Order: 1}
	w := onCards([]float64{0, 1000}, withCard, withCPU)
	w.queues[2].deserved = 1000

	got := Make(&w.p)
	assert.False(t, got.Found())
	assert.Equal(t, map[Victim]Spared{{0, 0}: ByDeserved}, got.Failure.Spared)
	assert.Equal(t, []float64{1000, 0}, got.Failure.Lacks)
}

// TestNeededForItsResource evicts two units where one of them would do, but only for a resource that it may not be
// evicted for. A gang has a pod without cards on n and a pod with a card on m. Once it is gone, m has room, but m lacks
// nothing else than cpu, and only the pod with the card gives cpu there.
func TestNeededForItsResource(t *testing.T) {
	worker := Candidate{Name: "worker", Frees: []float64{0, 1000}, For: []bool{true, true}}
	onM := Candidate{Name: "on-m", Node: 1, Frees: []float64{1000, 1000}, For: []bool{true, false}}
	withCard := Candidate{Name: "card", Frees: []float64{1000, 0}, For: []bool{true, false}}

	w := onCards([]float64{0, 0}, withCard)
	w.p.Nodes = append(w.p.Nodes, Node{Name: "m", Free: []float64{1000, 0}})
	w.p.Jobs = append(w.p.Jobs, Job{Name: "gang", Pods: []Candidate{worker, onM}})
	w.owners = append(w.owners, 2)
	w.p.Whole = true
	w.queues[2].allocated += 1000
	w.queues[0].allocated += 1000

	got := Make(&w.p)
	assert.Equal(t, []int{0}, got.Nodes)
	assert.ElementsMatch(t, []Victim{{0, 0}, {1, 0}, {1, 1}}, got.Victims)

	// If the gang may be evicted for the cpu of its pod with a card, it suffices.
	w.p.Jobs[1].Pods[1].For[1] = true
	got = Make(&w.p)
	assert.Equal(t, []int{1}, got.Nodes)
	assert.ElementsMatch(t, []Victim{{1, 0}, {1, 1}}, got.Victims)
}
