package session

import (
	"fmt"
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

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// enforced opens and closes a session on a queue with 8 pods, and returns how many of them are evicted when it opens.
func (c *fairScheduler) enforced(t *testing.T, after time.Duration, quota, budget string) int {
	t.Helper()
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":`+quota+`}`)
	s.annotate("q", policy.EnforceQuotaKey, "after=30m", policy.EvictionBudgetKey, budget)
	f := c.open(t, s.pods("runs", "q", "A", 8, 1, on("a")), after)
	defer f.close()
	return len(f.evicted())
}

// TestEnforcementSurvivesRestarts has schedulers that start anew within the delay, and within the window of a budget.
// The store is saved once an hour, and after each change besides.
func TestEnforcementSurvivesRestarts(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareSave: "1h"})
	assert.Zero(t, c.enforced(t, 0, "8", "2/1h"))
	assert.Zero(t, c.enforced(t, time.Minute, "4", "2/1h"), "it is above from now on")
	assert.Zero(t, c.enforced(t, time.Minute, "4", "2/1h"))
	c.restart()
	assert.Zero(t, c.enforced(t, 29*time.Minute, "4", "2/1h"), "what is stored is being read")
	assert.Equal(t, 2, c.enforced(t, time.Second, "4", "2/1h"), "the delay is over, and the budget bounds it")
	assert.Zero(t, c.enforced(t, time.Second, "4", "2/1h"))
	c.restart()
	c.enforced(t, time.Second, "4", "2/1h")
	assert.Zero(t, c.enforced(t, 50*time.Minute, "4", "2/1h"), "the budget is used up")
	assert.Equal(t, 2, c.enforced(t, 10*time.Minute, "4", "2/1h"))
}

// TestEnforcementWithoutStore begins the delay again where the API server refuses to read the store.
func TestEnforcementWithoutStore(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareSave: "1s"})
	c.kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, fmt.Errorf("the API server is away")
	})
	for range 3 {
		require.Zero(t, c.enforced(t, 10*time.Minute, "4", "9/1h"))
	}
	assert.Equal(t, 4, c.enforced(t, 30*time.Minute, "4", "9/1h"))
}

// TestNobodyIsEvictedBeforeBudgetsAreRead has reclaim in the first session of a scheduler, which reads what is stored
// meanwhile.
func TestNobodyIsEvictedBeforeBudgetsAreRead(t *testing.T) {
	c := newFairScheduler(nil)
	for _, want := range []int{0, 1} {
		s := newScene().node("a", "A", 2).lending("mine", `{"A":2}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":2}`, `{"A":0}`, `{"A":0}`)
		s.annotate("other", policy.EvictionBudgetKey, "2/1h")
		s.pods("runs", "other", "A", 2, 1, on("a")).pods("waits", "mine", "A", 1, 1, inPhase("Inqueue"))
		f := c.open(t, s, time.Second).run(t, NewReclaim())
		assert.Len(t, f.evicted(), want)
		f.close()
	}
}

// TestShuffleCountsForNoBudget has the action shuffle evict pods after reclaim has, in one session. Only those of
// reclaim count.
func TestShuffleCountsForNoBudget(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareStore: "none"})
	s := newScene().node("a", "A", 8).lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`)
	s.annotate("other", policy.EvictionBudgetKey, "5/1h").annotate("mine", policy.ReclaimBudgetKey, "5/1h")
	s.pods("runs", "other", "A", 8, 1, on("a")).pods("waits", "mine", "A", 1, 1, inPhase("Inqueue"))
	f := c.open(t, s, 0).run(t, allocate.New(), NewReclaim())
	defer f.close()
	left := func() (all []int) {
		for _, b := range f.own.Memory.evictions.InForce().All() {
			all = append(all, b.Left())
		}
		return all
	}
	require.Len(t, f.evicted(), 1)
	require.Equal(t, []int{4, 4}, left())
	f.AddVictimTasksFns(Name, []api.VictimTasksFn{func(tasks []*api.TaskInfo) []*api.TaskInfo { return tasks }})
	f.run(t, shuffle.New())
	assert.Len(t, f.evicted(), 8)
	assert.Equal(t, []int{4, 4}, left())
}

// TestGangsBeyondTheirBudget has an event once on each job whose minimum a budget on its path never has room for. The
// event names the smallest budget. That of a queue beside the path does not matter.
func TestGangsBeyondTheirBudget(t *testing.T) {
	s := newScene().node("a", "A", 26).queue("p", "").queue("q", "p", "quota", `{"A":26}`).queue("r", "", "quota", `{"A":26}`)
	s.queue("beside", "", "quota", `{"A":26}`).annotate("beside", policy.EvictionBudgetKey, "2/1h")
	s.annotate("p", policy.EvictionBudgetKey, "9/1h").annotate("q", policy.EvictionBudgetKey, "3/1h")
	for _, job := range []struct {
		name string
		runs int
		min  int32
	}{{"gang", 4, 4}, {"small", 4, 3}, {"waits", 4, 5}, {"large", 10, 10}} {
		s.pods(job.name, "q", "A", job.runs, 1, on("a"))
		s.Jobs[len(s.Jobs)-1].MinMember = job.min
	}
	d := newSequence(t, s.pods("free", "r", "A", 4, 1, on("a")))
	d.Jobs[len(d.Jobs)-1].MinMember = 4
	var events []string
	for range 2 {
		for _, event := range d.open(t).cache.Events() {
			if strings.Contains(event, record.NeverEvicted) {
				events = append(events, event)
			}
		}
	}
	assert.ElementsMatch(t, []string{
		"Warning NeverEvicted the job needs <4> pods at least, and eviction-budget of queue <q> is <3/1h>: it is never evicted as a whole",
		"Warning NeverEvicted the job needs <10> pods at least, and eviction-budget of queue <q> is <3/1h>: it is never evicted as a whole",
	}, events)
}

// TestNobodyIsEvictedUntilTheStoreIsRead has a queue that is above its quota when a scheduler starts, and a policy
// without a delay.
func TestNobodyIsEvictedUntilTheStoreIsRead(t *testing.T) {
	c := newFairScheduler(framework.Arguments{arguments.FairShareSave: "1h"})
	for _, want := range []int{0, 4} {
		s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":4}`).annotate("q", policy.EnforceQuotaKey, "after=0s")
		f := c.open(t, s.pods("runs", "q", "A", 8, 1, on("a")), time.Second)
		assert.Len(t, f.evicted(), want)
		f.close()
	}
}

// TestEventsOfLowerBounds has an event on the queue each time that it comes to be above a lower bound, and none while
// that lasts.
func TestEventsOfLowerBounds(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).annotate("q", policy.EnforceQuotaKey, "after=30m").
		pods("runs", "q", "A", 8, 1, on("a"))
	s.arguments = framework.Arguments{arguments.FairShareStore: "none"}
	run := newSequence(t, s)
	client, events := recordedEvents()
	run.client = client
	for _, quota := range []string{"5", "3"} {
		s.annotate("q", card.QuotaKey, `{"A":`+quota+`}`)
		run.open(t)
		run.open(t)
		event := <-events
		assert.Equal(t, record.QuotaEnforced, event.Reason)
		assert.Contains(t, event.Message, "queue <q> is above its bounds: <8> of <A>, <"+quota+"> are allowed")
	}
}
