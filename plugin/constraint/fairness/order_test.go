package fairness_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// fairWorld is a random tree of queues and its history. The queues have and request random cards.
type fairWorld struct {
	*rand.Rand
	parents  map[string]string
	deserved map[string]map[string]float64
	history  map[string]map[string]*oracle.History
	has      map[string]map[string]float64 // in the last session
	wants    map[string]map[string]float64
	clock    time.Duration
}

var fairCards = []string{"A", "B"}

func newFairWorld(seed uint64) *fairWorld {
	w := &fairWorld{Rand: rand.New(rand.NewPCG(seed, 7)), parents: map[string]string{}, deserved: map[string]map[string]float64{},
		history: map[string]map[string]*oracle.History{}}
	for d := range 2 + w.IntN(2) {
		department := fmt.Sprint("d", d)
		w.parents[department] = "root"
		for q := range 1 + w.IntN(3) {
			w.parents[fmt.Sprint("d", d, "q", q)] = department
		}
	}
	for queue := range w.parents {
		w.history[queue], w.deserved[queue] = map[string]*oracle.History{}, map[string]float64{}
		for _, card := range fairCards {
			w.history[queue][card] = &oracle.History{}
			w.deserved[queue][card] = 0
		}
	}
	for _, queue := range w.leaves() {
		for _, card := range fairCards {
			n := float64(w.IntN(4))
			w.deserved[queue][card] += n
			w.deserved[w.parents[queue]][card] += n
		}
	}
	return w
}

func (w *fairWorld) leaves() (all []string) {
	for _, queue := range slices.Sorted(maps.Keys(w.parents)) {
		if w.parents[queue] != "root" {
			all = append(all, queue)
		}
	}
	return all
}

// next lets time pass, and draws the cards that the queues have and request after that.
func (w *fairWorld) next(gap time.Duration) *testbed.Scene {
	for queue, of := range w.has {
		for card, n := range of {
			w.history[queue][card].Had(w.clock, w.clock+gap, n)
		}
	}
	w.clock += gap
	s := testbed.NewScene().Node("a", "A", 64).Node("b", "B", 64)
	w.has, w.wants = map[string]map[string]float64{}, map[string]map[string]float64{}
	for _, queue := range slices.Sorted(maps.Keys(w.parents)) {
		w.has[queue], w.wants[queue] = map[string]float64{"A": 0, "B": 0}, map[string]float64{}
		text := fmt.Sprintf(`{"A":%v,"B":%v}`, w.deserved[queue]["A"], w.deserved[queue]["B"])
		s.Queue(queue, w.parents[queue], "quota", `{"A":64,"B":64}`, "deserved", text, "guarantee", `{"A":0,"B":0}`)
	}
	for _, queue := range w.leaves() {
		for _, card := range fairCards {
			node := map[string]string{"A": "a", "B": "b"}[card]
			if n := w.IntN(6); n > 2 {
				s.Pods(queue+card+"runs", queue, card, n, 1, testbed.On(node))
				w.add(w.has, queue, card, n)
			}
			if n := w.IntN(4); n > 1 {
				s.Pods(queue+card+"waits", queue, card, n, 1, testbed.InPhase("Inqueue"))
				w.add(w.wants, queue, card, n)
			}
		}
	}
	return s
}

func (w *fairWorld) add(to map[string]map[string]float64, queue, card string, n int) {
	for ; queue != "root"; queue = w.parents[queue] {
		to[queue][card] += float64(n)
	}
}

func (w *fairWorld) queue(name string, halfLife time.Duration) *oracle.FairQueue {
	q := &oracle.FairQueue{Usage: map[string]float64{}, Allocated: w.has[name], Pending: w.wants[name], Deserved: w.deserved[name]}
	for _, n := range w.wants[name] {
		q.Pods += int(n) // of one card each
	}
	for _, card := range fairCards {
		q.Usage[card] = w.history[name][card].Usage(w.clock, halfLife, w.has[name][card])
	}
	return q
}

// rivals returns two leaves as they are compared: themselves below one parent, or else their departments, when it is
// their turn.
func (w *fairWorld) rivals(l, r string, halfLife, horizon time.Duration) (lq, rq *oracle.FairQueue, sure bool) {
	if w.parents[l] == w.parents[r] {
		return w.queue(l, halfLife), w.queue(r, halfLife), true
	}
	free := map[string]float64{}
	for _, card := range fairCards {
		free[card] = 64
		for _, leaf := range w.leaves() {
			free[card] -= w.has[leaf][card]
		}
	}
	turn := func(leaf string) (*oracle.FairQueue, bool) {
		var others []*oracle.FairQueue
		for _, other := range w.leaves() {
			if other != leaf && w.parents[other] == w.parents[leaf] {
				others = append(others, w.queue(other, halfLife))
			}
		}
		return oracle.AtTurn(w.queue(w.parents[leaf], halfLife), w.queue(leaf, halfLife), others, free, halfLife, horizon)
	}
	lq, left := turn(l)
	rq, right := turn(r)
	return lq, rq, left && right
}

