package oracle_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// compareClaims compares accounts, and the answers about each pending pod on each node, with the oracle. Earmarks are
// left out: FuzzSession has them.
func compareClaims(m *testbed.ClaimModel, t *testing.T, f *testbed.Fixture, c workload.Cluster, seen map[string]int) {
	t.Helper()
	if !f.Own.Books.Empty() {
		return
	}
	o := oracleOf(m, t, f, c)
	for _, name := range o.Names() {
		q := f.Own.Index.Lookup(name)
		for _, card := range counted(m) {
			require.Equal(t, o.Bound(name)[cardKey(card)], f.Own.Index.RealCapability.Row(q).Get(f.Dim(t, card)), "bound of %s, %s", name, card)
			require.Equal(t, o.Allocated(name)[cardKey(card)], f.Own.Index.Allocated(q).Get(f.Dim(t, card)), "%s has %s\n%v", name, card, m)
		}
	}
	for _, task := range f.SortedTasks() {
		if task.Status != api.Pending {
			continue
		}
		some := false
		for _, node := range f.NodeList {
			some = comparePod(m, t, f, o, task, node.Name, seen) || some
		}
		if some && f.Own.Reclaim.EvictedFor(task) == nil {
			require.True(t, f.Own.AllocatableOf(f.Queues[f.Jobs[task.Job].Queue], task), "%s of %s may have a node, but: %s\n%v", task.Name, f.Jobs[task.Job].Queue, f.Jobs[task.Job].JobFitErrors, m)
		}
	}
}

// comparePod compares the answer about a pod on a node, and reports whether the pod may have it.
func comparePod(m *testbed.ClaimModel, t *testing.T, f *testbed.Fixture, o *oracle.Oracle, task *api.TaskInfo, node string, seen map[string]int) bool {
	t.Helper()
	for _, name := range m.Pods[task.Name] {
		if first := m.Where[name]; first != "" && first != node && m.Claims[name].Cards == nil { // its devices are elsewhere
			fit := f.FitsNode(task, node)
			require.NotEqual(t, cards.NodeFits, fit.Reason, "%s on %s, the claim %s is on %s\n%v", task.Name, node, name, first, m)
			return false
		}
	}
	queue := string(f.Jobs[task.Job].Queue)
	own, shared, served := onNode(m, f, task, node)
	o.ShareClaims(chargesOn(m, node), m.Sharing)
	full, lends := o.PodRefused(oracle.Plain{Queue: queue, Claims: shared}, own), o.LendsPod(oracle.Plain{Queue: queue, Claims: shared}, own)
	fit := f.FitsNode(task, node)
	what := fmt.Sprintf("%s of %s on %s: own %v, shared %v, served %v, refused by %v, guarantees are kept %v, and the answer is %+v",
		task.Name, queue, node, own, shared, served, full, lends, fit)
	fits := served && len(full) == 0 && lends
	require.Equal(t, fits, fit.Reason == cards.NodeFits, "%s\n%v", what, m)
	if fit.Reason == cards.OverQuota && lends { // the reason names a queue that refuses
		require.Contains(t, full, f.Own.Index.Name(fit.Verdict.Queue), what)
	}
	switch {
	case len(m.Pods[task.Name]) == 0:
	case fits:
		seen["fits"]++
	case served && len(full) > 0:
		seen["over quota"]++
	case served:
		seen["guaranteed to others"]++
	default:
		seen["not served"]++
	}
	return fits
}

// onNode returns the cards that a pod takes on a node alone, and the claims that it shares. served reports whether the
// node has cards for all requests, and whether the pod allows these cards.
func onNode(m *testbed.ClaimModel, f *testbed.Fixture, task *api.TaskInfo, node string) (own oracle.Amounts, shared []string, served bool) {
	own, served = oracle.Amounts{}, true
	named := task.Pod.Annotations[card.NameKey]
	take := func(name string, n float64) {
		served = served && (named == "" || slices.Contains(strings.Split(named, "|"), name))
	}
	for _, name := range m.Pods[task.Name] {
		c := m.Claims[name]
		charge := c.Charge(m, node)
		served = served && (c.Cards != nil || charge != nil)
		for card, n := range charge {
			take(card, n)
			if !strings.HasPrefix(name, "shared") {
				own[cardKey(card)] += 1000 * n
			}
		}
		if strings.HasPrefix(name, "shared") {
			shared = append(shared, name)
		}
	}
	if gpus := task.Resreq.ScalarResources[testbed.GPU]; gpus > 0 {
		has := f.Nodes[node].Node.Labels[workload.ProductLabel]
		served = served && has != ""
		take(has, gpus)
		own[cardKey(has)] += gpus
	}
	return m.Groups.With(own), shared, served
}

