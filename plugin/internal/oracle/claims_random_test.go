package oracle_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestRandomClaims runs random clusters over several sessions. After each event, the accounts equal the sums of the
// model, and no session exceeds a quota. The charge of a claim is at least each possible allocation, and equals the
// allocation afterwards. After each action, the engine and the oracle give the same answers about all pending pods on
// all nodes.
func TestRandomClaims(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*testbed.Clusters) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomClaims(t, rand.New(rand.NewPCG(seed, 0xc1)), seen) })
	}
	t.Log(seen)
	for _, what := range []string{"placed", "allocated", "waiting", "fits", "over quota", "not served"} {
		if *testbed.Clusters >= 100 {
			require.Greater(t, seen[what], *testbed.Clusters/20, "hardly any %s: %v", what, seen)
		}
	}
}

// FuzzClaims is TestRandomClaims with clusters drawn from bytes.
func FuzzClaims(f *testing.F) {
	testbed.AddSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { randomClaims(t, workload.Bytes(data), map[string]int{}) })
}

var modelCards = []string{"A", "B", "A/mig-1g.10gb-mixed"}

func randomClaims(t *testing.T, r *rand.Rand, seen map[string]int) {
	s, m := drawClaims(r)
	for cycle := range 1 + r.IntN(3) {
		f := s.OpenWith(t, m)
		if cycle == 0 {
			checkMost(m, t)
		}
		compareClaims(m, t, f, s.Cluster, seen)
		h := heldBy(f)
		f.AddEventHandler(&framework.EventHandler{AllocateFunc: func(e *framework.Event) {
			if e.Err == nil && !f.Own.NotCharged[e.Task.UID] {
				m.NotePlaced(e.Task)
				f.CheckCards(t)
			}
		}, DeallocateFunc: func(e *framework.Event) { f.CheckCards(t) }})
		for _, action := range []framework.Action{enqueue.New(), allocate.New(), session.NewReclaim(), session.NewPreempt()} {
			f.Run(t, action)
			h.checkNow(t, f)
			compareClaims(m, t, f, s.Cluster, seen)
		}
		for _, job := range f.Jobs {
			if job.JobFitErrors != "" {
				seen["waiting"]++
			}
		}
		tasks := f.SortedTasks()
		for range r.IntN(6) {
			randomStatement(f, t, r, tasks, held{})
			h.checkNow(t, f)
			compareClaims(m, t, f, s.Cluster, seen)
		}
		seen["placed"] += len(f.Cache.Bound)
		seen["evicted"] += len(f.Cache.Evicted)
		f.Close()
		follow(m, t, r, s, f, seen)
	}
}

// checkNow requires that every queue is within its maximum. What is earmarked is for the same job, in sessions after
// the first one.
func (h held) checkNow(t *testing.T, f *testbed.Fixture) {
	t.Helper()
	for q, most := range h {
		for d, n := range most {
			require.LessOrEqual(t, f.Own.Index.Allocated(q).Get(d), n, "queue %s, card %s\n%v", f.Own.Index.Name(q), f.Own.Memory.Names.Name(d), f.Model)
		}
	}
}

