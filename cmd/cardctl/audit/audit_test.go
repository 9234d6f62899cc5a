package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/store"
)

const day = 24 * time.Hour

// configuration has a record of use with a half-life of a day, where counts is all.
func configuration(t *testing.T, counts string, actions ...string) *engine.Configuration {
	t.Helper()
	c, err := engine.Configure(`
actions: "` + strings.Join(append(actions, "enqueue", "allocate"), ", ") + `"
tiers:
- plugins:
  - name: capacity-card
    arguments: {fairShareHalfLife: 24h, fairShare: {counts: ` + counts + `}}
`)
	require.NoError(t, err)
	c.Usage = &store.Stored{Saved: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), HalfLife: day}
	return c
}

// newQueue returns a queue with a quota of 8 of card A. The average is its use of A in the time that the record covers.
func newQueue(name, parent string, average float64, covered time.Duration) queues.Queue {
	quota, deserved := 8.0, 8.0
	return queues.Queue{Queue: name, Parent: parent, Bounds: map[string]bool{"A": true},
		Resources: []queues.Holding{{Resource: "A", Card: true, Capability: &quota, Deserved: &deserved}},
		Past:      &queues.Past{Records: map[string]queues.Record{"A": {Average: average, Covered: covered}}}}
}

func found(r *Report) (all []string) {
	for _, f := range r.Items {
		all = append(all, fmt.Sprintf("%s %s: %s", f.Check, f.Queue, f.Message))
	}
	return all
}

// TestUse expects the findings that the record permits, at their bounds. With the half-life of a day, an average of
// 0.004 is at most 0.106 in 7 days. An average of 0.003 is at most 0.079.
func TestUse(t *testing.T) {
	none := &validate.Result{}
	for name, test := range map[string]struct {
		change func(q *queues.Queue)
		want   []string
	}{
		"as it is": {func(*queues.Queue) {}, []string{"UnusedQuota q: used less than 0.1 of its quota of 8 on average in the last 7 days"}},
		"exactly none": {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Covered: 7 * day} },
			[]string{"UnusedQuota q: used none of its quota of 8 in the last 7 days"}},
		"it may be more":   {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Average: 0.004, Covered: 7 * day} }, nil},
		"a younger record": {func(q *queues.Queue) { q.Past.Records["A"] = queues.Record{Covered: 7*day - 1} }, nil},
		"no record":        {func(q *queues.Queue) { q.Past = nil }, nil},
		"another's bound":  {func(q *queues.Queue) { q.Bounds = nil }, nil},
		"it is in use":     {func(q *queues.Queue) { q.Resources[0].Allocated = 1 }, nil},
		"a guarantee as well": {func(q *queues.Queue) {
			q.Resources[0].Guarantee = 8
			q.Past.Records["A"] = queues.Record{Average: 0.16, Covered: 7 * day}
		}, nil},
		"a guarantee that idles": {func(q *queues.Queue) {
			q.Resources[0].Guarantee = 8
			q.Past.Records["A"] = queues.Record{Average: 0.12, Covered: 7 * day}
		},
			[]string{"IdleGuarantee q: at least 4.8 of its guarantee of 8 idled on average in the last 7 days"}},
		"a guarantee, without a record": {func(q *queues.Queue) { q.Resources[0].Guarantee, q.Resources[0].Inqueue, q.Past = 8, 3, nil },
			[]string{"IdleGuarantee q: 5 of its guarantee of 8 idles now; the time before is not known"}},
		"it only borrows": {func(q *queues.Queue) {
			*q.Resources[0].Deserved, q.Past.Records["A"] = 0, queues.Record{Average: 2, Covered: day}
		},
			[]string{"OnlyBorrows q: deserves none, has 0 now, and has had 2 on average (half-life 24h)"}},
		"an average of what is assumed": {func(q *queues.Queue) {
			*q.Resources[0].Deserved, q.Past.Records["A"] = 0, queues.Record{Average: 2, Covered: day - 1}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue("q", "", 0.003, 7*day)
			test.change(&q)
			assert.Equal(t, test.want, found(Run([]queues.Queue{q}, none, configuration(t, "all"), 7)))
		})
	}
	r := Run([]queues.Queue{newQueue("q", "", 0, 7*day)}, none, configuration(t, "borrowed"), 7)
	assert.Empty(t, r.Items)
	assert.Equal(t, "it has only what queues borrow (fairShare: {counts: borrowed})", r.Lacks)
}

