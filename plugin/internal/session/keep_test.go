package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// lender returns a scene with a queue that lends cards, and has a policy and a window.
func lender() *testbed.Scene {
	s := testbed.NewScene().Node("node", "A", 8).Lending("own", `{"A":8}`, `{"A":4}`, `{"A":0}`)
	return s.Annotate("own", policy.MaxJobsKey, "5", policy.OverrideKey,
		`[{"from": "2026-11-01T00:00Z", "until": "2026-12-31T00:00Z", "card.deserved": {"A": 6}}]`)
}

// TestLastGoodValuesAreStored breaks the annotations of a queue, and lets the scheduler run for some cycles. Then a
// session that begins with the stored state has the values of the scheduler.
func TestLastGoodValuesAreStored(t *testing.T) {
	for _, test := range []struct {
		name   string
		broken []string
		kept   map[string]string
	}{
		{"a comma too much in a quota", []string{card.QuotaKey, `{"A": 8,}`}, map[string]string{card.QuotaKey: `{"A":8}`}},
		{"one wrong key of a quota", []string{card.QuotaKey, `{"A": "x", "B": 3}`}, map[string]string{card.QuotaKey: `{"A":8,"B":3}`}},
		{"a policy", []string{policy.MaxJobsKey, "many"}, map[string]string{policy.MaxJobsKey: "5"}},
		{"a window", []string{policy.OverrideKey, "["}, map[string]string{policy.OverrideKey: `[{"from": "2026-11-01T00:00Z", "until": "2026-12-31T00:00Z", "card.deserved": {"A": 6}}]`}},
		{"two annotations", []string{card.QuotaKey, "8", policy.MaxJobsKey, "-1"}, map[string]string{card.QuotaKey: `{"A":8}`, policy.MaxJobsKey: "5"}},
		{"nothing was good before", []string{policy.EvictionBudgetKey, "?"}, nil},
	} {
		for _, cycles := range []int{1, 6, 60} {
			t.Run(test.name, func(t *testing.T) {
				c := testbed.NewScheduler(framework.Arguments{})
				c.Open(t, lender(), 0).Close()
				broken := lender().Annotate("own", test.broken...)
				c.Open(t, broken, time.Second).Close() // the first session in which there is something to store loads the store
				for range cycles - 1 {
					c.Open(t, broken, time.Second).Close()
				}
				last := c.Open(t, broken, time.Second)
				want := session.InspectionOf(last.Own)
				accounts, annotations, windows := want.Accounts(), want.Annotations("own"), want.Windows("own")
				jobs := policies(last, "own").MaxJobs()
				last.Close()

				stored := stored(c, t)
				require.NotNil(t, stored.Record.Remembered)
				require.Contains(t, stored.Record.Remembered.Queues, "own")
				assert.Equal(t, test.kept, stored.Record.Remembered.Queues["own"].Annotations)
				got := begins(c, t, broken, 0, stored)
				assert.Equal(t, accounts, got.Accounts())
				assert.Equal(t, annotations, got.Annotations("own"))
				assert.Equal(t, windows, got.Windows("own"))
				assert.Equal(t, 5, jobs)
				for key, text := range test.kept {
					assert.Equal(t, text, annotations[key])
				}

				if test.kept != nil {
					assert.NotEqual(t, annotations, begins(c, t, broken, 0, nil).Annotations("own"), "without the stored state")
				}
				stored.Record.Remembered.Version++
				assert.Equal(t, begins(c, t, broken, 0, nil).Accounts(), begins(c, t, broken, 0, stored).Accounts(), "of a later release")
			})
		}
	}
}

// TestStoredValuesOfAnotherQueue stores values of a deleted queue. They do not count for a new queue with its name.
func TestStoredValuesOfAnotherQueue(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{})
	broken := lender().Annotate("own", card.QuotaKey, "8")
	kept := objects.Kept{"own": {UID: "another", Annotations: map[string]string{card.QuotaKey: `{"A":8}`, policy.OverrideKey: "["}}}
	known := &store.Stored{Record: store.Record{Remembered: &store.Remembered{Version: store.RememberedVersion, Queues: kept}}}
	assert.Equal(t, begins(c, t, broken, 0, nil).Accounts(), begins(c, t, broken, 0, known).Accounts())
}

