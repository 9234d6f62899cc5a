package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/quota"
)

// draw makes a world with up to 6 candidates, 4 nodes and 3 queues below the root. next returns a number below n.
func draw(next func(n int) int) *world {
	w := &world{cannot: map[placement]bool{}, claim: 1}
	w.queues = []modelQueue{{limit: 100}, {}, {}, {}}
	nodes := 1 + next(4)
	for n := range nodes {
		w.p.Nodes = append(w.p.Nodes, Node{Name: fmt.Sprint("n", n), Free: []float64{float64(1000 * next(3))}})
	}

	order := 0
	for left := next(7); left > 0; {
		size := 1 + next(left)
		left -= size
		owner := 2 + next(2)
		job := Job{Name: fmt.Sprint("j", len(w.p.Jobs)), Spare: next(size+2) - 1}
		if next(4) == 0 {
			job.Roles = map[string]int{"r0": next(2)}
		}
		for pod := range size {
			job.Pods = append(job.Pods, Candidate{Name: fmt.Sprint(job.Name, "-", pod), Role: fmt.Sprint("r", next(2)), Node: next(nodes),
				Frees: []float64{1000}, For: []bool{true}, Class: next(2), Lost: int64(next(3)), Order: order, Fixed: next(8) == 0})
			order++
			w.queues[owner].allocated += 1000
			w.queues[0].allocated += 1000
		}
		w.p.Jobs, w.owners = append(w.p.Jobs, job), append(w.owners, owner)
	}

	for kind := range 1 + next(2) {
		for range 1 + next(3) {
			w.p.Pods = append(w.p.Pods, Pod{Kind: kind, Requests: []float64{float64(1000 * (kind + 1))}})
		}
		for node := range nodes {
			w.cannot[placement{kind, node}] = next(5) == 0
		}
	}
	w.p.Whole = next(2) == 0
	w.queues[0].limit = float64(1000 * (3 + next(10)))
	w.queues[1].limit = float64(1000 * (1 + next(8)))
	w.queues[1].deserved = float64(1000 * next(8))
	for q := 2; q < 4; q++ {
		w.queues[q].deserved = float64(1000 * next(4))
		w.queues[q].guarantee = float64(1000 * next(3))
	}
	w.p.Accounts = w
	return w
}

// check compares a plan with the enumeration of all sets of victims.
func check(t *testing.T, w *world) {
	want, possible := w.enumerate()
	w.p.Checks = 1 << 20
	got := Make(&w.p)
	require.Equal(t, possible, got.Found(), "a plan is found where there is one: %+v", w)
	assert.True(t, got.Best)
	if !possible {
		return
	}

	of, allowed := w.valueOf(got.Victims)
	require.True(t, allowed, "the jobs and queues can lose the victims: %+v of %+v", got, w)
	assert.Equal(t, of.broken, got.Broken)
	require.True(t, !want.better(of) && !of.better(want), "the plan is the best one: %+v, not %+v, of %+v", want, of, w)
	w.checkNodes(t, got)
	w.checkGreedy(t)
}

// checkNodes checks that each pod has room on its node.
func (w *world) checkNodes(t *testing.T, got Plan) {
	free := map[int]float64{}
	for _, v := range got.Victims {
		c := w.p.Jobs[v.Job].Pods[v.Pod]
		free[c.Node] += c.Frees[0]
	}
	for pod, node := range got.Nodes {
		assert.False(t, w.cannot[placement{w.p.Pods[pod].Kind, node}], "the node suits the pod")
		free[node] -= w.p.Pods[pod].Requests[0]
	}
	for node, n := range w.p.Nodes {
		assert.GreaterOrEqual(t, n.Free[0]+free[node], 0.0, "node %d has room", node)
	}
}

