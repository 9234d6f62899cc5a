package assign_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// TestLoads has demands together with other demands that list the same cards.
func TestLoads(t *testing.T) {
	seventh := index.RoundDown(1000.0 / 7)
	tree := []queue{
		{name: "root", bound: res{cardA: 10, cardB: 4, cardC: noBound, cardD: noBound}},
		{name: "q", bound: res{cardA: 6, cardB: 9, cardC: noBound}, allocated: res{cardA: 1}, inqueue: res{cardA: 1}, elastic: res{cardA: 1}},
		{name: "r", bound: res{cardA: 9, cardB: 9}},
		{name: "s", bound: res{cardD: 1000}, allocated: res{cardD: 6 * seventh}},
	}
	tests := []struct {
		name         string
		given, asked []demand
		want         bool
	}{
		{"nothing is asked", nil, nil, true},
		{"no list", nil, []demand{{"q", 1, 1, nil}}, false},
		{"allocated and inqueue, less elastic", nil, []demand{{"q", 5, 1, of(cardA)}}, true},
		{"more than is left of the queue", nil, []demand{{"q", 6, 1, of(cardA)}}, false},
		{"more than is left of the root", nil, []demand{{"q", 5, 1, of(cardB)}}, false},
		{"the second card of the list", nil, []demand{{"q", 5, 1, of(cardB, cardA)}}, true},
		{"no bound", nil, []demand{{"q", 1e9, 1e3, of(cardC)}}, true},
		{"all that others list", []demand{{"q", 1, 3, of(cardA, cardB)}}, []demand{{"q", 2, 1, of(cardA)}}, true},
		{"others may take the card", []demand{{"q", 1, 4, of(cardA, cardB)}}, []demand{{"q", 2, 1, of(cardA)}}, false},
		{"others of a sibling", []demand{{"r", 2, 3, of(cardA, cardB)}}, []demand{{"q", 3, 1, of(cardA)}}, true},
		{"others of a sibling take the root's", []demand{{"r", 2, 3, of(cardA, cardB)}}, []demand{{"q", 4, 1, of(cardA)}}, false},
		{"the asked demands together", nil, []demand{{"q", 3, 1, of(cardA)}, {"q", 2, 1, of(cardA, cardB)}}, true},
		{"too much together", nil, []demand{{"q", 3, 1, of(cardA)}, {"q", 3, 1, of(cardA)}}, false},
		{"pods of a demand", nil, []demand{{"q", 2, 3, of(cardA)}}, false},
		{"the last seventh of a card", nil, []demand{{"s", seventh, 1, of(cardD)}}, true},
		{"more than the last seventh", nil, []demand{{"s", seventh + 1, 1, of(cardD)}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ix := session("root", tree...)
			var loads assign.Loads
			var given, asked []assign.Demand
			for _, d := range tt.given {
				given = append(given, d.of(ix))
				loads.Add(ix, d.of(ix))
			}
			q := ix.Lookup("q")
			for _, d := range tt.asked {
				q = ix.Lookup(d.queue)
				asked = append(asked, d.of(ix))
			}
			require.Equal(t, tt.want, loads.Fit(ix, q, asked))
			if tt.want {
				var a assign.Assigner
				assert.Equal(t, assign.Yes, a.Feasible(ix, given, asked, plenty()))
			}
			loads.Reset()
			assert.Equal(t, loads.Fit(ix, q, asked), (&assign.Loads{}).Fit(ix, q, asked))
		})
	}
}
