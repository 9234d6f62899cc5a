package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

func group(t *testing.T, entries map[string]string) card.Group {
	t.Helper()
	g, err := card.NewGroup("g", entries)
	require.NoError(t, err)
	return g
}

// TestGroupsOfCards has queues with quotas for groups. The bound of a queue for a card follows from the quota of the
// queue for this card. Without such a quota, the bound follows from the groups.
func TestGroupsOfCards(t *testing.T) {
	f := newFixture().
		queue("both", "", `{"@hopper":16,"A":4}`).
		queue("group", "", `{"@hopper":16}`).
		queue("third", "", `{"@third":2}`).
		queue("none", "", `{"C":1}`)
	f.node("a", "A", 8).node("b", "B", 8).node("c", "C", 8)
	f.settings.Groups = card.Groups{"hopper": group(t, map[string]string{"A": "1", "B": "1"}), "third": group(t, map[string]string{"C": "1/3"})}
	f.open(t)
	bound := func(queue, name string) float64 {
		d, known := f.names.LookupCard(name)
		require.True(t, known, name)
		f.ix.Capability.Row(f.ix.Lookup(queue)).Reset()
		f.AddBounds(f.ix, f.ix.Lookup(queue))
		return f.ix.Capability.At(f.ix.Lookup(queue), d)
	}
	for queue, want := range map[string]map[string]float64{
		"both":  {"A": 4000, "B": 16000, "C": 0, "@hopper": 16000},
		"group": {"A": 16000, "B": 16000, "C": 0, "@hopper": 16000},
		"third": {"A": 0, "B": 0, "C": 6001, "@third": 2000}, // a third is rounded down, so the bound for C is rounded up
		"none":  {"A": 0, "B": 0, "C": 1000},
	} {
		for name, amount := range want {
			assert.Equal(t, amount, bound(queue, name), "%s: %s", queue, name)
		}
	}
	x := fastres.NewVector(f.names.Len())
	a, _ := f.names.LookupCard("A")
	hopper, _ := f.names.LookupCard("@hopper")
	f.Add(x, a, 2000)
	assert.Equal(t, []float64{2000, 2000}, []float64{x.Get(a), x.Get(hopper)})
	assert.Equal(t, "A, B", f.GroupCards(hopper))
	assert.Empty(t, f.GroupCards(a))
}

// TestGroupsThatARootDeserves has two groups that share a card, and one group that shares none. Of these groups, the
// root deserves only the last one, in the amount that the nodes have.
func TestGroupsThatARootDeserves(t *testing.T) {
	f := newFixture().queue("q", "", `{"@hopper":2}`).node("a", "A", 8).node("b", "B", 8).node("c", "C", 8)
	f.settings.Groups = card.Groups{
		"hopper": group(t, map[string]string{"A": "1", "B": "1"}), "fast": group(t, map[string]string{"B": "2"}),
		"slow": group(t, map[string]string{"C": "1/2"}),
	}
	f.open(t)
	total := fastres.NewVector(f.names.Len())
	total.Set(fastres.CPU, 96000)
	for _, name := range []string{"A", "B", "C"} {
		d, known := f.names.LookupCard(name)
		require.True(t, known, name)
		f.names.AddCard(total, d, 8000)
	}
	deserved := f.Deservable(total)
	for name, want := range map[string]bool{"A": true, "B": true, "C": true, "@hopper": false, "@fast": false, "@slow": true} {
		d, known := f.names.LookupCard(name)
		require.True(t, known, name)
		assert.Equal(t, want, deserved.Has(d), name)
		assert.Equal(t, want, deserved.Get(d) == total.Get(d), name)
	}
	assert.Equal(t, 96000.0, deserved.Get(fastres.CPU))
	assert.Equal(t, total, (*Snapshot)(nil).Deservable(total), "cards do not count")
}

// TestGroupsChange has the argument change from one session to the next. A group with a wrong value keeps its last
// good value.
func TestGroupsChange(t *testing.T) {
	f := newFixture().queue("q", "", `{"@g":2}`).node("n", "A", 8)
	weight := func() float64 {
		f.open(t)
		a, _ := f.names.LookupCard("A")
		if of := f.names.Groups(a); len(of) > 0 {
			return of[0].Weight
		}
		return 0
	}
	assert.Zero(t, weight())
	assert.True(t, f.QuotasChanged())
	for _, step := range []struct {
		name   string
		groups card.Groups
		want   float64
		change bool
	}{
		{"a group", card.Groups{"g": group(t, map[string]string{"A": "1"})}, 1, true},
		{"the same", card.Groups{"g": group(t, map[string]string{"A": "1"})}, 1, false},
		{"another weight", card.Groups{"g": group(t, map[string]string{"A": "2"})}, 2, true},
		{"a wrong weight", card.Groups{"g": nil}, 2, true},
		{"none", nil, 0, true},
		{"a group again", card.Groups{"g": group(t, map[string]string{"A": "3"})}, 3, true},
		{"another group", card.Groups{"h": group(t, map[string]string{"B": "1"})}, 0, true},
	} {
		f.settings.Groups = step.groups
		assert.Equal(t, step.want, weight(), step.name)
		assert.Equal(t, step.change, f.QuotasChanged(), step.name)
	}
}

// TestGroupProblems has annotations with groups that do not exist, and with a deserved amount that cannot count.
func TestGroupProblems(t *testing.T) {
	f := newFixture().queue("q", "", `{"@hoper":3,"@hopper":4,"@all":9}`)
	f.Queues[0].Annotations[card.DeservedKey] = `{"@hopper":2}`
	texts := func() (all []string) {
		f.open(t)
		for _, p := range f.Problems(f.ix) {
			all = append(all, p.Texts...)
		}
		return all
	}
	assert.Equal(t, []string{
		`annotation volcano.sh/card.quota: "@all" is not a group of cards: there are none; see the argument cardGroups`,
		`annotation volcano.sh/card.quota: "@hoper" is not a group of cards: there are none; see the argument cardGroups`,
		`annotation volcano.sh/card.quota: "@hopper" is not a group of cards: there are none; see the argument cardGroups`,
		`annotation volcano.sh/card.deserved: "@hopper" is not a group of cards: there are none; see the argument cardGroups`,
	}, texts())
	f.settings.Groups = card.Groups{"hopper": group(t, map[string]string{"A": "1"}), "all": group(t, map[string]string{"*": "1"})}
	assert.Equal(t, []string{
		`annotation volcano.sh/card.quota: "@hoper" is not a group of cards: there are @all, @hopper`,
		`annotation volcano.sh/card.deserved: "@hopper" has no effect: the group shares cards with another one, so it can only bound`,
	}, texts())
}