// TestLastGoodValuesEnd corrects an annotation: the stored state has no value of it any more. A scheduler that starts
// with a wrong annotation knows none either.
func TestLastGoodValuesEnd(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{})
	c.Open(t, lender(), 0).Close()
	broken := lender().Annotate("own", card.QuotaKey, "8")
	for range 3 {
		c.Open(t, broken, time.Second).Close()
	}
	require.Contains(t, stored(c, t).Record.Remembered.Queues, "own")
	c.Open(t, lender(), time.Second).Close()
	assert.Nil(t, stored(c, t).Record.Remembered)

	c.Restart()
	for range 3 {
		c.Open(t, broken, time.Second).Close()
	}
	queues := stored(c, t).Record.Remembered.Queues
	require.Contains(t, queues, "own")
	assert.Empty(t, queues["own"].Annotations)
}

// TestNothingToKnowIsNotStored neither reads nor writes a ConfigMap where no annotation is wrong, or stateStore is none.
func TestNothingToKnowIsNotStored(t *testing.T) {
	for name, with := range map[string]framework.Arguments{"no annotation is wrong": {}, "no store": {arguments.StateStore: "none"}} {
		t.Run(name, func(t *testing.T) {
			c := testbed.NewScheduler(with)
			c.Open(t, lender(), 0).Close()
			scene := lender()
			if len(with) > 0 {
				scene.Annotate("own", card.QuotaKey, "8")
			}
			for range 6 {
				c.Open(t, scene, time.Minute).Close()
			}
			for _, action := range c.Kube.Actions() {
				assert.NotEqual(t, "configmaps", action.GetResource().Resource)
			}
			_, err := c.Kube.CoreV1().ConfigMaps("volcano-system").Get(context.Background(), "capacity-card-usage", metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err))
		})
	}
}

// TestHeldCardsAreStored gives a node with running pods another label, or takes it away, and lets the scheduler run for
// some cycles. A session that begins with the stored state charges the pods for the cards that they got.
func TestHeldCardsAreStored(t *testing.T) {
	scene := func(change func(*testbed.Scene)) *testbed.Scene {
		s := testbed.NewScene().Node("n", "A", 8).Node("other", "A", 1).Queue("q", "", "quota", `{"A":4,"B":4}`).
			Pods("list", "q", "B|A", 2, 1, testbed.On("n")).Pods("untyped", "q", "", 1, 1, testbed.On("n"))
		change(s)
		return s
	}
	for name, change := range map[string]func(*testbed.Scene){
		"another label": func(s *testbed.Scene) { s.Nodes[0].Labels = map[string]string{"nvidia.com/gpu.product": "B"} },
		"no label":      func(s *testbed.Scene) { s.Nodes[0].Labels = nil },
		"no node":       func(s *testbed.Scene) { s.Nodes = s.Nodes[1:] },
	} {
		for _, cycles := range []int{1, 6, 60} {
			t.Run(name, func(t *testing.T) {
				c := testbed.NewScheduler(framework.Arguments{})
				c.Open(t, scene(func(*testbed.Scene) {}), 0).Close()
				changed := scene(change)
				for range cycles {
					c.Open(t, changed, time.Second).Close()
				}
				last := c.Open(t, changed, time.Second)
				require.Equal(t, 3.0, last.CardsOf("q", "A"))
				accounts := session.InspectionOf(last.Own).Accounts()
				last.Close()

				stored := stored(c, t)
				require.NotNil(t, stored.Record.Remembered)
				assert.Len(t, stored.Record.Remembered.Pods, 3)
				assert.Equal(t, accounts, begins(c, t, changed, 0, stored).Accounts())
				assert.NotEqual(t, accounts, begins(c, t, changed, 0, nil).Accounts(), "without the stored state")
			})
		}
	}
}