// checkGreedy checks a plan of the greedy search alone: it fits.
func (w *world) checkGreedy(t *testing.T) {
	fresh := *w
	fresh.saved = nil
	fresh.queues = append([]modelQueue(nil), w.queues...)
	fresh.p.Accounts = &fresh
	s := newSearch(&fresh.p)
	if s.greedy() != nil {
		return
	}
	s.leaveOut()

	victims := s.victims()
	s.undo(0)
	_, allowed := w.valueOf(victims)
	assert.True(t, allowed, "%+v", w)
	assert.True(t, w.suffices(victims), "%+v", w)
}

// TestRandom compares plans with an enumeration.
func TestRandom(t *testing.T) {
	n := 20000
	if testing.Short() {
		n = 2000
	}
	for seed := range n {
		state := uint64(seed)*0x9E3779B97F4A7C15 + 1
		w := draw(func(n int) int {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			return int(state>>33) % n
		})
		check(t, w)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzPlan does the same for inputs that a fuzzer chooses.
func FuzzPlan(f *testing.F) {
	f.Add([]byte("one node, a job with two pods, and a gang"))
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, draw(func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := int(data[0]) % n
			data = data[1:]
			return b
		}))
	})
}

// inOrder is a world where the pod of job 1 may be evicted only after the pod of job 0.
type inOrder struct{ *world }

func (w inOrder) Evict(job int, pods []int) Spared {
	if job == 1 && w.queues[1].allocated > 0 {
		return ByDeserved
	}
	return w.world.Evict(job, pods)
}

// TestKeepsTheOrder makes a plan that needs its evictions in an order that is not the order of their costs.
func TestKeepsTheOrder(t *testing.T) {
	room := []float64{1000}
	victim := func(node, class int) Job {
		pod := Candidate{Node: node, Frees: room, For: []bool{true}, Class: class}
		return Job{Spare: 1, Pods: []Candidate{pod}}
	}
	w := &world{
		queues: []modelQueue{{allocated: 2000, limit: 9000}, {allocated: 1000}, {allocated: 1000}, {limit: 9000, deserved: 9000}},
		claim:  3,
		owners: []int{1, 2},
		cannot: map[placement]bool{{0, 1}: true, {1, 0}: true},
	}
	w.p = Problem{
		Pods:     []Pod{{Kind: 0, Requests: room}, {Kind: 1, Requests: room}},
		Nodes:    []Node{{Free: []float64{0}}, {Free: []float64{0}}},
		Jobs:     []Job{victim(0, 1), victim(1, 0)},
		Accounts: inOrder{w},
	}

	got := Make(&w.p)
	assert.Equal(t, []int{0, 1}, got.Nodes)
	assert.Equal(t, []Victim{{0, 0}, {1, 0}}, got.Victims)
}

// counting counts the pods that a search tries to place.
type counting struct {
	*world
	placed *int
}

func (w counting) Place(pod, node int) quota.Verdict {
	*w.placed++
	return w.world.Place(pod, node)
}

// TestGangIsPlacedOnce leaves out no victim of a gang that needs whole nodes, and sees that without trying to place the
// gang on too few nodes.
func TestGangIsPlacedOnce(t *testing.T) {
	const gang = 32
	room := []float64{1000}
	w := &world{
		queues: []modelQueue{{allocated: gang * 1000, limit: 1e9}, {limit: 1e9, deserved: 1e9}, {allocated: gang * 1000}},
		claim:  1,
	}
	for node := range gang {
		pod := Candidate{Node: node, Frees: room, For: []bool{true}, Order: node}
		w.owners = append(w.owners, 2)
		w.p.Jobs = append(w.p.Jobs, Job{Spare: 1, Pods: []Candidate{pod}})
		w.p.Nodes = append(w.p.Nodes, Node{Free: []float64{0}})
		w.p.Pods = append(w.p.Pods, Pod{Requests: room})
	}

	placed := 0
	w.p.Accounts = counting{w, &placed}
	got := Make(&w.p)
	assert.Len(t, got.Victims, gang)
	assert.LessOrEqual(t, placed, 20*gang)
}
