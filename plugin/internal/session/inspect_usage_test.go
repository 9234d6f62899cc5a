package session_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// borrower returns a scene in which queue a has 12 of 8 cards, and b has 4; both want more, c wants nothing.
func borrower() *testbed.Scene {
	s := testbed.NewScene().Node("node", "A", 16)
	for _, name := range []string{"a", "b", "c"} {
		s.Queue(name, "", "quota", `{"A":16}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`)
	}
	return s.Pods("runs-a", "a", "A", 12, 1, testbed.On("node")).Pods("runs-b", "b", "A", 4, 1, testbed.On("node")).
		Pods("more-a", "a", "A", 1, 1, testbed.InPhase("Inqueue")).Pods("more-b", "b", "A", 1, 1, testbed.InPhase("Inqueue"))
}

// begins opens a session on a scene that begins with a stored usage, some time later, and returns its inspection.
func begins(c *testbed.Scheduler, t *testing.T, s *testbed.Scene, after time.Duration, stored *store.Stored) inspect.Inspection {
	t.Helper()
	build := c.Build
	defer func() { c.Build = build }()
	var own framework.Plugin
	c.Build = func(given framework.Arguments) framework.Plugin {
		own = (&session.Builder{Variant: session.BuilderOf(session.Name).Variant, Now: func() time.Time { return c.Clock }}).Build(given)
		session.BeginWith(own, stored)
		return own
	}
	// There is no API server: the store would load its state, which could replace the given one.
	kube := c.Kube
	c.Kube = nil
	defer func() { c.Kube = kube }()
	c.Open(t, s, after)
	i, ok := session.Inspect(own)
	require.True(t, ok)
	return i
}

func stored(c *testbed.Scheduler, t *testing.T) *store.Stored {
	t.Helper()
	get := func(name string) (*v1.ConfigMap, error) {
		return c.Kube.CoreV1().ConfigMaps("volcano-system").Get(context.Background(), name, metav1.GetOptions{})
	}
	first, err := get("capacity-card-usage")
	require.NoError(t, err)
	require.True(t, store.IsStored(first))
	stored, err := store.Read(first, get)
	require.NoError(t, err)
	return stored
}

func pastOf(t *testing.T, i inspect.Inspection, queue string) inspect.Past {
	t.Helper()
	for _, p := range i.Pasts() {
		if p.Queue == queue {
			return p
		}
	}
	require.Fail(t, "no queue "+queue)
	return inspect.Past{}
}

// TestInspectionBeginsWithStoredUsage begins a session with the usage that a scheduler has saved. It compares this
// session with the session of the scheduler itself.
func TestInspectionBeginsWithStoredUsage(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateSave: "1s"})
	idle := borrower()
	idle.Jobs = nil
	c.Open(t, idle, 0).Close()
	c.Open(t, borrower(), time.Hour).Close()
	c.Open(t, borrower(), 2*time.Hour).Close()
	stored := stored(c, t)
	assert.Equal(t, time.Hour, stored.HalfLife)

	later := c.Open(t, borrower(), 20*time.Minute)
	want := later.CardsUsed("a")
	assert.InDelta(t, 12*(1-usage.Decay(140*time.Minute, time.Hour)), want, 1e-6)
	later.Close()
	i := begins(c, t, borrower(), 0, stored)
	a := pastOf(t, i, "a")
	require.Len(t, a.Columns, 1)
	assert.InDelta(t, want, a.Columns[0].Average, 1e-9)
	assert.Equal(t, 12.0, a.Columns[0].Now)
	assert.Equal(t, 4.0, a.Columns[0].Norm)
	assert.InDelta(t, (want+12)/2, a.Columns[0].Counted, 1e-9)
	assert.InDelta(t, (want+12)/8, a.Level, 1e-9)
	assert.InDelta(t, want/math.Ln2, a.Columns[0].Total, 1e-9, "card-hours")
	assert.Equal(t, fairness.Never, a.Columns[0].EvenKept, "it has more than it deserves")
	assert.InDelta(t, math.Log2(want/2/4), a.Columns[0].EvenIdle.Hours(), 1e-6)
	assert.Equal(t, [2]int{2, 2}, [2]int{a.Place, a.Rivals})
	assert.Equal(t, [2]int{1, 2}, [2]int{pastOf(t, i, "b").Place, pastOf(t, i, "b").Rivals})
	assert.Zero(t, pastOf(t, i, "c").Place, "it wants nothing")
	rivals := i.Rivals("a")
	require.Len(t, rivals, 2)
	b := rivals[0]
	assert.Equal(t, inspect.Rival{Queue: "b", Level: b.Level, First: true, ByUsage: true, Wants: []string{"A"}}, b)
	assert.Less(t, b.Level, a.Level)
	assert.Empty(t, i.Rivals("c"))

	earlier := *stored
	earlier.Now = stored.Saved
	then := pastOf(t, begins(c, t, borrower(), time.Hour, &earlier), "a")
	assert.InDelta(t, stored.Record.Queues["a"].Usage[0]/1000, then.Columns[0].Average, 1e-9, "a dump of the time of the save")

	none := pastOf(t, begins(c, t, borrower(), 0, nil), "a")
	assert.Equal(t, 12.0, none.Columns[0].Average, "without a history it is what the queue has")
}

func TestInspectionResetsUsage(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateSave: "1s"})
	busy := func() *testbed.Scene {
		s := borrower()
		s.Hierarchy = true
		return s
	}
	idle := func() *testbed.Scene {
		s := busy()
		s.Jobs = nil
		return s
	}
	c.Open(t, busy(), 0).Close()
	c.Open(t, idle(), time.Minute).Close()
	i := begins(c, t, idle(), 0, stored(c, t))
	assert.Nil(t, i.ForgetUsage("none"))
	record := i.ForgetUsage("a")
	assert.Equal(t, []float64{0}, record.Queues["a"].Usage)
	assert.Greater(t, record.Queues["b"].Usage[0], 3000.0)
	assert.InDelta(t, record.Queues["b"].Usage[0], record.Queues["root"].Usage[0], 1e-6, "the queue above loses it")
}

func TestNoPastWithoutFairShare(t *testing.T) {
	c := testbed.NewScheduler(nil)
	i := begins(c, t, borrower(), 0, nil)
	assert.Empty(t, i.Pasts())
	assert.Empty(t, i.Rivals("a"))
	assert.Nil(t, i.ForgetUsage("a"))
}

// TestInspectionBeginsWithStoredBudgets begins days after a scheduler has saved the use of a budget. A dump from that
// time is in the same day, and a cluster of today is not.
func TestInspectionBeginsWithStoredBudgets(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1s"})
	busy := func() *testbed.Scene {
		return testbed.WithBudget("10h/day").Pods("runs", "q", "A", 4, 1, testbed.On("a"))
	}
	c.Open(t, busy(), 0).Close()
	c.Open(t, busy(), time.Hour).Close()
	stored := stored(c, t)
	for _, test := range []struct {
		now  time.Time
		want float64
	}{{stored.Saved, 4}, {time.Time{}, 0}} {
		then := *stored
		then.Now = test.now
		all := begins(c, t, testbed.WithBudget("10h/day"), 72*time.Hour, &then).Budgets()
		require.Len(t, all, 1)
		assert.InDelta(t, test.want, all[0].Used, 1e-6)
	}
}