// TestManyQueues has 20 queues with 1,980 queues below them. The record covers enough days of all queues except one. A
// queue below an unused queue is not named.
func TestManyQueues(t *testing.T) {
	var all []queues.Queue
	for i := range 20 {
		name, average := fmt.Sprint("p", i), 0.0
		if i > 0 {
			average = 4
		}
		all = append(all, newQueue(name, "", average, 7*day))
		for j := range 99 {
			all = append(all, newQueue(fmt.Sprint(name, "-", j), name, 0, 7*day))
		}
	}
	all[len(all)-1].Past.Records["A"] = queues.Record{Covered: 3 * day}
	r := Run(all, &validate.Result{}, configuration(t, "all"), 7)
	assert.Len(t, all, 2000)
	assert.Equal(t, 1+19*99-1, len(r.Items))
	assert.Equal(t, []any{1999, 1, "72h0m0s"}, []any{r.Judged, r.Short, r.Covered.Duration.String()})
	assert.Equal(t, "p0", r.Items[0].Queue)
	r.Keep(func(queue string) bool { return queue == "p1-5" })
	assert.Len(t, r.Items, 1)
}

// TestUseInATree expects each finding once: for the topmost queue that is not used, and for a leaf queue with a
// guarantee that the queues above it have as well.
func TestUseInATree(t *testing.T) {
	unused := []queues.Queue{newQueue("a", "", 0, 7*day), newQueue("b", "a", 0, 7*day), newQueue("c", "b", 0, 7*day)}
	assert.Equal(t, []string{"UnusedQuota a: used none of its quota of 8 in the last 7 days"},
		found(Run(unused, &validate.Result{}, configuration(t, "all"), 7)))

	idle := []queues.Queue{newQueue("p", "", 0.12, 7*day), newQueue("q", "p", 0.12, 7*day)}
	for i := range idle {
		idle[i].Resources[0].Guarantee = 8
	}
	assert.Equal(t, []string{"IdleGuarantee q: at least 4.8 of its guarantee of 8 idled on average in the last 7 days"},
		found(Run(idle, &validate.Result{}, configuration(t, "all"), 7)))
}

// TestSums takes over the findings of validate about sums.
func TestSums(t *testing.T) {
	issue := validate.Issue{Message: "queues deserve 16 A together, and the nodes have 8", Topic: validate.Sums}
	assert.Equal(t, []string{"Sums : " + issue.Message},
		found(Run(nil, &validate.Result{Issues: []validate.Issue{issue}}, configuration(t, "all"), 7)))
}

// BenchmarkAudit audits 2,000 queues with 8 cards each.
func BenchmarkAudit(b *testing.B) {
	var all []queues.Queue
	for i := range 2000 {
		q := newQueue(fmt.Sprint("q", i), "", 0, 7*day)
		for j := range 7 {
			h := q.Resources[0]
			h.Resource = fmt.Sprint("A", j)
			q.Bounds[h.Resource], q.Resources = true, append(q.Resources, h)
			q.Past.Records[h.Resource] = queues.Record{Covered: 7 * day}
		}
		all = append(all, q)
	}
	c, err := engine.Configure("actions: \"enqueue\"\ntiers:\n- plugins:\n  - name: capacity-card\n    arguments: {fairShareHalfLife: 24h}\n")
	if err != nil {
		b.Fatal(err)
	}
	c.Usage = &store.Stored{}
	for b.Loop() {
		Run(all, &validate.Result{}, c, 7)
	}
}

// inherit gives a queue the last policy of its parent.
func inherit(q *queues.Queue, parent queues.Queue) {
	q.Policies = append(q.Policies, parent.Policies[len(parent.Policies)-1])
}

// policyOf sets a policy of a queue itself.
func policyOf(q *queues.Queue, key, value string) {
	for _, held := range policy.InForce([]map[string]string{{key: value}}) {
		q.Policies = append(q.Policies, queues.Policy{Policy: held.Name, Key: held.Key, Value: held.Text, Queue: q.Queue, Whole: held.Whole})
	}
}

