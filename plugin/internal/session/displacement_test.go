package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// TestDisplacedJobsAreTold records an event on the job that loses its promise, and ends its
// condition Inqueue. It is admitted again when there is room.
func TestDisplacedJobsAreTold(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 8).Queue("q", "", "quota", `{"A":4}`).Pods("low", "q", "A", 4, 1, testbed.Members(4)).Pods("high", "q", "A", 1, 1, ofPriority(5))
	s.Annotate("q", policy.OrderKey, "displace", policy.InqueueTimeoutKey, "1h")
	run := newTimed(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	f := run.after(t, 0)
	require.True(t, admit(f, "low"))
	f = run.after(t, time.Minute)
	require.True(t, admit(f, "high"))
	const text = "The job is not admitted any more: job default/high of the queue has the priority 5, and this one 0. It is admitted again when there is room"
	event := <-events
	assert.Equal(t, []string{"low", v1.EventTypeWarning, "PromiseDisplaced", text}, []string{event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
	assert.Equal(t, "False PromiseDisplaced 1m0s", run.inqueueOf(f, "low"))
	assert.Equal(t, text, f.Job("low").JobFitErrors)
	f = run.after(t, time.Minute)
	assert.False(t, admit(f, "low"))
	s.Jobs = s.Jobs[:1]
	f = run.after(t, time.Minute)
	assert.True(t, admit(f, "low"))
	assert.Equal(t, "True Admitted 3m0s", run.inqueueOf(f, "low"))
}

// TestDisplacementThatOthersRefuse asks about a job that another plugin refuses then. Nobody
// loses a promise, also when another job is admitted next.
func TestDisplacementThatOthersRefuse(t *testing.T) {
	s := testbed.NewScene().Node("c", "C", 8).Queue("q", "", "quota", `{"A":4}`).Pods("low", "q", "A", 4, 1, testbed.Members(4), testbed.InPhase(workload.Inqueue)).
		Pods("high", "q", "A", 1, 1, ofPriority(5)).Pods("free", "q", "", 0, 0)
	s.Annotate("q", policy.OrderKey, "displace")
	f := s.Open(t)
	require.True(t, f.JobEnqueueable(f.Job("high")))
	f.JobEnqueued(f.Job("free"))
	assert.Equal(t, scheduling.PodGroupInqueue, f.Job("low").PodGroup.Status.Phase)
}

// TestDisplacementGivesCardHoursBack has two admitted jobs that still need 7 of 10 card-hours. A job that needs 8 takes
// their place. A job that does not fit either way changes nothing.
func TestDisplacementGivesCardHoursBack(t *testing.T) {
	lasting := func(length string, priority int32) func(*workload.Job) {
		return func(j *workload.Job) {
			j.Annotations = map[string]string{policy.ExpectedRuntimeKey: length}
			j.Priority = priority
		}
	}
	s := testbed.NewScene().At(1000).Node("c", "C", 8).Queue("q", "", "quota", `{"A":4}`, "budget", `{"A":"10h/30d"}`).
		Pods("low", "q", "A", 3, 1, testbed.Members(3), testbed.InPhase(workload.Inqueue), lasting("2h", 0)).
		Pods("lower", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue), lasting("1h", -1)).
		Pods("huge", "q", "A", 9, 1, testbed.Members(9), lasting("1h", 10)).Pods("high", "q", "A", 4, 1, testbed.Members(4), lasting("2h", 10))
	s.Annotate("q", policy.OrderKey, "displace")
	f := s.Open(t)
	needed := func() float64 { return budget.Hours(f.Own.Memory.Budgets.InForce().All()[0].Needed) }
	require.InDelta(t, 7, needed(), 1e-9)
	require.False(t, f.JobEnqueueable(f.Job("huge")))
	assert.InDelta(t, 7, needed(), 1e-9)
	require.True(t, admit(f, "high"))
	assert.InDelta(t, 8, needed(), 1e-9)
	assert.Equal(t, scheduling.PodGroupPending, f.Job("low").PodGroup.Status.Phase)
	assert.Equal(t, scheduling.PodGroupPending, f.Job("lower").PodGroup.Status.Phase)
}

// TestChosenMinimumIsPromised has a job that states cards A first. They are used up, so that cards B are its minimum.
// Nothing else is promised to it when others want to displace it, and when it displaces others.
func TestChosenMinimumIsPromised(t *testing.T) {
	either := func(j *workload.Job) {
		testbed.CardRequest(`{"A":4,"B":4}`, workload.Pending)(j)
		j.MinResources = workload.Resources{testbed.GPU: 4}
	}
	for name, test := range map[string]struct {
		build func(*testbed.Scene) *testbed.Scene
		high  bool // it is admitted
		low   scheduling.PodGroupPhase
	}{
		"another job asks for its place in vain": {func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("low", "q", "", 0, 0, either).Pods("high", "q", "A", 4, 1, testbed.Members(4), ofPriority(5))
		}, false, scheduling.PodGroupInqueue},
		"it displaces another job": {func(s *testbed.Scene) *testbed.Scene {
			return s.Pods("low", "q", "B", 4, 1, testbed.Members(4)).Pods("high", "q", "", 0, 0, either, ofPriority(5))
		}, true, scheduling.PodGroupPending},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 4).Node("b", "B", 4).Queue("q", "", "quota", `{"A":4,"B":4}`).
				Pods("runs", "q", "A", 4, 1, testbed.Members(4), testbed.On("a"))
			f := test.build(s.Annotate("q", policy.OrderKey, "displace")).Open(t)
			require.True(t, admit(f, "low"))
			assert.Equal(t, test.high, admit(f, "high"))
			assert.Equal(t, test.low, f.Job("low").PodGroup.Status.Phase)
			assert.Equal(t, map[string]float64{"q B": 4000}, promisesOfAccounts(f))
		})
	}
}