// follow starts the pods that a session bound, and allocates some of the claims of pods that run.
func follow(m *testbed.ClaimModel, t *testing.T, r *rand.Rand, s *testbed.Scene, f *testbed.Fixture, seen map[string]int) {
	for name, c := range m.Claims { // what shares a claim is placed where its first pod is
		if strings.HasPrefix(name, "shared") && m.Where[name] == "" {
			c.Placed, c.Node = nil, ""
		}
	}
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			if task.Status == workload.TaskRunning {
				keepPlaced(m, &task, true)
			}
		}
	}
	for _, pod := range m.Order {
		if node, bound := f.Cache.Bound[pod]; bound && !slices.Contains(f.Cache.Evicted, pod) {
			keepPlaced(m, &workload.Task{Name: pod, Node: node}, false)
		}
	}
	gone := func(task workload.Task) bool { return slices.Contains(f.Cache.Evicted, task.Name) }
	for i := range s.Jobs {
		job := &s.Jobs[i]
		job.Tasks = slices.DeleteFunc(job.Tasks, gone)
		for k := range job.Tasks {
			task := &job.Tasks[k]
			if node, bound := f.Cache.Bound[task.Name]; bound && task.Status == workload.TaskPending {
				task.Status, task.Node, job.Phase = workload.TaskRunning, node, workload.Running
			}
			if task.Status == workload.TaskRunning {
				allocateSome(m, t, r, task, seen)
			}
		}
	}
	if r.IntN(3) == 0 { // the driver of a node publishes other devices: pods keep their devices
		node := fmt.Sprint("dra", r.IntN(2))
		if devices := m.Devices[node]; len(devices) > 0 && !allocatedOn(m, node) {
			m.Devices[node] = append(slices.Clone(devices), modelCards[r.IntN(len(modelCards))])
			delete(m.Slices, node)
		}
	}
}

// keepPlaced keeps the most that the claims of a pod can get on its node, until they are allocated. Among pods that ran
// before, the first one decides on the node of a shared claim.
func keepPlaced(m *testbed.ClaimModel, task *workload.Task, ran bool) {
	for _, name := range m.Pods[task.Name] {
		node := task.Node
		if first := m.Opened[name]; ran && first != "" {
			node = first
		}
		if c := m.Claims[name]; c.Cards == nil && (len(c.Placed) == 0 || !strings.HasPrefix(name, "shared") && c.Node != node) {
			c.Node, c.Placed = node, c.Most(m.Devices[node])
		}
	}
}

func allocatedOn(m *testbed.ClaimModel, node string) bool {
	for _, c := range m.Claims {
		if c.Cards != nil && c.Pool == node {
			return true
		}
	}
	return false
}

func allocateSome(m *testbed.ClaimModel, t *testing.T, r *rand.Rand, task *workload.Task, seen map[string]int) {
	for _, name := range m.Pods[task.Name] {
		c := m.Claims[name]
		if c.Cards != nil || r.IntN(3) == 0 {
			continue
		}
		taken := map[int]bool{}
		for _, other := range m.Claims {
			if other.Pool == task.Node {
				for _, i := range other.Allocated {
					taken[i] = true
				}
			}
		}
		all := allocations(c.Requests, m.Devices[task.Node], taken)
		if len(all) == 0 {
			continue
		}
		before := c.Charge(m, task.Node)
		c.Allocate(m, task.Node, all[r.IntN(len(all))])
		seen["allocated"]++
		if c.Node == task.Node && c.Placed != nil && !maps.Equal(before, c.Most(m.Devices[task.Node])) {
			continue // the devices are others since
		}
		for card, n := range c.Cards {
			require.GreaterOrEqual(t, before[card], n, "a charge before the allocation is at least the exact one")
		}
	}
}

// checkMost checks that the most that a claim can get in the model is at least each of its possible allocations.
func checkMost(m *testbed.ClaimModel, t *testing.T) {
	for name, c := range m.Claims {
		for node, devices := range m.Devices {
			most := c.Most(devices)
			for _, allocation := range allocations(c.Requests, devices, nil) {
				has := map[string]float64{}
				for _, i := range allocation {
					has[devices[i]]++
				}
				for card, n := range has {
					require.GreaterOrEqual(t, most[card], n, "claim %s on %s", name, node)
				}
			}
		}
	}
}

// allocations returns all sets of devices that a claim with these requests can be given.
func allocations(requests []testbed.ModelRequest, devices []string, taken map[int]bool) (all [][]int) {
	var choose func(request int, has []int)
	choose = func(request int, has []int) {
		if request == len(requests) {
			all = append(all, slices.Clone(has))
			return
		}

		for _, a := range requests[request] {
			for _, some := range setsOf(a, devices, taken, has) {
				choose(request+1, append(slices.Clone(has), some...))
			}
		}
	}
	choose(0, nil)
	return all
}