// group draws a group of cards that every queue bounds.
func group(m *testbed.ClaimModel, r *rand.Rand, s *testbed.Scene) {
	m.Groups = oracle.Groups{cardKey("@g"): {cardKey("A"): 1, cardKey("B"): 0.5, cardKey("A/mig-1g.10gb-mixed"): 0.125}}
	s.Arguments = framework.Arguments{"cardGroups": map[string]any{"g": map[string]any{"A": 1, "B": "1/2", "A/*": "0.125"}}}
	for _, q := range s.Queues {
		for _, key := range []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey} {
			if text := strings.TrimSuffix(q.Annotations[key], "}"); len(text) > 1 {
				q.Annotations[key] = fmt.Sprintf(`%s,"@g":%d}`, text, r.IntN(5))
			}
		}
	}
}

// counted returns the cards and groups that count.
func counted(m *testbed.ClaimModel) []string {
	if m.Groups == nil {
		return modelCards
	}
	return append(slices.Clone(modelCards), "@g")
}

// oracleOf makes an oracle of a session as it is now: all that runs is counted again.
func oracleOf(m *testbed.ClaimModel, t *testing.T, f *testbed.Fixture, c workload.Cluster) *oracle.Oracle {
	s := oracleSession{Fixture: f, t: t}
	from := oracle.Cluster{OpenRoot: f.Own.Settings.Bounds.OpenRoot, Total: oracle.Amounts{}}
	if c.Hierarchy {
		from.Root = index.RootName
	}
	for _, name := range counted(m) {
		from.Cards = append(from.Cards, cardKey(name))
		from.Total[cardKey(name)] += 0
	}
	for _, node := range c.Nodes {
		if n := node.Allocatable[testbed.GPU]; n > 0 {
			from.Total[cardKey(node.Labels[workload.ProductLabel])] += 1000 * float64(n)
		}
		for _, name := range m.Devices[node.Name] {
			from.Total[cardKey(name)] += 1000
		}
	}
	from.Total = m.Groups.With(from.Total)
	from.Bound, from.Available = oracle.Amounts{}.Plus(from.Total), from.Total
	for _, q := range c.Queues {
		from.Queues = append(from.Queues, s.configured(q))
	}
	m.Sharing = nil
	for _, job := range f.SortedJobs() {
		counted := oracle.Job{Queue: string(job.Queue)}
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			own, shared, _ := onNode(m, f, task, task.NodeName)
			shared = slices.DeleteFunc(shared, func(name string) bool { // nothing serves it
				return m.Unserved[task.Name+" "+name] || m.Claims[name].Cards == nil && m.Where[name] == ""
			})
			counted.Tasks = append(counted.Tasks, oracle.Task{Request: own, Placed: true})
			m.Sharing = append(m.Sharing, oracle.Plain{Queue: counted.Queue, Claims: shared})
		}
		from.Jobs = append(from.Jobs, counted)
	}
	o := oracle.New(from)
	o.ShareClaims(chargesOn(m, ""), m.Sharing)
	return o
}

// chargesOn returns the charges of claims, if the claims that no pod has got yet are placed on a node.
func chargesOn(m *testbed.ClaimModel, node string) oracle.DeviceClaims {
	claims := oracle.DeviceClaims{}
	for name, claim := range m.Claims {
		claims[name] = oracle.Amounts{}
		for card, n := range claim.Charge(m, cmp.Or(m.Where[name], node)) {
			claims[name][cardKey(card)] = 1000 * n
		}
		claims[name] = m.Groups.With(claims[name])
	}
	return claims
}

// TestGuaranteesBesideSharedClaims has a pod that shares a claim with a pod in another queue of its department. The
// department and the root are charged nothing more, so the guarantee of another queue stays free.
func TestGuaranteesBesideSharedClaims(t *testing.T) {
	s := testbed.NewScene().MixedNode("dra", nil, workload.Resources{}).Queue("root", "").
		Queue("team", "root", "quota", `{"A":4}`, "guarantee", `{"A":0}`).
		Queue("x", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).Queue("y", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).
		Queue("other", "root", "quota", `{"A":1}`, "guarantee", `{"A":1}`)
	m := testbed.NewClaimModel()
	m.Devices["dra"] = []string{"A", "A", "A", "B", "A/mig-1g.10gb-mixed"}
	s.Pods("one", "x", "", 1, 0, testbed.On("dra")).Pods("two", "y", "", 1, 0).Pods("own", "y", "", 1, 0)
	m.With("one-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	m.With("two-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	m.With("own-0", map[string][]testbed.ModelRequest{"own": {testbed.ExactlyOf(1, "A")}})
	f := s.OpenWith(t, m)
	compareClaims(m, t, f, s.Cluster, map[string]int{})
	f.Schedule(t)
	assert.Equal(t, map[string]string{"two-0": "dra"}, f.Cache.Bound)
}
