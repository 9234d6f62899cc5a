package session

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// exactlyOf is a request for a number of devices of some cards.
func exactlyOf(count int, names ...string) modelRequest {
	return modelRequest{{Count: count, Cards: names}}
}

// claimScene returns a scene with a node of the device plugin and one of a DRA driver, with the same model.
func claimScene(quota string) (*scene, *claimModel) {
	s := newScene().node("plugin", "A", 4).mixedNode("dra", nil, workload.Resources{}).queue("q", "", "quota", quota)
	m := newClaimModel()
	m.devices["dra"] = []string{"A", "A", "A", "B", "A/mig-1g.10gb-mixed"}
	return s, m
}

// with gives a pod claims.
func (m *claimModel) with(pod string, claims map[string][]modelRequest) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		if m.claims[name] == nil {
			m.claims[name] = &modelClaim{requests: claims[name]}
		}
		m.pods[pod] = append(m.pods[pod], name)
	}
}

// TestClaimsAndPluginShareAnAccount has a quota of a model for pods of the device plugin and pods with claims together.
func TestClaimsAndPluginShareAnAccount(t *testing.T) {
	for quota, want := range map[string]int{`{"A":2}`: 2, `{"A":3}`: 3, `{"A":9}`: 5, `{"B":9}`: 0} {
		s, m := claimScene(quota)
		s.pods("plugin", "q", "A", 2, 1).pods("claims", "q", "", 3, 0)
		for i := range 3 {
			m.with(fmt.Sprint("claims-", i), map[string][]modelRequest{fmt.Sprint("own", i): {exactlyOf(1, "A")}})
		}
		f := s.openWith(t, m).schedule(t)
		assert.Len(t, f.cache.Bound, want, quota)
		if want < 5 {
			says := ""
			for _, job := range f.Jobs {
				says += job.JobFitErrors
			}
			assert.Contains(t, says, "Queue <q> has insufficient <A> quota: requested <1>")
		}
	}
}

// TestClaimOfSeveralCards charges each card that a claim may get, until it is allocated.
func TestClaimOfSeveralCards(t *testing.T) {
	s, m := claimScene(`{"A":8,"B":1}`)
	s.pods("any", "q", "", 3, 0)
	for i := range 3 {
		m.with(fmt.Sprint("any-", i), map[string][]modelRequest{fmt.Sprint("own", i): {exactlyOf(1, "A", "B")}})
	}
	f := s.openWith(t, m).schedule(t)
	assert.Len(t, f.cache.Bound, 1, "the second may get B as well")
	var placed string
	for pod := range f.cache.Bound {
		placed = pod
	}
	f.close()
	for i := range s.Jobs[0].Tasks {
		if task := &s.Jobs[0].Tasks[i]; task.Name == placed {
			task.Status, task.Node = workload.TaskRunning, "dra"
		}
	}
	m.claims["own"+strings.TrimPrefix(placed, "any-")].allocate(m, "dra", []int{0})
	f = s.openWith(t, m)
	assert.Equal(t, map[string]float64{"A": 1}, InspectionOf(f.own).Charged(f.task(placed)))
	assert.Len(t, f.schedule(t).cache.Bound, 1)
}

func (f *fixture) dim(t *testing.T, card string) fastres.Dim {
	t.Helper()
	d, known := f.own.Memory.Names.LookupCard(card)
	require.True(t, known, card)
	return d
}

