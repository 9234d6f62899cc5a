package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
)

// TestOvercommitFactor admits jobs up to 1.5 times what the queue deserves: 6 of 16 cards. Pods
// of jobs that are admitted may have more.
func TestOvercommitFactor(t *testing.T) {
	lends := func() *scene {
		return newScene().node("a", "A", 16).node("b", "B", 16).
			queue("q", "", "quota", `{"A":16,"B":16}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`)
	}
	for name, test := range map[string]struct {
		scene  *scene
		fits   bool
		reason string
	}{
		"up to the bound": {lends().pods("job", "q", "A", 6, 1, members(6)), true, ""},
		"beyond it": {lends().pods("job", "q", "A", 7, 1, members(7)), false,
			"Queue <q> has insufficient <A> quota: requested <7>, total would be <7>, but deserved × overcommit-factor is <6>"},
		"beside what runs": {lends().pods("runs", "q", "A", 4, 1, members(4), on("a")).pods("job", "q", "A", 3, 1, members(3)), false,
			"Queue <q> has insufficient <A> quota: requested <3>, total would be <7>, but deserved × overcommit-factor is <6>"},
		"beside what is elastic":    {lends().pods("runs", "q", "A", 16, 1, members(1), on("a")).pods("job", "q", "A", 5, 1, members(5)), true, ""},
		"a list within both bounds": {lends().pods("job", "q", "A|B", 12, 1, members(12)), true, ""},
		"a list beyond both bounds": {lends().pods("job", "q", "A|B", 13, 1, members(13)), false,
			"Queue <q> has insufficient <A|B> quota: requested <13>, total would be <13>, but deserved × overcommit-factor is <12>"},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.scene.annotate("q", policy.OvercommitFactorKey, "1.5").open(t)
			assert.Equal(t, test.fits, f.JobEnqueueable(f.job("job")))
			assert.Equal(t, test.reason, f.job("job").JobFitErrors)
		})
	}
	f := lends().pods("job", "q", "A", 16, 1, members(1)).annotate("q", policy.OvercommitFactorKey, "1.5").open(t)
	assert.Equal(t, map[string]int{"A": 16}, f.schedule(t).placed("job"), "pods may borrow")
}

// TestOvercommitOfResources bounds cpu, under the names for which it matters. What deserved does
// not name is bounded by the capability alone.
func TestOvercommitOfResources(t *testing.T) {
	for name, build := range map[string]framework.PluginBuilder{Name: New, CapacityName: NewCapacity} {
		t.Run(name, func(t *testing.T) {
			job := func(name string, cpu, memory int64) workload.Job {
				j := pending(name, "q", 1)
				j.MinResources = workload.Resources{"cpu": cpu, "memory": memory}
				return j
			}
			s := &scene{build: build, Cluster: workload.Cluster{Nodes: wide(64), Jobs: []workload.Job{
				job("fits", 3000, 1<<30), job("large", 3001, 1<<30), job("memory", 1000, 1<<40)}}}
			s.Queues = []workload.Queue{{Name: "q", Weight: 1, Capability: workload.Resources{"cpu": 8000, "memory": 1 << 34}, Deserved: workload.Resources{"cpu": 2000}}}
			f := s.annotate("q", policy.OvercommitFactorKey, "1.5").open(t)
			assert.True(t, f.JobEnqueueable(f.job("fits")))
			assert.False(t, f.JobEnqueueable(f.job("large")))
			assert.Equal(t, "Queue <q> has insufficient <cpu> quota: requested <3.001>, total would be <3.001>, but deserved × overcommit-factor is <3>", f.job("large").JobFitErrors)
			assert.False(t, f.JobEnqueueable(f.job("memory")))
			assert.Contains(t, f.job("memory").JobFitErrors, "<memory> quota: requested <1048576Mi>, total would be <1048576Mi>, but capability is")
		})
	}
}
