package quota_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// divideByWeight computes bounds and deserved as a session does. The bound of a queue
// follows from its capability.
func divideByWeight(root string, total res, queues ...weighted) *index.Index {
	var plain []queue
	for _, w := range queues {
		plain = append(plain, w.queue)
	}
	ix := session(root, plain...)
	limits := quota.Limits{Total: total.vector(), Bound: total.vector()}
	if root != "" {
		quota.TreeBounds(ix, limits)
	} else {
		quota.FlatBounds(ix, limits, func(q index.Queue) bool { return !ix.Capability.Row(q).IsEmpty() })
	}
	quota.DeservedByWeight(ix, total.vector(), func(q index.Queue, _ fastres.Dim) float64 {
		for _, w := range queues {
			if name, _, _ := strings.Cut(w.name, "<"); name == ix.Name(q) {
				return float64(w.weight)
			}
		}
		return 0
	})
	return ix
}

func TestDeservedByWeight(t *testing.T) {
	tests := []struct {
		name   string
		root   string
		total  res
		queues []weighted
		want   map[string]res
	}{
		{"siblings divide what a queue at its bound leaves", "", res{cpu: 100}, []weighted{
			{queue{name: "A", capability: res{cpu: 50}, guarantee: res{cpu: 10}}, 2},
			{queue{name: "B"}, 3},
			{queue{name: "C", capability: res{cpu: 30}, guarantee: res{cpu: 20}}, 5},
		}, map[string]res{"A": {cpu: 28}, "B": {cpu: 42}, "C": {cpu: 30}}},
		{"level by level", "root", res{cpu: 200}, []weighted{
			{queue{name: "root"}, 1}, {queue{name: "eng"}, 6}, {queue{name: "biz"}, 4},
			{queue{name: "prod<eng", capability: res{cpu: 100}, guarantee: res{cpu: 60}}, 8}, {queue{name: "dev<eng"}, 2},
			{queue{name: "marketing<biz"}, 3}, {queue{name: "sales<biz"}, 1},
		}, map[string]res{"root": {cpu: 200}, "eng": {cpu: 120}, "biz": {cpu: 80},
			"prod": {cpu: 96}, "dev": {cpu: 24}, "marketing": {cpu: 60}, "sales": {cpu: 20}}},
		{"each dimension on its own", "", res{cpu: 100, memory: 60, gpu: 8}, []weighted{
			{queue{name: "A", capability: res{gpu: 2}}, 1}, {queue{name: "B"}, 1}, {queue{name: "C", capability: res{memory: 10}}, 2},
		}, map[string]res{"A": {cpu: 25, memory: 25, gpu: 2}, "B": {cpu: 25, memory: 25, gpu: 2}, "C": {cpu: 50, memory: 10, gpu: 4}}},
		{"a guarantee reduces what the others divide", "", res{cpu: 100}, []weighted{
			{queue{name: "A", guarantee: res{cpu: 80}}, 1}, {queue{name: "B"}, 9},
		}, map[string]res{"A": {cpu: 80}, "B": {cpu: 20}}},
		{"a guarantee below the part that a sibling's bound leaves", "", res{cpu: 100}, []weighted{
			{queue{name: "A", guarantee: res{cpu: 20}}, 1}, {queue{name: "B", capability: res{cpu: 10}}, 8}, {queue{name: "C"}, 1},
		}, map[string]res{"A": {cpu: 45}, "B": {cpu: 10}, "C": {cpu: 45}}},
		{"a bound above the part that a sibling's guarantee leaves", "", res{cpu: 100}, []weighted{
			{queue{name: "A", guarantee: res{cpu: 70}}, 1}, {queue{name: "B", capability: res{cpu: 24}}, 3}, {queue{name: "C"}, 1},
		}, map[string]res{"A": {cpu: 70}, "B": {cpu: 22}, "C": {cpu: 7}}},
		{"all queues are at their bounds", "", res{cpu: 100}, []weighted{
			{queue{name: "A", capability: res{cpu: 10}}, 1}, {queue{name: "B", capability: res{cpu: 20}}, 1},
		}, map[string]res{"A": {cpu: 10}, "B": {cpu: 20}}},
		{"guarantees above the total remain", "", res{cpu: 10}, []weighted{
			{queue{name: "A", guarantee: res{cpu: 30}}, 1}, {queue{name: "B"}, 1},
		}, map[string]res{"A": {cpu: 30}, "B": {}}},
		{"guarantees above the total remain below the root", "root", res{cpu: 10}, []weighted{
			{queue{name: "A"}, 1}, {queue{name: "B"}, 9}, {queue{name: "a<A", guarantee: res{cpu: 30}}, 1}, {queue{name: "b<A"}, 1},
		}, map[string]res{"root": {cpu: 30}, "A": {cpu: 30}, "B": {}, "a": {cpu: 30}, "b": {}}},
		{"a guarantee of a resource that the cluster lacks", "", res{cpu: 100}, []weighted{
			{queue{name: "A", guarantee: res{gpu: 2}}, 1}, {queue{name: "B"}, 1},
		}, map[string]res{"A": {cpu: 50, gpu: 2}, "B": {cpu: 50}}},
		{"a queue with weight 0 deserves its guarantee", "", res{cpu: 100}, []weighted{
			{queue{name: "A", guarantee: res{cpu: 5}}, 0}, {queue{name: "B"}, 0}, {queue{name: "C"}, 1},
		}, map[string]res{"A": {cpu: 5}, "B": {}, "C": {cpu: 95}}},
		{"all weights are 0", "", res{cpu: 100}, []weighted{{queue{name: "A"}, 0}}, map[string]res{"A": {}}},
		{"parts are rounded down to whole units", "", res{cpu: 100, gpu: 2}, []weighted{
			{queue{name: "A"}, 1}, {queue{name: "B"}, 1}, {queue{name: "C"}, 1},
		}, map[string]res{"A": {cpu: 33, gpu: 0}, "B": {cpu: 33, gpu: 0}, "C": {cpu: 33, gpu: 0}}},
		{"the configured deserved does not count", "", res{cpu: 100}, []weighted{
			{queue{name: "A", deserved: res{cpu: 7, gpu: 1}}, 1}, {queue{name: "B", deserved: res{cpu: 70}}, 1},
		}, map[string]res{"A": {cpu: 50}, "B": {cpu: 50}}},
		{"requests do not count", "", res{cpu: 100}, []weighted{
			{queue{name: "A", request: res{cpu: 7}}, 1}, {queue{name: "B", request: res{cpu: 70, gpu: 1}}, 1},
		}, map[string]res{"A": {cpu: 50}, "B": {cpu: 50}}},
		{"a broken subtree deserves its guarantees", "root", res{cpu: 100}, []weighted{
			{queue{name: "A"}, 1}, {queue{name: "lost<nobody"}, 9}, {queue{name: "child<lost", guarantee: res{cpu: 1}}, 9},
		}, map[string]res{"A": {cpu: 100}, "lost": {}, "child": {cpu: 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := divideByWeight(test.root, test.total, test.queues...)
			for name, want := range test.want {
				assert.Equal(t, want, resOf(deservedOf(t, ix, name)), name)
			}
		})
	}
}

// TestDeservedByWeightIsFair checks random trees:
//
//   - A queue deserves at least its guarantee, and at most its bound.
//   - The children of a queue deserve no more than the queue, together, or than they are guaranteed.
//   - A queue below its bound deserves no less, relative to its weight, than a sibling above
//     its guarantee.
//   - The result does not depend on the order of the queues.
func TestDeservedByWeightIsFair(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	capped, raised := 0, 0
	for range 1000 {
		total, queues := res{cpu: 500, memory: 5000, gpu: 50}, randomTreeWithWeights(r)
		ix := divideByWeight("root", total, queues...)
		weights := map[string]float64{}
		for _, w := range queues {
			name, _, _ := strings.Cut(w.name, "<")
			weights[name] = float64(w.weight)
		}
		for _, d := range divided {
			of := func(rows index.Rows, q index.Queue) float64 { return rows.Row(q).Get(d) }
			for p := range index.Queue(ix.Len()) {
				sum, most := 0.0, 0.0
				for _, q := range ix.Children(p) {
					deserved, guarantee := of(ix.Deserved, q), of(ix.Guarantee, q)
					require.GreaterOrEqual(t, deserved, guarantee)
					require.LessOrEqual(t, deserved, max(guarantee, of(ix.RealCapability, q)))
					if sum += deserved; deserved > guarantee {
						most = max(most, deserved/weights[ix.Name(q)])
					} else if guarantee > 0 {
						raised++
					}
				}
				shared := max(of(ix.Deserved, p), of(ix.ChildGuarantees, p))
				require.LessOrEqual(t, sum, shared, "%v", queues)
				for _, q := range ix.Children(p) {
					if of(ix.Deserved, q) == max(of(ix.Guarantee, q), of(ix.RealCapability, q)) {
						capped++
					} else {
						// deserved is rounded down, by less than one unit.
						require.GreaterOrEqual(t, (of(ix.Deserved, q)+1)/weights[ix.Name(q)], most, "%s of %v", ix.Name(q), queues)
						require.Greater(t, sum, of(ix.Deserved, p)-float64(len(queues)), "something is left although %s is below its bound", ix.Name(q))
					}
				}
			}
		}
		r.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
		again := divideByWeight("root", total, queues...)
		for q := range index.Queue(ix.Len()) {
			require.True(t, ix.Deserved.Row(q).Equal(deservedOf(t, again, ix.Name(q))), "in another order, %s deserves something else", ix.Name(q))
		}
	}
	assert.Greater(t, capped, 1000, "too few queues were at their bound")
	assert.Greater(t, raised, 500, "too few queues were raised to their guarantee")
}

func randomTreeWithWeights(r *rand.Rand) []weighted {
	queues, names := []weighted{{queue{name: "root"}, 1}}, []string{"root"}
	for i := range 2 + r.IntN(10) {
		w := weighted{queue{name: fmt.Sprintf("q%d<%s", i, names[r.IntN(len(names))])}, int32(1 + r.IntN(9))}
		names = append(names, fmt.Sprintf("q%d", i))
		if r.IntN(2) == 0 {
			w.capability = res{cpu: float64(r.IntN(400)), memory: float64(r.IntN(4000)), gpu: float64(r.IntN(40))}
		}
		if r.IntN(3) == 0 {
			w.guarantee = res{cpu: float64(r.IntN(60)), gpu: float64(r.IntN(6))}
		}
		queues = append(queues, w)
	}
	return queues
}