// TestPoliciesThatNeverApply has a queue p with a queue q below it. The scheduler does not run reclaim.
func TestPoliciesThatNeverApply(t *testing.T) {
	type of [2]string
	for name, test := range map[string]struct {
		p, q of
		more of // of q
		want []string
	}{
		"a budget of taking":         {q: of{policy.EvictionBudgetKey, "take=1/1h"}, want: []string{"q: eviction-budget (take) has no effect: the scheduler's configuration has no action reclaim"}},
		"an eviction-budget":         {q: of{policy.EvictionBudgetKey, "lose=1/1h"}, want: []string{"q: eviction-budget (lose) has no effect: the scheduler's configuration has no action reclaim"}},
		"of enforced quotas":         {q: of{policy.EvictionBudgetKey, "lose=1/1h"}, p: of{policy.EnforceQuotaKey, "after=1m"}},
		"quotas that are not":        {q: of{policy.EvictionBudgetKey, "lose=1/1h"}, p: of{policy.EnforceQuotaKey, "off"}, want: []string{"q: eviction-budget (lose) has no effect: the scheduler's configuration has no action reclaim"}},
		"a smaller one above":        {q: of{policy.EvictionBudgetKey, "lose=2/1h"}, p: of{policy.EvictionBudgetKey, "lose=2/2h"}, more: of{policy.EnforceQuotaKey, "after=1m"}, want: []string{"q: its eviction-budget of 2/1h never decides: p allows 2/2h for all queues below it together"}},
		"a larger one above":         {q: of{policy.EvictionBudgetKey, "lose=2/1h"}, p: of{policy.EvictionBudgetKey, "lose=3/2h"}, more: of{policy.EnforceQuotaKey, "after=1m"}},
		"a shorter one above":        {q: of{policy.EvictionBudgetKey, "lose=2/1h"}, p: of{policy.EvictionBudgetKey, "lose=2/30m"}, more: of{policy.EnforceQuotaKey, "after=1m"}},
		"no budget to enforce":       {q: of{policy.EnforceQuotaKey, "after=1m,budgets"}, p: of{card.BudgetKey, `{"A":"5h/day"}`}, want: []string{"q: enforce-quota names budgets, and neither it nor a queue below it has a budget of card-hours"}},
		"its own":                    {q: of{policy.EnforceQuotaKey, "after=1m,budgets"}, more: of{card.BudgetKey, `{"A":"5h/day"}`}},
		"one below":                  {p: of{policy.EnforceQuotaKey, "after=1m,budgets"}, q: of{card.BudgetKey, `{"A":"5h/day"}`}},
		"grace that is not less":     {q: of{policy.EvictionGraceKey, "10m"}, p: of{policy.EvictionGraceKey, "5m"}, want: []string{"q: its eviction-grace of 10m0s never decides: p grants no more than 5m0s"}},
		"an order that none has":     {p: of{policy.OrderKey, "fifo"}, q: of{policy.OrderKey, "best-effort"}, want: []string{"p: its order fifo never decides: the leaf queues below it have their own"}},
		"an order of a leaf queue":   {p: of{policy.OrderKey, "fifo"}},
		"less grace":                 {q: of{policy.EvictionGraceKey, "4m"}, p: of{policy.EvictionGraceKey, "5m"}},
		"a budget beyond the quota":  {q: of{card.BudgetKey, `{"A":"192h/day"}`}, want: []string{"q: its budget of 192 card-hours in day never decides: with a quota of 8 the queue can use 192"}},
		"a smaller budget above":     {q: of{card.BudgetKey, `{"A":"5h/day"}`}, p: of{card.BudgetKey, `{"A":"5h/day"}`}, want: []string{"q: its budget of 5 card-hours in day never decides: p has 5 for all queues below it together"}},
		"one of another window":      {q: of{card.BudgetKey, `{"A":"5h/day"}`}, p: of{card.BudgetKey, `{"A":"5h/week"}`}},
		"a larger budget above":      {q: of{card.BudgetKey, `{"A":"5h/day"}`}, p: of{card.BudgetKey, `{"A":"6h/day"}`}},
		"a limit of users":           {q: of{card.HolderKey, `{"user":{"*":{"A":8},"eve":{"A":7}}}`}, want: []string{"q: its limit of 8 for user * never decides: its quota is 8"}},
		"of a value":                 {q: of{card.HolderKey, `{"label:team":{"alpha":{"A":9}}}`}, want: []string{"q: its limit of 9 for label:team alpha never decides: its quota is 8"}},
		"a limit of namespaces":      {q: of{card.HolderKey, `{"namespace":{"*":{"A":8,"cpu":"1"}}}`}, want: []string{"q: its limit of 8 for namespace * never decides: its quota is 8"}},
		"a lower one":                {q: of{card.HolderKey, `{"namespace":{"*":{"A":7}}}`}},
		"max-jobs that are not less": {q: of{policy.MaxJobsKey, "5"}, p: of{policy.MaxJobsKey, "5"}, want: []string{"q: its limit of 5 jobs never decides: p allows 5 for all queues below it together"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := []queues.Queue{newQueue("p", "", 4, 7*day), newQueue("q", "p", 4, 7*day)}
			for i, each := range [][]of{{test.p}, {test.q, test.more}} {
				for _, p := range each {
					if p[0] != "" {
						policyOf(&all[i], p[0], p[1])
					}
				}
			}
			if inherited := test.p[0]; inherited == policy.MaxJobsKey || inherited == policy.OrderKey && test.q[0] != inherited {
				inherit(&all[1], all[0])
			}
			var want []string
			for _, text := range test.want {
				want = append(want, "NeverApplies "+text)
			}
			assert.Equal(t, want, found(Run(all, &validate.Result{}, configuration(t, "all"), 7)))
		})
	}
}

