package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestOvercommitFactor admits jobs up to 1.5 times the deserved cards of the queue: 6 of 16 cards. Pods of admitted
// jobs may have more.
func TestOvercommitFactor(t *testing.T) {
	lends := func() *testbed.Scene {
		return testbed.NewScene().Node("a", "A", 16).Node("b", "B", 16).
			Queue("q", "", "quota", `{"A":16,"B":16}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`)
	}
	for name, test := range map[string]struct {
		scene  *testbed.Scene
		fits   bool
		reason string
	}{
		"up to the bound": {lends().Pods("job", "q", "A", 6, 1, testbed.Members(6)), true, ""},
		"beyond it": {lends().Pods("job", "q", "A", 7, 1, testbed.Members(7)), false,
			"Queue <q> has insufficient <A> quota: requested <7>, total would be <7>, but deserved × overcommit-factor is <6>"},
		"beside what runs": {lends().Pods("runs", "q", "A", 4, 1, testbed.Members(4), testbed.On("a")).Pods("job", "q", "A", 3, 1, testbed.Members(3)), false,
			"Queue <q> has insufficient <A> quota: requested <3>, total would be <7>, but deserved × overcommit-factor is <6>"},
		"beside what is elastic":    {lends().Pods("runs", "q", "A", 16, 1, testbed.Members(1), testbed.On("a")).Pods("job", "q", "A", 5, 1, testbed.Members(5)), true, ""},
		"a list within both bounds": {lends().Pods("job", "q", "A|B", 12, 1, testbed.Members(12)), true, ""},
		"a list beyond both bounds": {lends().Pods("job", "q", "A|B", 13, 1, testbed.Members(13)), false,
			"Queue <q> has insufficient <A|B> quota: requested <13>, total would be <13>, but deserved × overcommit-factor is <12>"},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene.Annotate("q", policy.OvercommitFactorKey, "1.5").Open(t)
			assert.Equal(t, test.fits, f.JobEnqueueable(f.Job("job")))
			assert.Equal(t, test.reason, f.Job("job").JobFitErrors)
		})
	}
	f := lends().Pods("job", "q", "A", 16, 1, testbed.Members(1)).Annotate("q", policy.OvercommitFactorKey, "1.5").Open(t)
	assert.Equal(t, map[string]int{"A": 16}, f.Schedule(t).Placed("job"), "pods may borrow")
}

// TestOvercommitOfResources bounds cpu, under the names for which it matters. What deserved does
// not name is bounded by the capability alone.
func TestOvercommitOfResources(t *testing.T) {
	for name, build := range map[string]framework.PluginBuilder{session.Name: session.New, session.CapacityName: session.NewCapacity} {
		t.Run(name, func(t *testing.T) {
			job := func(name string, cpu, memory int64) workload.Job {
				j := pendingJob(name, "q", 1)
				j.MinResources = workload.Resources{"cpu": cpu, "memory": memory}
				return j
			}
			s := &testbed.Scene{Build: build, Cluster: workload.Cluster{Nodes: wide(64), Jobs: []workload.Job{
				job("fits", 3000, 1<<30), job("large", 3001, 1<<30), job("memory", 1000, 1<<40)}}}
			s.Queues = []workload.Queue{{Name: "q", Weight: 1, Capability: workload.Resources{"cpu": 8000, "memory": 1 << 34}, Deserved: workload.Resources{"cpu": 2000}}}
			f := s.Annotate("q", policy.OvercommitFactorKey, "1.5").Open(t)
			assert.True(t, f.JobEnqueueable(f.Job("fits")))
			assert.False(t, f.JobEnqueueable(f.Job("large")))
			assert.Equal(t, "Queue <q> has insufficient <cpu> quota: requested <3.001>, total would be <3.001>, but deserved × overcommit-factor is <3>", f.Job("large").JobFitErrors)
			assert.False(t, f.JobEnqueueable(f.Job("memory")))
			assert.Contains(t, f.Job("memory").JobFitErrors, "<memory> quota: requested <1048576Mi>, total would be <1048576Mi>, but capability is")
		})
	}
}
