package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

func ofPriority(p int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = p } }

// TestDisplacedJobsAreTold records an event on the job that loses its promise, and ends its
// condition Inqueue. It is admitted again when there is room.
func TestDisplacedJobsAreTold(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":4}`).pods("low", "q", "A", 4, 1, members(4)).pods("high", "q", "A", 1, 1, ofPriority(5))
	s.arguments = framework.Arguments{arguments.DisplacePromises: true, arguments.InqueueTimeout: "1h"}
	run := newTimed(t, s)
	client, events := recordedEvents()
	run.client = client
	f := run.after(t, 0)
	require.True(t, f.admit("low"))
	f = run.after(t, time.Minute)
	require.True(t, f.admit("high"))
	const text = "The job is not admitted any more: job default/high of the queue has the priority 5, and this one 0. It is admitted again when there is room"
	event := <-events
	assert.Equal(t, []string{"low", v1.EventTypeWarning, "PromiseDisplaced", text}, []string{event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
	assert.Equal(t, "False PromiseDisplaced 1m0s", run.inqueueOf(f, "low"))
	assert.Equal(t, text, f.job("low").JobFitErrors)
	f = run.after(t, time.Minute)
	assert.False(t, f.admit("low"))
	s.Jobs = s.Jobs[:1]
	f = run.after(t, time.Minute)
	assert.True(t, f.admit("low"))
	assert.Equal(t, "True Admitted 3m0s", run.inqueueOf(f, "low"))
}

// TestDisplacementThatOthersRefuse asks about a job that another plugin refuses then. Nobody
// loses a promise, also when another job is admitted next.
func TestDisplacementThatOthersRefuse(t *testing.T) {
	s := newScene().node("c", "C", 8).queue("q", "", "quota", `{"A":4}`).pods("low", "q", "A", 4, 1, members(4), inPhase(workload.Inqueue)).
		pods("high", "q", "A", 1, 1, ofPriority(5)).pods("free", "q", "", 0, 0)
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	require.True(t, f.JobEnqueueable(f.job("high")))
	f.JobEnqueued(f.job("free"))
	assert.Equal(t, scheduling.PodGroupInqueue, f.job("low").PodGroup.Status.Phase)
}