// TestEarmarksAreStored evicts a pod for another one, and lets the scheduler run for some cycles, the victim in the
// first of them. A session that begins with the stored state keeps the room as the scheduler does.
func TestEarmarksAreStored(t *testing.T) {
	scene := func(victim func(*workload.Job)) *testbed.Scene {
		s := testbed.NewScene().Node("n", "A", 2).
			Lending("owner", `{"A":2}`, `{"A":1}`, `{"A":0}`).Lending("lent", `{"A":2}`, `{"A":1}`, `{"A":0}`).
			Pods("stays", "lent", "A", 1, 1, testbed.On("n")).
			Pods("claim", "owner", "A", 1, 1, testbed.InPhase(workload.Inqueue)).
			Pods("rival", "lent", "A", 1, 1, testbed.InPhase(workload.Inqueue))
		if victim != nil {
			s.Pods("victim", "lent", "A", 1, 1, testbed.Members(0), testbed.On("n"), victim)
		}
		return s
	}
	running := func(*workload.Job) {}
	ending := func(j *workload.Job) { j.Tasks[0].Status = workload.TaskReleasing }
	rival := func(t *testing.T, i inspect.Inspection, f *testbed.Fixture) string {
		t.Helper()
		why := i.Allocate(f.Task("rival-0"))
		if why == nil {
			why = i.Node(f.Task("rival-0"), "n")
		}
		if why == nil {
			return ""
		}
		return why.String()
	}

	for _, cycles := range []int{1, 6, 60} {
		t.Run(fmt.Sprint(cycles), func(t *testing.T) {
			c := testbed.NewScheduler(framework.Arguments{})
			first := c.Open(t, scene(running), 0).Run(t, session.NewReclaim())
			require.Equal(t, []string{"victim-0"}, first.Evicted())
			first.Close()
			for range 2 { // the first one loads the store
				c.Open(t, scene(ending), time.Second).Close()
			}
			require.Len(t, stored(c, t).Record.Remembered.Earmarks["default/claim"].Victims, 1)

			for range cycles {
				c.Open(t, scene(nil), time.Second).Close()
			}
			last := c.Open(t, scene(nil), time.Second)
			want := rival(t, session.InspectionOf(last.Own), last)
			require.NotEmpty(t, want)
			last.Close()

			saved := stored(c, t)
			job := saved.Record.Remembered.Earmarks["default/claim"]
			assert.Empty(t, job.Victims)
			assert.False(t, job.Quiet.IsZero())
			assert.Equal(t, want, rival(t, begins(c, t, scene(nil), 0, saved), last))
			assert.NotEqual(t, want, rival(t, begins(c, t, scene(nil), 0, nil), last), "without the stored state")

			c.Open(t, scene(nil), time.Hour).Close()
			assert.Nil(t, stored(c, t).Record.Remembered, "the earmark has ended")
		})
	}
}

// countSeries returns the number of series volcano_<name>.
func countSeries(t *testing.T, name string) (n int) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "volcano_"+name {
			n += len(family.Metric)
		}
	}
	return n
}

// TestSavedSeriesEnds removes the last setting that stores something. Nothing is saved from then on, so an alert about
// the age of the last save must not see it.
func TestSavedSeriesEnds(t *testing.T) {
	series := func() int { return countSeries(t, "fair_share_saved_timestamp_seconds") }
	budget := lender().Annotate("own", policy.EvictionBudgetKey, "lose=10/1h")
	c := testbed.NewScheduler(framework.Arguments{})
	for range 3 {
		c.Open(t, budget, time.Hour).Close()
	}
	assert.Equal(t, 1, series())
	c.Open(t, lender(), time.Hour).Close()
	assert.Zero(t, series())
}

// TestUsageSeriesEnd configures a scheduler again that has usage over time and a store. Series that nothing sets any
// more end.
func TestUsageSeriesEnd(t *testing.T) {
	with := func(store string) framework.Arguments {
		return framework.Arguments{arguments.FairShareHalfLife: "1h", arguments.StateStore: store}
	}
	for name, test := range map[string]struct {
		with          framework.Arguments
		budget        string // of evictions
		levels, saved bool
	}{
		"nothing changes":              {with("ns/usage"), "", true, true},
		"no half-life":                 {framework.Arguments{arguments.StateStore: "ns/usage"}, "", false, false},
		"no half-life, and a budget":   {framework.Arguments{arguments.StateStore: "ns/usage"}, "lose=10/1h", false, true},
		"no store":                     {with("none"), "", true, false},
		"no store, and a budget":       {with("none"), "lose=10/1h", true, false},
		"neither, and a budget counts": {framework.Arguments{arguments.StateStore: "none"}, "lose=10/1h", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := testbed.NewScheduler(with("ns/usage"))
			scene := lender().Annotate("own", policy.EvictionBudgetKey, test.budget)
			run := func() (levels, usage, saved bool) {
				for range 3 {
					c.Open(t, scene, time.Hour).Close()
				}
				return countSeries(t, "queue_fair_share_level") > 0, countSeries(t, "queue_fair_share_usage") > 0,
					countSeries(t, "fair_share_saved_timestamp_seconds") > 0
			}
			levels, usage, saved := run()
			require.True(t, levels && usage && saved)
			c.With = test.with
			levels, usage, saved = run()
			assert.Equal(t, test.levels, levels)
			assert.Equal(t, test.levels, usage)
			assert.Equal(t, test.saved, saved)
		})
	}
}
