package session

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// compareClaims compares accounts, and the answers about each pending pod on each node, with the oracle. Earmarks are
// left out: FuzzSession has them.
func (m *claimModel) compareClaims(t *testing.T, f *fixture, c workload.Cluster, seen map[string]int) {
	t.Helper()
	if !f.own.Books.Empty() {
		return
	}
	o := m.oracleOf(t, f, c)
	for _, name := range o.Names() {
		q := f.own.Index.Lookup(name)
		for _, card := range m.counted() {
			require.Equal(t, o.Bound(name)[cardKey(card)], f.own.Index.RealCapability.Row(q).Get(f.dim(t, card)), "bound of %s, %s", name, card)
			require.Equal(t, o.Allocated(name)[cardKey(card)], f.own.Index.Allocated(q).Get(f.dim(t, card)), "%s has %s\n%v", name, card, m)
		}
	}
	for _, task := range f.sortedTasks() {
		if task.Status != api.Pending {
			continue
		}
		some := false
		for _, node := range f.NodeList {
			some = m.comparePod(t, f, o, task, node.Name, seen) || some
		}
		if some && f.own.Reclaim.EvictedFor(task) == nil {
			require.True(t, f.own.AllocatableOf(f.Queues[f.Jobs[task.Job].Queue], task), "%s of %s may have a node, but: %s\n%v", task.Name, f.Jobs[task.Job].Queue, f.Jobs[task.Job].JobFitErrors, m)
		}
	}
}

// comparePod compares the answer about a pod on a node, and reports whether the pod may have it.
func (m *claimModel) comparePod(t *testing.T, f *fixture, o *oracle.Oracle, task *api.TaskInfo, node string, seen map[string]int) bool {
	t.Helper()
	for _, name := range m.pods[task.Name] {
		if first := m.where[name]; first != "" && first != node && m.claims[name].cards == nil { // its devices are those of another node
			fit := f.fitsNode(task, node)
			require.NotEqual(t, cards.NodeFits, fit.Reason, "%s on %s, the claim %s is on %s\n%v", task.Name, node, name, first, m)
			return false
		}
	}
	queue := string(f.Jobs[task.Job].Queue)
	own, shared, served := m.onNode(f, task, node)
	o.ShareClaims(m.chargesOn(node), m.sharing)
	full, lends := o.PodRefused(oracle.Plain{Queue: queue, Claims: shared}, own), o.LendsPod(oracle.Plain{Queue: queue, Claims: shared}, own)
	fit := f.fitsNode(task, node)
	what := fmt.Sprintf("%s of %s on %s: own %v, shared %v, served %v, refused by %v, guarantees are kept %v, and the answer is %+v",
		task.Name, queue, node, own, shared, served, full, lends, fit)
	fits := served && len(full) == 0 && lends
	require.Equal(t, fits, fit.Reason == cards.NodeFits, "%s\n%v", what, m)
	if fit.Reason == cards.OverQuota && lends { // the reason names a queue that refuses
		require.Contains(t, full, f.own.Index.Name(fit.Verdict.Queue), what)
	}
	switch {
	case len(m.pods[task.Name]) == 0:
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

// onNode returns what a pod takes on a node alone, the claims that it shares, and whether the node has cards for all
// that it requests, which are those that it names.
func (m *claimModel) onNode(f *fixture, task *api.TaskInfo, node string) (own oracle.Amounts, shared []string, served bool) {
	own, served = oracle.Amounts{}, true
	named := task.Pod.Annotations[card.NameKey]
	take := func(name string, n float64) {
		served = served && (named == "" || slices.Contains(strings.Split(named, "|"), name))
	}
	for _, name := range m.pods[task.Name] {
		c := m.claims[name]
		charge := c.charge(m, node)
		served = served && (c.cards != nil || charge != nil)
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
	if gpus := task.Resreq.ScalarResources[gpuName]; gpus > 0 {
		has := f.Nodes[node].Node.Labels[workload.ProductLabel]
		served = served && has != ""
		take(has, gpus)
		own[cardKey(has)] += gpus
	}
	return m.groups.With(own), shared, served
}

// group draws a group of cards that every queue bounds.
func (m *claimModel) group(r *rand.Rand, s *scene) {
	m.groups = oracle.Groups{cardKey("@g"): {cardKey("A"): 1, cardKey("B"): 0.5, cardKey("A/mig-1g.10gb-mixed"): 0.125}}
	s.arguments = framework.Arguments{"cardGroups": map[string]any{"g": map[string]any{"A": 1, "B": "1/2", "A/*": "0.125"}}}
	for _, q := range s.Queues {
		for _, key := range []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey} {
			if text := strings.TrimSuffix(q.Annotations[key], "}"); len(text) > 1 {
				q.Annotations[key] = fmt.Sprintf(`%s,"@g":%d}`, text, r.IntN(5))
			}
		}
	}
}

// counted returns the cards and groups that count.
func (m *claimModel) counted() []string {
	if m.groups == nil {
		return modelCards
	}
	return append(slices.Clone(modelCards), "@g")
}

// oracleOf makes an oracle of a session as it is now: all that runs is counted again.
func (m *claimModel) oracleOf(t *testing.T, f *fixture, c workload.Cluster) *oracle.Oracle {
	s := oracleSession{fixture: f, t: t}
	from := oracle.Cluster{OpenRoot: f.own.Settings.Bounds.OpenRoot, Total: oracle.Amounts{}}
	if c.Hierarchy {
		from.Root = index.RootName
	}
	for _, name := range m.counted() {
		from.Cards = append(from.Cards, cardKey(name))
		from.Total[cardKey(name)] += 0
	}
	for _, node := range c.Nodes {
		if n := node.Allocatable[gpuName]; n > 0 {
			from.Total[cardKey(node.Labels[workload.ProductLabel])] += 1000 * float64(n)
		}
		for _, name := range m.devices[node.Name] {
			from.Total[cardKey(name)] += 1000
		}
	}
	from.Total = m.groups.With(from.Total)
	from.Bound, from.Available = oracle.Amounts{}.Plus(from.Total), from.Total
	for _, q := range c.Queues {
		from.Queues = append(from.Queues, s.configured(q))
	}
	m.sharing = nil
	for _, job := range f.sortedJobs() {
		counted := oracle.Job{Queue: string(job.Queue)}
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			own, shared, _ := m.onNode(f, task, task.NodeName)
			shared = slices.DeleteFunc(shared, func(name string) bool { // nothing serves it
				return m.unserved[task.Name+" "+name] || m.claims[name].cards == nil && m.where[name] == ""
			})
			counted.Tasks = append(counted.Tasks, oracle.Task{Request: own, Placed: true})
			m.sharing = append(m.sharing, oracle.Plain{Queue: counted.Queue, Claims: shared})
		}
		from.Jobs = append(from.Jobs, counted)
	}
	o := oracle.New(from)
	o.ShareClaims(m.chargesOn(""), m.sharing)
	return o
}

// chargesOn returns what claims take, if those that no pod has got yet are placed on a node.
func (m *claimModel) chargesOn(node string) oracle.DeviceClaims {
	claims := oracle.DeviceClaims{}
	for name, claim := range m.claims {
		claims[name] = oracle.Amounts{}
		for card, n := range claim.charge(m, cmp.Or(m.where[name], node)) {
			claims[name][cardKey(card)] = 1000 * n
		}
		claims[name] = m.groups.With(claims[name])
	}
	return claims
}
