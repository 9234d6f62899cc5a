package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestMaxJobs bounds the jobs of a tree: team may have 3, and its child train 2. Jobs that are
// Inqueue, Running or Unknown count, and those that are admitted in the session.
func TestMaxJobs(t *testing.T) {
	inqueue, unknown, ended := testbed.InPhase(workload.Inqueue), testbed.InPhase(workload.Unknown), testbed.InPhase(workload.Completed)
	for name, build := range map[string]framework.PluginBuilder{session.Name: session.New, session.CapacityName: session.NewCapacity} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 64).Queue("root", "").Queue("team", "root", "quota", `{"A":64}`).
				Queue("train", "team", "quota", `{"A":64}`, "guarantee", `{"A":0}`).Queue("serve", "team", "quota", `{"A":64}`, "guarantee", `{"A":0}`).
				Queue("free", "root", "quota", `{"A":64}`, "guarantee", `{"A":0}`).
				Pods("runs", "train", "A", 1, 1, testbed.On("a")).Pods("over", "train", "A", 1, 1, ended).
				Pods("one", "train", "A", 1, 1).Pods("two", "train", "A", 1, 1).Pods("three", "serve", "A", 1, 1).Pods("four", "serve", "A", 1, 1).
				Pods("other", "free", "A", 1, 1)
			s.Build = build
			s.Annotate("team", policy.MaxJobsKey, "3").Annotate("train", policy.MaxJobsKey, "2")
			f := s.Open(t)
			admit := func(job string) bool {
				admitted := f.JobEnqueueable(f.Job(job))
				if admitted {
					f.JobEnqueued(f.Job(job))
				}
				return admitted
			}
			assert.True(t, admit("one"))
			assert.False(t, admit("two"))
			assert.Equal(t, "Queue <train> has insufficient <jobs> quota: requested <1>, total would be <3>, but max-jobs is <2>", f.Job("two").JobFitErrors)
			assert.True(t, admit("three"))
			assert.False(t, admit("four"))
			assert.Equal(t, "Queue <team> has insufficient <jobs> quota: requested <1>, total would be <4>, but max-jobs is <3>", f.Job("four").JobFitErrors)
			assert.True(t, admit("other"))
		})
	}
	for name, phase := range map[string]func(*workload.Job){"Inqueue": inqueue, "Unknown": unknown, "Running": testbed.On("a")} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Pods("first", "q", "A", 1, 1, phase).Pods("next", "q", "A", 1, 1)
		f := s.Annotate("q", policy.MaxJobsKey, "1").Open(t)
		assert.False(t, f.JobEnqueueable(f.Job("next")), name)
	}
}

// TestMaxJobsChanges records an event when the bound changes, and not when the number of
// jobs does. A bound that is lowered ends no job.
func TestMaxJobsChanges(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Pods("r", "q", "A", 2, 1, testbed.On("a")).Pods("s", "q", "A", 1, 1, testbed.On("a")).
		Pods("next", "q", "A", 1, 1).Annotate("q", policy.MaxJobsKey, "2")
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	f := run.Open(t)
	require.False(t, f.JobEnqueueable(f.Job("next")))
	event := <-events
	assert.Equal(t, "Queue <q> has insufficient <jobs> quota: requested <1>, total would be <3>, but max-jobs is <2>", event.Message)
	assert.Equal(t, "TooManyJobs", f.Job("next").PodGroup.Status.Conditions[0].Reason)
	s.Annotate("q", policy.MaxJobsKey, "1")
	f = run.Open(t)
	assert.Equal(t, 1.0, testbed.AddedMetrics(t)["queue_waiting_jobs q q  TooManyJobs"])
	require.False(t, f.JobEnqueueable(f.Job("next")))
	assert.Contains(t, (<-events).Message, "max-jobs is <1>")
	assert.Equal(t, 3.0, f.CardsOf("q", "A"), "jobs that run stay")
	s.Annotate("q", policy.MaxJobsKey, "")
	f = run.Open(t)
	assert.True(t, f.JobEnqueueable(f.Job("next")))
}
