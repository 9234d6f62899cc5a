package quota_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// weighted is a queue and its weight.
type weighted struct {
	queue
	weight int32
}

// divide computes deserved of queues, in the order given.
func divide(total res, queues ...weighted) *index.Index {
	var plain []queue
	for _, w := range queues {
		plain = append(plain, w.queue)
	}
	ix := session("", plain...)
	var taking []quota.WeightedQueue
	for _, w := range queues {
		taking = append(taking, quota.WeightedQueue{Queue: ix.Lookup(w.name), Weight: w.weight})
	}
	quota.ProportionRounds(ix, total.vector(), taking)
	return ix
}

func deservedOf(t *testing.T, ix *index.Index, name string) fastres.Vector {
	t.Helper()
	return ix.Deserved.Row(lookup(t, ix, name))
}

func TestProportionRounds(t *testing.T) {
	much := res{cpu: 1e6, memory: 1e6}
	tests := []struct {
		name   string
		total  res
		queues []weighted
		want   map[string]res
	}{
		{"two rounds, the second without the queue that is done", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: res{cpu: 50}, guarantee: res{cpu: 10}, request: res{cpu: 80}}, 2},
			{queue{name: "B", bound: res{cpu: 70}, request: res{cpu: 60}}, 3},
			{queue{name: "C", bound: res{cpu: 90}, guarantee: res{cpu: 20}, request: res{cpu: 30}}, 5},
		}, map[string]res{"A": {cpu: 28}, "B": {cpu: 42}, "C": {cpu: 30}}},
		{"a sum of weights above 31 bits", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: much}, 1<<31 - 1}, {queue{name: "B", bound: much, request: much}, 1<<31 - 1},
		}, map[string]res{"A": {cpu: 50}, "B": {cpu: 50}}},
		{"a negative weight counts as 0", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: much}, -5}, {queue{name: "B", bound: much, request: much}, 1},
		}, map[string]res{"A": {}, "B": {cpu: 100}}},
		{"by weight", res{cpu: 100, memory: 10}, []weighted{
			{queue{name: "A", bound: much, request: much}, 1}, {queue{name: "B", bound: much, request: much}, 3},
		}, map[string]res{"A": {cpu: 25, memory: 2.5}, "B": {cpu: 75, memory: 7.5}}},
		{"the next round offers what a queue at its bound leaves", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: res{cpu: 10}, request: much}, 1}, {queue{name: "B", bound: much, request: much}, 1},
		}, map[string]res{"A": {cpu: 10}, "B": {cpu: 90}}},
		{"each dimension on its own", res{cpu: 100, gpu: 8}, []weighted{
			{queue{name: "A", bound: res{cpu: 100, gpu: 8}, request: res{cpu: 50}}, 1},
			{queue{name: "B", bound: res{cpu: 100, gpu: 8}, request: res{cpu: 10, gpu: 8}}, 1},
		}, map[string]res{"A": {cpu: 50, gpu: 0}, "B": {cpu: 10, gpu: 8}}},
		{"a guarantee above the request remains", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, guarantee: res{cpu: 30, gpu: 2}, request: res{cpu: 5}}, 1},
			{queue{name: "B", bound: much, request: much}, 1},
		}, map[string]res{"A": {cpu: 30, gpu: 2}, "B": {cpu: 70}}},
		{"a guarantee above the total remains", res{cpu: 10}, []weighted{
			{queue{name: "A", bound: much, guarantee: res{cpu: 30}, request: much}, 1},
			{queue{name: "B", bound: much, request: much}, 1},
		}, map[string]res{"A": {cpu: 30}, "B": {cpu: 5}}},
		{"a guarantee above the bound remains", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: res{cpu: 10}, guarantee: res{cpu: 30}, request: much}, 1},
		}, map[string]res{"A": {cpu: 30}}},
		{"a queue is done when its request is met within the tolerance", res{cpu: 90}, []weighted{
			{queue{name: "A", bound: much, request: res{cpu: 30.05}}, 1},
			{queue{name: "B", bound: much, request: much}, 1},
			{queue{name: "C", bound: much, request: res{cpu: 10}}, 1},
		}, map[string]res{"A": {cpu: 30}, "B": {cpu: 50}, "C": {cpu: 10}}},
		{"the rounds end when the rest is below the tolerance", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: res{cpu: 49.95}}, 1},
			{queue{name: "B", bound: much, request: much}, 1},
		}, map[string]res{"A": {cpu: 49.95}, "B": {cpu: 50}}},
		{"the total exceeds all requests", res{cpu: 100, memory: 50}, []weighted{
			{queue{name: "A", bound: much, request: res{cpu: 5, memory: 1}}, 1}, {queue{name: "B", bound: much, request: res{cpu: 7}}, 9},
		}, map[string]res{"A": {cpu: 5, memory: 1}, "B": {cpu: 7}}},
		{"a scalar that no request names", res{cpu: 100, gpu: 8}, []weighted{
			{queue{name: "A", bound: res{cpu: 100, gpu: 8}, request: res{cpu: 500}}, 1},
		}, map[string]res{"A": {cpu: 100, gpu: 0}}},
		{"a scalar that no bound names is unlimited", res{cpu: 100, gpu: 8}, []weighted{
			{queue{name: "A", bound: res{cpu: 100}, request: res{cpu: 500, gpu: 3}}, 1},
		}, map[string]res{"A": {cpu: 100, gpu: 3}}},
		{"a queue with weight 0 gets nothing beside others", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: much}, 0},
			{queue{name: "B", bound: much, request: much}, 1},
			{queue{name: "C", bound: much, request: much, guarantee: res{cpu: 20}}, 0},
		}, map[string]res{"A": {}, "B": {cpu: 100}, "C": {cpu: 20}}},
		{"all weights are 0", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: much, deserved: res{cpu: 77}}, 0},
		}, map[string]res{"A": {}}},
		{"the deserved before does not count", res{cpu: 100}, []weighted{
			{queue{name: "A", bound: much, request: much, deserved: res{cpu: 77, gpu: 7}}, 1},
			{queue{name: "B", bound: much, request: much, deserved: res{cpu: 3}}, 1},
		}, map[string]res{"A": {cpu: 50}, "B": {cpu: 50}}},
		{"nothing to divide", res{}, []weighted{{queue{name: "A", bound: much, request: much}, 1}}, map[string]res{"A": {}}},
		{"no request", res{cpu: 100}, []weighted{{queue{name: "A", bound: much}, 1}}, map[string]res{"A": {}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := divide(test.total, test.queues...)
			for name, want := range test.want {
				assert.Equal(t, want, resOf(deservedOf(t, ix, name)), name)
			}
		})
	}
}