// setsOf returns the sets of devices that an alternative can get in addition to those that the claim has.
func setsOf(a testbed.ModelAlternative, devices []string, taken map[int]bool, has []int) [][]int {
	var free []int
	total := 0
	for i, name := range devices {
		if !slices.Contains(a.Cards, name) {
			continue
		}
		total++
		if !taken[i] && !slices.Contains(has, i) {
			free = append(free, i)
		}
	}

	switch {
	case a.Count > 0:
		return subsets(free, a.Count)
	case len(free) == total && total > 0: // all of them
		return [][]int{free}
	}

	return nil
}

// subsets returns all subsets of n elements.
func subsets(of []int, n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for i := range of {
		for _, rest := range subsets(of[i+1:], n-1) {
			all = append(all, append([]int{of[i]}, rest...))
		}
	}

	return all
}

// drawClaims draws a cluster with claims.
func drawClaims(r *rand.Rand) (*testbed.Scene, *testbed.ClaimModel) {
	s, m := testbed.NewScene(), testbed.NewClaimModel()
	s.Node("plugin", "A", 1+r.Int64N(3))
	for i := range 2 {
		node := fmt.Sprint("dra", i)
		s.MixedNode(node, nil, workload.Resources{})
		for range r.IntN(5) {
			m.Devices[node] = append(m.Devices[node], modelCards[r.IntN(len(modelCards))])
		}
	}
	leaves, parent := []string{"x", "y", "z"}, ""
	if r.IntN(2) == 0 {
		parent = "team"
		s.Queue("root", "").Queue("team", "root", "quota", drawQuota(r))
	}
	for _, q := range leaves {
		s.Queue(q, parent, "quota", drawQuota(r), "deserved", drawQuota(r), "guarantee", []string{`{}`, drawQuota(r), `{"A":0,"B":0,"A/mig-1g.10gb-mixed":0}`}[r.IntN(3)])
	}
	if r.IntN(3) == 0 {
		group(m, r, s)
	}
	claims := 0
	for i := range 2 + r.IntN(5) {
		name, n := fmt.Sprint("job", i), 1+r.IntN(3)
		list, gpus := "", int64(0)
		if r.IntN(3) == 0 {
			list, gpus = []string{"", "A", "A|B"}[r.IntN(3)], 1
		} else if r.IntN(4) == 0 {
			list = "A|B"
		}
		var change []func(*workload.Job)
		if node := fmt.Sprint("dra", r.IntN(2)); gpus == 0 && r.IntN(4) == 0 {
			change = append(change, testbed.On(node))
		}
		s.Pods(name, leaves[r.IntN(3)], list, n, gpus, append(change, testbed.Members(int32(r.IntN(n+1))))...)
		for k := range n {
			pod := fmt.Sprintf("%s-%d", name, k)
			if gpus == 0 || r.IntN(6) == 0 {
				claims++
				m.With(pod, map[string][]testbed.ModelRequest{fmt.Sprint("own", claims): drawRequests(r)})
			}
			if r.IntN(4) == 0 {
				m.With(pod, map[string][]testbed.ModelRequest{fmt.Sprint("shared", r.IntN(3)): drawRequests(r)})
			}
		}
	}
	return s, m
}

func drawQuota(r *rand.Rand) string {
	return fmt.Sprintf(`{"A":%d,"B":%d,"A/mig-1g.10gb-mixed":%d}`, r.IntN(5), r.IntN(4), r.IntN(4))
}

func drawRequests(r *rand.Rand) (all []testbed.ModelRequest) {
	for range 1 + r.IntN(2) {
		var request testbed.ModelRequest
		for range 1 + r.IntN(2) {
			names := slices.Clone(modelCards[:1+r.IntN(3)])
			if r.IntN(3) == 0 {
				names = []string{modelCards[r.IntN(3)]}
			}
			request = append(request, testbed.ModelAlternative{Count: r.IntN(3), Cards: names})
		}
		all = append(all, request)
	}
	return all
}