// TestSharedClaimsOfCards charges each queue once for a claim that several pods name, and each ancestor once.
func TestSharedClaimsOfCards(t *testing.T) {
	s := newScene().mixedNode("dra", nil, workload.Resources{}).queue("root", "").
		queue("team", "root", "quota", `{"A":2}`).queue("x", "team", "quota", `{"A":2}`).queue("y", "team", "quota", `{"A":2}`)
	m := newClaimModel()
	m.devices["dra"] = []string{"A", "A", "A", "A"}
	s.pods("one", "x", "", 3, 0).pods("two", "y", "", 3, 0).pods("own", "y", "", 1, 0)
	for i := range 3 {
		m.with(fmt.Sprint("one-", i), map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
		m.with(fmt.Sprint("two-", i), map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	}
	m.with("own-0", map[string][]modelRequest{"own": {exactlyOf(1, "A")}})
	f := s.openWith(t, m).schedule(t)
	assert.Len(t, f.cache.Bound, 6)
	has := func(queue string) float64 {
		return f.own.Index.Allocated(f.own.Index.Lookup(queue)).Get(f.dim(t, "A")) / 1000
	}
	for _, queue := range []string{"x", "y", "team", "root"} {
		assert.Equal(t, 2.0, has(queue), queue)
	}
	assert.Contains(t, f.job("own").JobFitErrors, "insufficient <A> quota: requested <1>, total would be <3>, but capability is <2>")
	f.close()

	// In the next session they run, and the claim is allocated. The pods of x end one by one.
	for i := range s.Jobs[:2] {
		on("dra")(&s.Jobs[i])
	}
	m.claims["shared"].allocate(m, "dra", []int{1, 3})
	f = s.openWith(t, m)
	statement := framework.NewStatement(f.Session)
	for i := range 3 {
		assert.Equal(t, 2.0, has("x"))
		require.NoError(t, release.Evict(statement, f.task(fmt.Sprint("one-", i)), "test"))
		f.checkCards(t)
	}
	assert.Equal(t, []float64{0, 2, 2}, []float64{has("x"), has("y"), has("team")})
	statement.Discard()
	f.checkCards(t)
	assert.Equal(t, []float64{2, 2, 2}, []float64{has("x"), has("y"), has("team")})
}

// TestTerminatingPodsShareClaims has a claim that only a pod which is being deleted holds: it counts until the pod is
// gone.
func TestTerminatingPodsShareClaims(t *testing.T) {
	s, m := claimScene(`{"A":1}`)
	s.pods("old", "q", "", 1, 0, on("dra")).pods("new", "q", "", 1, 0)
	s.Jobs[0].Tasks[0].Status = workload.TaskReleasing
	m.with("old-0", map[string][]modelRequest{"shared-old": {exactlyOf(1, "A")}})
	m.with("new-0", map[string][]modelRequest{"own": {exactlyOf(1, "A")}})
	m.claims["shared-old"].allocate(m, "dra", []int{0})
	f := s.openWith(t, m)
	q, d := f.own.Index.Lookup("q"), f.dim(t, "A")
	assert.Equal(t, 1000.0, f.own.Books.Now.Queues.Allocated(q).Get(d))
	assert.Equal(t, 0.0, f.own.Books.Future.Queues.Allocated(q).Get(d))
	assert.Empty(t, f.schedule(t).cache.Bound)
	f.close()
	s.Jobs = s.Jobs[1:]
	assert.Len(t, s.openWith(t, m).schedule(t).cache.Bound, 1)
}

// TestCardClaimsInSimulations removes pods with claims in a simulation, and adds one.
func TestCardClaimsInSimulations(t *testing.T) {
	s, m := claimScene(`{"A":2}`)
	s.pods("run", "q", "", 2, 0, on("dra")).pods("new", "q", "", 1, 0)
	m.with("run-0", map[string][]modelRequest{"shared": {exactlyOf(1, "A")}})
	m.with("run-1", map[string][]modelRequest{"shared": {exactlyOf(1, "A")}, "own1": {exactlyOf(1, "A")}})
	m.with("new-0", map[string][]modelRequest{"own": {exactlyOf(2, "A")}})
	f := s.openWith(t, m)
	node, task := f.Nodes["dra"], f.task("new-0")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), state, task, f.task("run-1"), node))
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node), "run-0 shares the claim")
	require.NoError(t, f.SimulateRemoveTaskFn(t.Context(), state, task, f.task("run-0"), node))
	require.NoError(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), state, task, f.task("run-0"), node))
	require.Error(t, f.SimulatePredicateFn(t.Context(), state, task, node))
	f.checkCards(t)
}

