package evictions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// budgetsOf returns the budgets of a tree: root, with the children a (a1, a2) and b. lost and taken have the number of
// evictions per hour that a queue allows.
func budgetsOf(t *testing.T, lost, taken map[string]int) (*Budgets, func(string) index.Queue) {
	t.Helper()
	nodes := []index.Node{{Name: "root"}, {Name: "a", Parent: "root"}, {Name: "b", Parent: "root"},
		{Name: "a1", Parent: "a"}, {Name: "a2", Parent: "a"}}
	tree := index.BuildTree(nodes, "root")
	ix := &index.Index{Tree: tree}
	session := &constraint.Session{Index: ix, Now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}

	b := &Budgets{session: session, ledger: &evict.Ledger{}, fewest: 1 << 30}
	read := func(most map[string]int, count *evict.Counter) []*Budget {
		all := make([]*Budget, tree.Len())
		count.Begin(session.Now, func(string) time.Duration { return time.Hour })
		for name, n := range most {
			q := tree.Lookup(name)
			require.NotEqual(t, index.None, q)
			all[q] = &Budget{Queue: q, Rate: policy.Rate{Most: n, Length: time.Hour}, count: count}
			b.all = append(b.all, all[q])
		}
		return all
	}
	b.lost = read(lost, &b.ledger.Lost)
	for _, budget := range b.all {
		b.fewest = min(b.fewest, budget.Rate.Most)
	}
	b.taken = read(taken, &b.ledger.Taken)
	return b, tree.Lookup
}

// TestRoom has the number of evictions that budgets allow between two queues: the budgets of evictions on the path of
// the victim, and the budgets of reclaim on the path of the reclaimer below the queue that both have in common.
func TestRoom(t *testing.T) {
	for name, test := range map[string]struct {
		lost, taken map[string]int
		from, to    string
		most        int
	}{
		"of the victim's queue":           {map[string]int{"a1": 2}, nil, "a1", "b", 2},
		"of a queue above":                {map[string]int{"a1": 5, "a": 3}, nil, "a1", "b", 3},
		"of the reclaimer's queue":        {nil, map[string]int{"b": 4}, "a1", "b", 4},
		"not of a queue that has both":    {nil, map[string]int{"a": 1, "root": 1, "a2": 6}, "a1", "a2", 6},
		"the least of both":               {map[string]int{"a1": 7}, map[string]int{"b": 6}, "a1", "b", 6},
		"for nobody, only of the victims": {map[string]int{"a1": 2}, map[string]int{"b": 1}, "a1", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			b, lookup := budgetsOf(t, test.lost, test.taken)
			from, to := lookup(test.from), lookup(test.to)

			now, most := b.Room(from, to)
			assert.Equal(t, test.most, most)
			assert.Equal(t, test.most, now)

			// One question counts its victims, and evictions count for all.
			b.Begin()
			b.Count(from, to, test.most-1)
			assert.True(t, b.Allows(from, to))
			b.Count(from, to, 1)
			assert.False(t, b.Allows(from, to))
			b.Begin()
			assert.True(t, b.Allows(from, to))

			assert.NotZero(t, b.Tightest(from, to).Left())
			b.Evicted(from, to, test.most)
			assert.Zero(t, b.Tightest(from, to).Left())
			now, _ = b.Room(from, to)
			assert.Zero(t, now)
			assert.True(t, b.ledger.Changed)
		})
	}
}

// TestBelow finds the budget that never allows as many evictions at once.
func TestBelow(t *testing.T) {
	b, lookup := budgetsOf(t, map[string]int{"a1": 3, "a": 2}, nil)
	assert.Nil(t, b.Below(lookup("a1"), 2))
	assert.Equal(t, lookup("a"), b.Below(lookup("a1"), 4).Queue, "the smallest one is named")
	assert.Nil(t, b.Below(lookup("b"), 4))
}

// TestMayTake refuses a reclaimer only by the budget of its own queue.
func TestMayTake(t *testing.T) {
	b, lookup := budgetsOf(t, nil, map[string]int{"b": 1, "a": 1})
	b.Evicted(lookup("a1"), lookup("b"), 1)
	assert.Equal(t, quota.ReclaimBudgetUsed, b.mayTake(lookup("b"), nil).Reason)
	assert.True(t, b.mayTake(lookup("a1"), nil).OK())
}

// TestLeft: nothing may be evicted while the budget is read, or when more was evicted than it allows now.
func TestLeft(t *testing.T) {
	assert.Equal(t, 2, (&Budget{Rate: policy.Rate{Most: 3}, Used: 1}).Left())
	assert.Zero(t, (&Budget{Rate: policy.Rate{Most: 3}, Used: 5}).Left())
	assert.Zero(t, (&Budget{Rate: policy.Rate{Most: 3}, Loads: true}).Left())
}