// TestOrderFollowsTheDocumentation compares the order of all queues of random trees with the order of the oracle,
// over sessions at random times.
func TestOrderFollowsTheDocumentation(t *testing.T) {
	const halfLife = time.Hour
	all := 0
	for seed := range uint64(40) {
		w := newFairWorld(seed)
		horizon := []time.Duration{0, 10 * time.Minute, time.Hour, 100 * time.Hour}[seed%4]
		c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: halfLife.String(), arguments.FairShareMap: map[string]any{"horizon": horizon.String()},
			arguments.StateStore: "none"})
		for range 12 {
			gap := time.Duration(1+w.IntN(5000)) * time.Second
			f := c.Open(t, w.next(gap), gap)
			for _, l := range w.leaves() {
				for _, r := range w.leaves() {
					lq, rq, sure := w.rivals(l, r, halfLife, horizon)
					if !sure {
						continue
					}
					want, known := oracle.CompareFair(lq, rq, halfLife, horizon)
					if l != r && want == 0 {
						continue // shares and names decide
					}
					got := f.Own.OrderQueues(f.Own.Index.Lookup(l), f.Own.Index.Lookup(r))
					if known {
						require.Equal(t, want, got, "seed %d at %v: %s and %s: %+v and %+v", seed, w.clock, l, r, lq, rq)
						all++
					}
				}
			}
			f.Close()
		}
	}
	t.Log(all)
	assert.Greater(t, all, 5000)
}

// TestHoldEndsInTime has a job that never gets the cards that it needs. It holds its card for as long as it has
// waited, and then waits again.
func TestHoldEndsInTime(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: "none"})
	var held []int
	for minute := range 40 {
		s := testbed.NewScene().Node("a", "A", 8).Queue("x", "", "quota", `{"A":8}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			Queue("y", "", "quota", `{"A":8}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			Pods("runs", "y", "A", 4, 1, testbed.On("a")).Pods("big", "x", "A", 8, 1, testbed.InPhase("Inqueue"), testbed.Members(8))
		s.Annotate("x", policy.OrderKey, "nodes=10m")
		f := c.Open(t, s, time.Minute)
		if f.Own.Memory.Fairness.HolderOf("A") != "" {
			held = append(held, minute+1)
		}
		f.Close()
	}
	assert.Equal(t, slices.Concat(minutes(11, 21), minutes(31, 41)), held)
}

// TestHoldEndsWithoutRoom has the quota refuse the job for a minute while it holds the card. Its wait begins again.
func TestHoldEndsWithoutRoom(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: "none"})
	var held []int
	for minute := range 30 {
		quota := `{"A":8}`
		if minute == 14 {
			quota = `{"A":4}`
		}
		s := testbed.NewScene().Node("a", "A", 8).Queue("x", "", "quota", quota, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			Queue("y", "", "quota", `{"A":8}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`).
			Pods("runs", "y", "A", 4, 1, testbed.On("a")).Pods("big", "x", "A", 8, 1, testbed.InPhase("Inqueue"), testbed.Members(8))
		s.Annotate("x", policy.OrderKey, "nodes=10m")
		f := c.Open(t, s, time.Minute)
		if f.Own.Memory.Fairness.HolderOf("A") != "" {
			held = append(held, minute+1)
		}
		f.Close()
	}
	assert.Equal(t, slices.Concat(minutes(11, 15), minutes(25, 31)), held)
}

// TestUsageOfNamespacesOrdersNoQueues compares jobs of one queue with namespaces that take turns, and jobs of two
// queues.
func TestUsageOfNamespacesOrdersNoQueues(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: "none"})
	f := c.Open(t, testbed.NewScene().Node("a", "A", 8).Queue("x", "", "quota", `{"A":8}`).Queue("y", "", "quota", `{"A":8}`).
		Annotate("x", policy.FairShareKey, "namespaces").Annotate("y", policy.FairShareKey, "namespaces").
		Pods("first", "x", "A", 1, 1).Pods("second", "x", "A", 1, 1).Pods("other", "y", "A", 1, 1), 0)
	defer f.Close()
	jobs := map[string]*api.JobInfo{}
	for _, job := range f.Jobs {
		jobs[job.Name] = job
	}
	assert.Negative(t, f.Own.OrderJobs(jobs["first"], jobs["second"]))
	assert.Zero(t, f.Own.OrderJobs(jobs["second"], jobs["other"]))
	assert.Zero(t, f.Own.OrderJobs(jobs["other"], jobs["second"]))
}

func minutes(from, to int) (all []int) {
	for m := from; m < to; m++ {
		all = append(all, m)
	}
	return all
}