// TestClaimsInNamespaces limits what a namespace has by claims.
func TestClaimsInNamespaces(t *testing.T) {
	s, m := claimScene(`{"A":9}`)
	s.Queues[0].Annotations["volcano.sh/card.quota.namespace"] = `{"A":2}`
	s.pods("run", "q", "", 4, 0).pods("share", "q", "", 2, 0)
	for i := range 4 {
		m.with(fmt.Sprint("run-", i), map[string][]modelRequest{fmt.Sprint("own", i): {exactlyOf(1, "A")}})
	}
	for i := range 2 {
		m.with(fmt.Sprint("share-", i), map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	}
	f := s.openWith(t, m).schedule(t)
	assert.Len(t, f.cache.Bound, 2)
	says := f.job("run").JobFitErrors + f.job("share").JobFitErrors
	assert.Contains(t, says, "quota for namespace <"+f.job("run").Namespace+">")
}

// TestReclaimForSeveralClaims asks whether a queue that deserves one card may take back two for a pod.
func TestReclaimForSeveralClaims(t *testing.T) {
	s, m := claimScene(`{"A":4}`)
	s.Queues[0].Annotations["volcano.sh/card.deserved"], s.Queues[0].Annotations["volcano.sh/card.guarantee"] = `{"A":1}`, `{"A":0}`
	s.pods("take", "q", "", 3, 0, inPhase(workload.Inqueue))
	m.with("take-0", map[string][]modelRequest{"one": {exactlyOf(1, "A")}})
	m.with("take-1", map[string][]modelRequest{"both": {exactlyOf(1, "A"), exactlyOf(1, "A")}})
	m.with("take-2", map[string][]modelRequest{"first": {exactlyOf(1, "A")}, "second": {exactlyOf(1, "A")}})
	f := s.openWith(t, m)
	for name, may := range map[string]bool{"take-0": true, "take-1": false, "take-2": false} {
		assert.Equal(t, may, f.own.preemptive(f.Queues["q"], []*api.TaskInfo{f.task(name)}), name)
	}
	assert.False(t, f.own.preemptive(f.Queues["q"], []*api.TaskInfo{f.task("take-0"), f.task("take-1")}), "all together")
}

// TestReclaimOfClaims takes cards of claims back that another queue borrowed, and none of pods that share a claim.
func TestReclaimOfClaims(t *testing.T) {
	s := newScene().mixedNode("dra", nil, workload.Resources{}).queue("root", "").
		queue("lender", "root", "quota", `{"A":4}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
		queue("borrower", "root", "quota", `{"A":4}`, "deserved", `{"A":0}`, "guarantee", `{"A":0}`)
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	m := newClaimModel()
	m.devices["dra"] = []string{"A", "A", "A", "A", "A", "A"}
	s.pods("borrow", "borrower", "", 2, 0, on("dra"), members(0)).pods("share", "borrower", "", 2, 0, on("dra"), members(0)).
		pods("take", "lender", "", 1, 0, inPhase(workload.Inqueue))
	m.with("take-0", map[string][]modelRequest{"take": {exactlyOf(1, "A")}})
	for i := range 2 {
		m.with(fmt.Sprint("borrow-", i), map[string][]modelRequest{fmt.Sprint("own", i): {exactlyOf(1, "A")}})
		m.with(fmt.Sprint("share-", i), map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	}
	f := s.openWith(t, m).run(t, allocate.New(), NewReclaim())
	require.Len(t, f.cache.Evicted, 1)
	assert.Contains(t, f.cache.Evicted[0], "borrow-")
}

// TestPlansSeeDevices reclaims devices of claims where quotas have room: devices are no resource of a node, and a plan
// evicts for those that are taken, but not where some are idle.
func TestPlansSeeDevices(t *testing.T) {
	for _, of := range []struct {
		name    string
		devices []string
		pods    int
		request modelRequest
		evicted int
	}{
		{"all devices are taken", []string{"A", "A"}, 1, exactlyOf(1, "A"), 1},
		{"a gang needs two", []string{"A", "A"}, 2, exactlyOf(1, "A"), 2},
		{"a gang needs two, and one is idle", []string{"A", "A", "A"}, 2, exactlyOf(1, "A"), 1},
		{"one is idle", []string{"A", "A", "A"}, 1, exactlyOf(1, "A"), 0},
		{"another card of the list is idle", []string{"A", "A", "B"}, 1, exactlyOf(1, "A", "B"), 0},
		{"no card of the list is idle", []string{"A", "A"}, 1, exactlyOf(1, "A", "B"), 1},
	} {
		t.Run(of.name, func(t *testing.T) {
			s := newScene().mixedNode("dra", nil, workload.Resources{}).
				queue("lender", "", "quota", `{"A":9,"B":9}`, "deserved", `{"A":9,"B":9}`, "guarantee", `{"A":0,"B":0}`).
				queue("borrower", "", "quota", `{"A":9,"B":9}`, "deserved", `{"A":0,"B":0}`, "guarantee", `{"A":0,"B":0}`)
			m := newClaimModel()
			m.devices["dra"] = of.devices
			s.pods("borrow", "borrower", "", 2, 0, on("dra"), members(0)).pods("take", "lender", "", of.pods, 0, members(int32(of.pods)), inPhase(workload.Inqueue))
			for i := range 2 {
				m.with(fmt.Sprint("borrow-", i), map[string][]modelRequest{fmt.Sprint("own", i): {exactlyOf(1, "A")}})
			}
			for i := range of.pods {
				m.with(fmt.Sprint("take-", i), map[string][]modelRequest{fmt.Sprint("take", i): {of.request}})
			}
			f := s.openWith(t, m).run(t, NewReclaim())
			assert.Len(t, f.cache.Evicted, of.evicted)
		})
	}
}

// TestRandomClaims runs random clusters over several sessions. After each event, the accounts are what the model adds
// up; a charge before the allocation is at least each possible allocation, and equal afterwards; no session exceeds a
// quota. After each action, the answers about all pending pods on all nodes are those of the oracle.
func TestRandomClaims(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*clusters) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomClaims(t, rand.New(rand.NewPCG(seed, 0xc1)), seen) })
	}
	t.Log(seen)
	for _, what := range []string{"placed", "allocated", "waiting", "fits", "over quota", "not served"} {
		if *clusters >= 100 {
			require.Greater(t, seen[what], *clusters/20, "hardly any %s: %v", what, seen)
		}
	}
}

// FuzzClaims is TestRandomClaims with clusters drawn from bytes.
func FuzzClaims(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { randomClaims(t, workload.Bytes(data), map[string]int{}) })
}

var modelCards = []string{"A", "B", "A/mig-1g.10gb-mixed"}

func randomClaims(t *testing.T, r *rand.Rand, seen map[string]int) {
	s, m := drawClaims(r)
	for session := range 1 + r.IntN(3) {
		f := s.openWith(t, m)
		if session == 0 {
			m.checkMost(t)
		}
		m.compareClaims(t, f, s.Cluster, seen)
		h := f.held()
		f.AddEventHandler(&framework.EventHandler{AllocateFunc: func(e *framework.Event) {
			if e.Err == nil && !f.own.NotCharged[e.Task.UID] {
				m.notePlaced(e.Task)
				f.checkCards(t)
			}
		}, DeallocateFunc: func(e *framework.Event) { f.checkCards(t) }})
		for _, action := range []framework.Action{enqueue.New(), allocate.New(), NewReclaim(), NewPreempt()} {
			f.run(t, action)
			h.checkNow(t, f)
			m.compareClaims(t, f, s.Cluster, seen)
		}
		for _, job := range f.Jobs {
			if job.JobFitErrors != "" {
				seen["waiting"]++
			}
		}
		tasks := f.sortedTasks()
		for range r.IntN(6) {
			f.randomStatement(t, r, tasks, held{})
			h.checkNow(t, f)
			m.compareClaims(t, f, s.Cluster, seen)
		}
		seen["placed"] += len(f.cache.Bound)
		seen["evicted"] += len(f.cache.Evicted)
		f.close()
		m.follow(t, r, s, f, seen)
	}
}

// checkNow requires that every queue is within its maximum. What is earmarked is for the same job, in sessions after
// the first one.
func (h held) checkNow(t *testing.T, f *fixture) {
	t.Helper()
	for q, most := range h {
		for d, n := range most {
			require.LessOrEqual(t, f.own.Index.Allocated(q).Get(d), n, "queue %s, card %s\n%v", f.own.Index.Name(q), f.own.Memory.Names.Name(d), f.model)
		}
	}
}

// follow starts the pods that a session bound, and allocates some of the claims of pods that run.
func (m *claimModel) follow(t *testing.T, r *rand.Rand, s *scene, f *fixture, seen map[string]int) {
	for name, c := range m.claims { // what shares a claim is placed where its first pod is
		if strings.HasPrefix(name, "shared") && m.where[name] == "" {
			c.placed, c.node = nil, ""
		}
	}
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			if task.Status == workload.TaskRunning {
				m.keepPlaced(&task, true)
			}
		}
	}
	for _, pod := range m.order {
		if node, bound := f.cache.Bound[pod]; bound && !slices.Contains(f.cache.Evicted, pod) {
			m.keepPlaced(&workload.Task{Name: pod, Node: node}, false)
		}
	}
	gone := func(task workload.Task) bool { return slices.Contains(f.cache.Evicted, task.Name) }
	for i := range s.Jobs {
		job := &s.Jobs[i]
		job.Tasks = slices.DeleteFunc(job.Tasks, gone)
		for k := range job.Tasks {
			task := &job.Tasks[k]
			if node, bound := f.cache.Bound[task.Name]; bound && task.Status == workload.TaskPending {
				task.Status, task.Node, job.Phase = workload.TaskRunning, node, workload.Running
			}
			if task.Status == workload.TaskRunning {
				m.allocateSome(t, r, task, seen)
			}
		}
	}
	if r.IntN(3) == 0 { // the driver of a node publishes other devices: what pods have stays
		node := fmt.Sprint("dra", r.IntN(2))
		if devices := m.devices[node]; len(devices) > 0 && !m.allocatedOn(node) {
			m.devices[node] = append(slices.Clone(devices), modelCards[r.IntN(len(modelCards))])
			delete(m.slices, node)
		}
	}
}

// keepPlaced keeps what the claims of a pod can get on its node, until they are allocated. Of pods that ran before, the
// first one decides on the node of what they share.
func (m *claimModel) keepPlaced(task *workload.Task, ran bool) {
	for _, name := range m.pods[task.Name] {
		node := task.Node
		if first := m.opened[name]; ran && first != "" {
			node = first
		}
		if c := m.claims[name]; c.cards == nil && (len(c.placed) == 0 || !strings.HasPrefix(name, "shared") && c.node != node) {
			c.node, c.placed = node, c.most(m.devices[node])
		}
	}
}

func (m *claimModel) allocatedOn(node string) bool {
	for _, c := range m.claims {
		if c.cards != nil && c.pool == node {
			return true
		}
	}
	return false
}

func (m *claimModel) allocateSome(t *testing.T, r *rand.Rand, task *workload.Task, seen map[string]int) {
	for _, name := range m.pods[task.Name] {
		c := m.claims[name]
		if c.cards != nil || r.IntN(3) == 0 {
			continue
		}
		taken := map[int]bool{}
		for _, other := range m.claims {
			if other.pool == task.Node {
				for _, i := range other.allocated {
					taken[i] = true
				}
			}
		}
		all := c.allocations(m.devices[task.Node], taken)
		if len(all) == 0 {
			continue
		}
		before := c.charge(m, task.Node)
		c.allocate(m, task.Node, all[r.IntN(len(all))])
		seen["allocated"]++
		if c.node == task.Node && c.placed != nil && !maps.Equal(before, c.most(m.devices[task.Node])) {
			continue // the devices are others since
		}
		for card, n := range c.cards {
			require.GreaterOrEqual(t, before[card], n, "a charge before the allocation is at least the exact one")
		}
	}
}

// checkMost compares what the model says of claims with all their possible allocations.
func (m *claimModel) checkMost(t *testing.T) {
	for name, c := range m.claims {
		for node, devices := range m.devices {
			most := c.most(devices)
			for _, allocation := range c.allocations(devices, nil) {
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

// drawClaims draws a cluster with claims.
func drawClaims(r *rand.Rand) (*scene, *claimModel) {
	s, m := newScene(), newClaimModel()
	s.node("plugin", "A", 1+r.Int64N(3))
	for i := range 2 {
		node := fmt.Sprint("dra", i)
		s.mixedNode(node, nil, workload.Resources{})
		for range r.IntN(5) {
			m.devices[node] = append(m.devices[node], modelCards[r.IntN(len(modelCards))])
		}
	}
	leaves, parent := []string{"x", "y", "z"}, ""
	if r.IntN(2) == 0 {
		parent = "team"
		s.queue("root", "").queue("team", "root", "quota", drawQuota(r))
	}
	for _, q := range leaves {
		s.queue(q, parent, "quota", drawQuota(r), "deserved", drawQuota(r), "guarantee", []string{`{}`, drawQuota(r), `{"A":0,"B":0,"A/mig-1g.10gb-mixed":0}`}[r.IntN(3)])
	}
	if r.IntN(3) == 0 {
		m.group(r, s)
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
			change = append(change, on(node))
		}
		s.pods(name, leaves[r.IntN(3)], list, n, gpus, append(change, members(int32(r.IntN(n+1))))...)
		for k := range n {
			pod := fmt.Sprintf("%s-%d", name, k)
			if gpus == 0 || r.IntN(6) == 0 {
				claims++
				m.with(pod, map[string][]modelRequest{fmt.Sprint("own", claims): drawRequests(r)})
			}
			if r.IntN(4) == 0 {
				m.with(pod, map[string][]modelRequest{fmt.Sprint("shared", r.IntN(3)): drawRequests(r)})
			}
		}
	}
	return s, m
}

func drawQuota(r *rand.Rand) string {
	return fmt.Sprintf(`{"A":%d,"B":%d,"A/mig-1g.10gb-mixed":%d}`, r.IntN(5), r.IntN(4), r.IntN(4))
}

func drawRequests(r *rand.Rand) (all []modelRequest) {
	for range 1 + r.IntN(2) {
		var request modelRequest
		for range 1 + r.IntN(2) {
			names := slices.Clone(modelCards[:1+r.IntN(3)])
			if r.IntN(3) == 0 {
				names = []string{modelCards[r.IntN(3)]}
			}
			request = append(request, modelAlternative{Count: r.IntN(3), Cards: names})
		}
		all = append(all, request)
	}
	return all
}
