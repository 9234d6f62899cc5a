package session

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
)

// TestMaxJobs bounds the jobs of a tree: team may have 3, and its child train 2. Jobs that are
// Inqueue, Running or Unknown count, and those that are admitted in the session.
func TestMaxJobs(t *testing.T) {
	inqueue, unknown, ended := inPhase(workload.Inqueue), inPhase(workload.Unknown), inPhase(workload.Completed)
	for name, build := range map[string]framework.PluginBuilder{Name: New, CapacityName: NewCapacity} {
		t.Run(name, func(t *testing.T) {
			s := newScene().node("a", "A", 64).queue("root", "").queue("team", "root", "quota", `{"A":64}`).
				queue("train", "team", "quota", `{"A":64}`, "guarantee", `{"A":0}`).queue("serve", "team", "quota", `{"A":64}`, "guarantee", `{"A":0}`).
				queue("free", "root", "quota", `{"A":64}`, "guarantee", `{"A":0}`).
				pods("runs", "train", "A", 1, 1, on("a")).pods("over", "train", "A", 1, 1, ended).
				pods("one", "train", "A", 1, 1).pods("two", "train", "A", 1, 1).pods("three", "serve", "A", 1, 1).pods("four", "serve", "A", 1, 1).
				pods("other", "free", "A", 1, 1)
			s.build = build
			s.annotate("team", policy.MaxJobsKey, "3").annotate("train", policy.MaxJobsKey, "2")
			f := s.open(t)
			admit := func(job string) bool {
				admitted := f.JobEnqueueable(f.job(job))
				if admitted {
					f.JobEnqueued(f.job(job))
				}
				return admitted
			}
			assert.True(t, admit("one"))
			assert.False(t, admit("two"))
			assert.Equal(t, "Queue <train> has insufficient <jobs> quota: requested <1>, total would be <3>, but max-jobs is <2>", f.job("two").JobFitErrors)
			assert.True(t, admit("three"))
			assert.False(t, admit("four"))
			assert.Equal(t, "Queue <team> has insufficient <jobs> quota: requested <1>, total would be <4>, but max-jobs is <3>", f.job("four").JobFitErrors)
			assert.True(t, admit("other"))
		})
	}
	for name, phase := range map[string]func(*workload.Job){"Inqueue": inqueue, "Unknown": unknown, "Running": on("a")} {
		s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).pods("first", "q", "A", 1, 1, phase).pods("next", "q", "A", 1, 1)
		f := s.annotate("q", policy.MaxJobsKey, "1").open(t)
		assert.False(t, f.JobEnqueueable(f.job("next")), name)
	}
}

// TestMaxJobsChanges records an event when the bound changes, and not when the number of
// jobs does. A bound that is lowered ends no job.
func TestMaxJobsChanges(t *testing.T) {
	s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).pods("r", "q", "A", 2, 1, on("a")).pods("s", "q", "A", 1, 1, on("a")).
		pods("next", "q", "A", 1, 1).annotate("q", policy.MaxJobsKey, "2")
	run := newSequence(t, s)
	client, events := recordedEvents()
	run.client = client
	f := run.open(t)
	require.False(t, f.JobEnqueueable(f.job("next")))
	event := <-events
	assert.Equal(t, "Queue <q> has insufficient <jobs> quota: requested <1>, total would be <3>, but max-jobs is <2>", event.Message)
	assert.Equal(t, "NotAdmitted", f.job("next").PodGroup.Status.Conditions[0].Reason)
	s.annotate("q", policy.MaxJobsKey, "1")
	f = run.open(t)
	assert.Equal(t, 1.0, addedMetrics(t)["queue_waiting_jobs q q  TooManyJobs"])
	require.False(t, f.JobEnqueueable(f.job("next")))
	assert.Contains(t, (<-events).Message, "max-jobs is <1>")
	assert.Equal(t, 3.0, f.cardsOf("q", "A"), "jobs that run stay")
	s.annotate("q", policy.MaxJobsKey, "")
	f = run.open(t)
	assert.True(t, f.JobEnqueueable(f.job("next")))
}
