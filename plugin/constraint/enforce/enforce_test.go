package enforce_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// enforced opens and closes a session on a queue with 8 pods, and returns how many of them are evicted when it opens.
func enforced(c *testbed.Scheduler, t *testing.T, after time.Duration, quota, budget string) int {
	t.Helper()
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":`+quota+`}`)
	s.Annotate("q", policy.EnforceQuotaKey, "after=30m", policy.EvictionBudgetKey, "lose="+budget)
	f := c.Open(t, s.Pods("runs", "q", "A", 8, 1, testbed.On("a")), after)
	defer f.Close()
	return len(f.Evicted())
}

// TestEnforcementSurvivesRestarts has schedulers that restart within the delay, and within the window of a budget.
// The store is saved once an hour, and after each change besides.
func TestEnforcementSurvivesRestarts(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1h"})
	assert.Zero(t, enforced(c, t, 0, "8", "2/1h"))
	assert.Zero(t, enforced(c, t, time.Minute, "4", "2/1h"), "it is above from now on")
	assert.Zero(t, enforced(c, t, time.Minute, "4", "2/1h"))
	c.Restart()
	assert.Zero(t, enforced(c, t, 29*time.Minute, "4", "2/1h"), "what is stored is being read")
	assert.Equal(t, 2, enforced(c, t, time.Second, "4", "2/1h"), "the delay is over, and the budget bounds it")
	assert.Zero(t, enforced(c, t, time.Second, "4", "2/1h"))
	c.Restart()
	enforced(c, t, time.Second, "4", "2/1h")
	assert.Zero(t, enforced(c, t, 50*time.Minute, "4", "2/1h"), "the budget is used up")
	assert.Equal(t, 2, enforced(c, t, 10*time.Minute, "4", "2/1h"))
}

// TestEnforcementWithoutStore begins the delay again where the API server refuses to read the store.
func TestEnforcementWithoutStore(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1s"})
	c.Kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, fmt.Errorf("the API server is away")
	})
	for range 3 {
		require.Zero(t, enforced(c, t, 10*time.Minute, "4", "9/1h"))
	}
	assert.Equal(t, 4, enforced(c, t, 30*time.Minute, "4", "9/1h"))
}

// TestNobodyIsEvictedUntilTheStoreIsRead has a queue that is above its quota when a scheduler starts, and a policy
// without a delay.
func TestNobodyIsEvictedUntilTheStoreIsRead(t *testing.T) {
	c := testbed.NewScheduler(framework.Arguments{arguments.StateSave: "1h"})
	isOpen, open := context.WithCancel(t.Context())
	c.Opened = open
	c.Kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-isOpen.Done() // the session opens before anything is read
		return false, nil, nil
	})
	for _, want := range []int{0, 4} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Annotate("q", policy.EnforceQuotaKey, "after=0s")
		f := c.Open(t, s.Pods("runs", "q", "A", 8, 1, testbed.On("a")), time.Second)
		assert.Len(t, f.Evicted(), want)
		f.Close()
	}
}

// TestEventsOfLowerBounds has an event on the queue each time that it comes to be above a lower bound, and none while
// that lasts.
func TestEventsOfLowerBounds(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Annotate("q", policy.EnforceQuotaKey, "after=30m").
		Pods("runs", "q", "A", 8, 1, testbed.On("a"))
	s.Arguments = framework.Arguments{arguments.StateStore: "none"}
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	for _, quota := range []string{"5", "3"} {
		s.Annotate("q", card.QuotaKey, `{"A":`+quota+`}`)
		run.Open(t)
		run.Open(t)
		event := <-events
		assert.Equal(t, record.QuotaEnforced, event.Reason)
		assert.Contains(t, event.Message, "queue <q> is above its bounds: <8> of <A>, <"+quota+"> are allowed")
	}
}
