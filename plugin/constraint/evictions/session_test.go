package evictions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/shuffle"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// TestNobodyIsEvictedBeforeBudgetsAreRead runs reclaim in the first session of a scheduler. This session reads the
// stored budgets at the same time, and evicts nobody.
func TestNobodyIsEvictedBeforeBudgetsAreRead(t *testing.T) {
	c := testbed.NewScheduler(nil)
	for _, want := range []int{0, 1} {
		s := testbed.NewScene().Node("a", "A", 2).Lending("mine", `{"A":2}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":2}`, `{"A":0}`, `{"A":0}`)
		s.Annotate("other", policy.EvictionBudgetKey, "lose=2/1h")
		s.Pods("runs", "other", "A", 2, 1, testbed.On("a")).Pods("waits", "mine", "A", 1, 1, testbed.InPhase("Inqueue"))
		f := c.Open(t, s, time.Second).Run(t, session.NewReclaim())
		assert.Len(t, f.Evicted(), want)
		f.Close()
	}
}

// TestEvictionsBeforeALateReadCount restarts a scheduler while the API server is away. A pod was evicted before, and
// another one is before the store is read at last. Both count.
func TestEvictionsBeforeALateReadCount(t *testing.T) {
	c := testbed.NewScheduler(nil)
	away := false
	c.Kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away, nil, errors.New("the API server is away")
	})
	for i, step := range []struct {
		restarts, away, evicts bool
		left                   int
	}{
		{}, // reads the store
		{evicts: true, left: 2},
		{left: 2}, // saves
		{restarts: true, away: true},
		{away: true, evicts: true, left: 2},
		{left: 2}, // reads the store
		{left: 1},
	} {
		if step.restarts {
			c.Restart()
		}
		away = step.away
		s := testbed.NewScene().Node("a", "A", 2).Lending("mine", `{"A":2}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":2}`, `{"A":0}`, `{"A":0}`)
		s.Annotate("other", policy.EvictionBudgetKey, "lose=3/1h")
		s.Pods("runs", "other", "A", 2, 1, testbed.On("a")).Pods("waits", "mine", "A", 1, 1, testbed.InPhase("Inqueue"))
		f := c.Open(t, s, time.Second)
		if step.evicts {
			require.Len(t, f.Run(t, session.NewReclaim()).Evicted(), 1)
		}
		if left := f.Own.Memory.Evictions.InForce().All()[0].Left(); step.left > 0 {
			assert.Equal(t, step.left, left, "step %d", i)
		}
		f.Close()
	}
}

// TestShuffleCountsForNoBudget has the action shuffle evict pods after reclaim, in the same session. Only evictions
// by reclaim count for budgets.
func TestShuffleCountsForNoBudget(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.StateStore: "none"})
	s := testbed.NewScene().Node("a", "A", 8).Lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`)
	s.Annotate("other", policy.EvictionBudgetKey, "lose=5/1h").Annotate("mine", policy.EvictionBudgetKey, "take=5/1h")
	s.Pods("runs", "other", "A", 8, 1, testbed.On("a")).Pods("waits", "mine", "A", 1, 1, testbed.InPhase("Inqueue"))
	f := c.Open(t, s, 0).Run(t, allocate.New(), session.NewReclaim())
	defer f.Close()
	left := func() (all []int) {
		for _, b := range f.Own.Memory.Evictions.InForce().All() {
			all = append(all, b.Left())
		}
		return all
	}
	require.Len(t, f.Evicted(), 1)
	require.Equal(t, []int{4, 4}, left())
	f.AddVictimTasksFns(session.Name, []api.VictimTasksFn{func(tasks []*api.TaskInfo) []*api.TaskInfo { return tasks }})
	f.Run(t, shuffle.New())
	assert.Len(t, f.Evicted(), 8)
	assert.Equal(t, []int{4, 4}, left())
}

// TestGangsBeyondTheirBudget expects one event for each job with a minimum that exceeds a budget on its path. The
// event names the smallest budget. The budget of a queue outside the path does not matter.
func TestGangsBeyondTheirBudget(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 26).Queue("p", "").Queue("q", "p", "quota", `{"A":26}`).Queue("r", "", "quota", `{"A":26}`)
	s.Queue("beside", "", "quota", `{"A":26}`).Annotate("beside", policy.EvictionBudgetKey, "lose=2/1h")
	s.Annotate("p", policy.EvictionBudgetKey, "lose=9/1h").Annotate("q", policy.EvictionBudgetKey, "lose=3/1h")
	for _, job := range []struct {
		name string
		runs int
		min  int32
	}{{"gang", 4, 4}, {"small", 4, 3}, {"waits", 4, 5}, {"large", 10, 10}} {
		s.Pods(job.name, "q", "A", job.runs, 1, testbed.On("a"))
		s.Jobs[len(s.Jobs)-1].MinMember = job.min
	}
	d := testbed.NewSequence(t, s.Pods("free", "r", "A", 4, 1, testbed.On("a")))
	d.Jobs[len(d.Jobs)-1].MinMember = 4
	var events []string
	for range 2 {
		for _, event := range d.Open(t).Cache.Events() {
			if strings.Contains(event, record.NeverEvicted) {
				events = append(events, event)
			}
		}
	}
	assert.ElementsMatch(t, []string{
		"Warning NeverEvicted the job needs <4> pods at least, and eviction-budget of queue <q> is <lose=3/1h>: it is never evicted as a whole",
		"Warning NeverEvicted the job needs <10> pods at least, and eviction-budget of queue <q> is <lose=3/1h>: it is never evicted as a whole",
	}, events)
}