func TestProportionRoundsWithoutQueues(t *testing.T) {
	ix := session("", queue{name: "a", deserved: res{cpu: 5}, request: res{cpu: 100}, bound: res{cpu: 100}})
	quota.ProportionRounds(ix, res{cpu: 100}.vector(), nil)
	assert.Equal(t, res{cpu: 5}, resOf(deservedOf(t, ix, "a")), "a queue that is not given keeps its deserved")
}

func TestProportionRoundsKeepsItsInput(t *testing.T) {
	ix := session("", queue{name: "a", request: res{cpu: 10}, bound: res{cpu: 100}},
		queue{name: "b", request: res{cpu: 100}, bound: res{cpu: 100}})
	total := res{cpu: 100}.vector()
	queues := []quota.WeightedQueue{{Queue: 0, Weight: 1}, {Queue: 1, Weight: 2}}
	before := slices.Clone(queues)
	quota.ProportionRounds(ix, total, queues)
	assert.Equal(t, before, queues)
	assert.Equal(t, res{cpu: 100}, resOf(total))
	assert.Equal(t, res{cpu: 10}, resOf(ix.Request.Row(0)))
	assert.Equal(t, res{cpu: 100}, resOf(ix.RealCapability.Row(1)))
}

func randomWeighted(r *rand.Rand, guarantees bool) []weighted {
	var queues []weighted
	for i := range 1 + r.IntN(7) {
		w := weighted{queue{
			name:    fmt.Sprintf("q%d", i),
			bound:   res{cpu: float64(r.IntN(400)), memory: float64(r.IntN(4000)), gpu: float64(r.IntN(40))},
			request: res{cpu: float64(r.IntN(400)), memory: float64(r.IntN(4000)), gpu: float64(r.IntN(40))},
		}, int32(1 + r.IntN(9))}
		if guarantees && r.IntN(2) == 0 {
			w.guarantee = res{cpu: float64(r.IntN(100)), gpu: float64(r.IntN(10))}
		}
		queues = append(queues, w)
	}
	return queues
}