// TestPoliciesThatApply has a policy of an action that the scheduler runs.
func TestPoliciesThatApply(t *testing.T) {
	q := newQueue("q", "", 4, 7*day)
	policyOf(&q, policy.EvictionBudgetKey, "take=1/1h")
	assert.Empty(t, found(Run([]queues.Queue{q}, &validate.Result{}, configuration(t, "all", "reclaim"), 7)))
}

// TestBudgetsElsewhere has a queue q that enforces budgets. Only a sibling of q has a budget.
func TestBudgetsElsewhere(t *testing.T) {
	all := []queues.Queue{newQueue("p", "", 4, 7*day), newQueue("q", "p", 4, 7*day), newQueue("r", "p", 4, 7*day)}
	policyOf(&all[0], policy.MaxJobsKey, "5")
	policyOf(&all[1], policy.EnforceQuotaKey, "after=1m,budgets")
	policyOf(&all[2], card.BudgetKey, `{"A":"5h/day"}`)
	assert.Equal(t, []string{"NeverApplies q: " + spentText}, found(Run(all, &validate.Result{}, configuration(t, "all"), 7)))
}

// TestWindowsSpare has a window that changes a value. A setting that decides nothing now may decide during the window.
func TestWindowsSpare(t *testing.T) {
	for _, sets := range []string{"max-jobs", "card.budget", "eviction-budget"} {
		all := []queues.Queue{newQueue("p", "", 4, 7*day), newQueue("q", "p", 4, 7*day)}
		policyOf(&all[0], policy.EnforceQuotaKey, "after=1m")
		for key, value := range map[string]string{"max-jobs": policy.MaxJobsKey + "=5", "card.budget": card.BudgetKey + `={"A":"5h/day"}`, "eviction-budget": policy.EvictionBudgetKey + "=lose=1/1h"} {
			if key == sets {
				name, text, _ := strings.Cut(value, "=")
				policyOf(&all[0], name, text)
				policyOf(&all[1], name, text)
				inherit(&all[1], all[0])
			}
		}
		assert.Len(t, found(Run(all, &validate.Result{}, configuration(t, "all"), 7)), 1, sets)
		all[1].Windows = []inspect.Window{{Holds: true, Sets: map[string]string{sets: "7"}}}
		assert.Empty(t, found(Run(all, &validate.Result{}, configuration(t, "all"), 7)), sets)
		all[0].Windows, all[1].Windows = all[1].Windows, nil
		assert.Empty(t, found(Run(all, &validate.Result{}, configuration(t, "all"), 7)), sets)
	}
}