var divided = []fastres.Dim{cpu, memory, gpu}

// TestProportionRoundsIsFair checks random queues without guarantees:
//
//   - A queue deserves at most its bound and its request.
//   - All queues together deserve at most the total.
//   - Nothing is left while a queue deserves less than its bound and its request.
//   - Such a queue deserves no less, relative to its weight, than any other queue.
func TestProportionRoundsIsFair(t *testing.T) {
	const slack = 1 // that the tolerance and the last rounds leave
	r := rand.New(rand.NewPCG(11, 12))
	scarce := 0
	for range 1000 {
		total, queues := res{cpu: 500, memory: 5000, gpu: 50}, randomWeighted(r, false)
		ix := divide(total, queues...)
		for _, d := range divided {
			sum, most, least, short := 0.0, 0.0, 1e300, false
			for _, w := range queues {
				deserved, limit := deservedOf(t, ix, w.name).Get(d), min(w.bound[d], w.request[d])
				require.LessOrEqual(t, deserved, limit, "%s of %v", w.name, queues)
				sum += deserved
				most = max(most, deserved/float64(w.weight))
				if deserved < limit-slack {
					short = true
					least = min(least, deserved/float64(w.weight))
				}
			}
			require.LessOrEqual(t, sum, total[d]+1e-6)
			if short {
				scarce++
				require.Greater(t, sum, total[d]-slack, "something is left although a queue can use it: %v", queues)
				require.GreaterOrEqual(t, least, most-slack, "unfair: %v", queues)
			}
		}
	}
	assert.Greater(t, scarce, 300, "too few queues deserved less than they request")
}

func TestProportionRoundsKeepsGuarantees(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 500 {
		queues := randomWeighted(r, true)
		ix := divide(res{cpu: 500, memory: 5000, gpu: 50}, queues...)
		for _, w := range queues {
			for _, d := range divided {
				deserved := deservedOf(t, ix, w.name).Get(d)
				require.GreaterOrEqual(t, deserved, w.guarantee[d])
				require.LessOrEqual(t, deserved, max(w.guarantee[d], min(w.bound[d], w.request[d])))
			}
		}
	}
}

// TestProportionRoundsInAnyOrder shuffles the queues. The results differ only by the
// rounding of sums.
func TestProportionRoundsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 500 {
		total, queues := res{cpu: 500, memory: 5000, gpu: 50}, randomWeighted(r, true)
		want := divide(total, queues...)
		again := divide(total, queues...)
		r.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
		shuffled := divide(total, queues...)
		for _, w := range queues {
			require.True(t, deservedOf(t, want, w.name).Equal(deservedOf(t, again, w.name)), "equal input gives other bits")
			for _, d := range divided {
				require.InDelta(t, deservedOf(t, want, w.name).Get(d), deservedOf(t, shuffled, w.name).Get(d), 1e-9*5000)
			}
		}
	}
}

func TestOverused(t *testing.T) {
	tests := []struct {
		name                string
		allocated, deserved res
		want                bool
	}{
		{"less", res{cpu: 9}, res{cpu: 10}, false},
		{"less, within the tolerance", res{cpu: 9.95}, res{cpu: 10}, true},
		{"exactly", res{cpu: 10}, res{cpu: 10}, true},
		{"more", res{cpu: 11}, res{cpu: 10}, true},
		{"more in one dimension of two", res{cpu: 11, memory: 4}, res{cpu: 10, memory: 5}, false},
		{"at least deserved in both dimensions", res{cpu: 11, memory: 5}, res{cpu: 10, memory: 5}, true},
		{"a scalar that is not used", res{cpu: 11}, res{cpu: 10, gpu: 1}, false},
		{"a scalar of 0 that is not used", res{cpu: 11}, res{cpu: 10, gpu: 0}, true},
		{"nothing deserved", res{}, res{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session("", queue{name: "q", allocated: test.allocated, deserved: test.deserved})
			assert.Equal(t, test.want, quota.Overused(ix, lookup(t, ix, "q")))
		})
	}
}
