package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// terminate makes the first n pods of a job terminating.
func terminate(n int) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range n {
			j.Tasks[i].Status = workload.TaskReleasing
		}
	}
}

// TestTerminatingPodsHoldCards has pods of a full queue that are being deleted. Their cards
// count until they are gone, under the name capacity-card by default.
func TestTerminatingPodsHoldCards(t *testing.T) {
	for _, test := range []struct {
		build    framework.PluginBuilder
		argument string
		holds    bool
	}{
		{New, "", true}, {New, "release", false}, {NewCapacity, "", false}, {NewCapacity, "hold", true},
	} {
		s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":2}`).
			pods("run", "q", "A", 2, 1, on("a"), terminate(2)).pods("next", "q", "A", 2, 1)
		s.build, s.arguments = test.build, framework.Arguments{}
		if test.argument != "" {
			s.arguments["terminatingCards"] = test.argument
		}
		f := s.open(t)
		held := 0.0
		if test.holds {
			held = 2
		}
		assert.Equal(t, held, f.cardsOf("q", "A"))
		assert.Equal(t, !test.holds, f.JobEnqueueable(f.job("next")))
		assert.Equal(t, !test.holds, f.Allocatable(f.queue("q"), f.task("next-0")))
	}
}

// TestTerminatingPodsAreNoVictims reclaims while victims of an earlier cycle still terminate.
// They free what the reclaimer lacks, so nothing more is evicted, and the reclaimer waits.
func TestTerminatingPodsAreNoVictims(t *testing.T) {
	s := newScene().node("a", "A", 4).lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
		pods("run", "other", "A", 4, 1, on("a"), members(0), terminate(1)).pods("claim", "mine", "A", 1, 1, inPhase(workload.Inqueue)).
		pods("second", "mine", "A", 1, 1, inPhase(workload.Inqueue))
	s.Jobs = s.Jobs[:2]
	f := s.open(t).run(t, allocate.New(), NewReclaim())
	assert.Empty(t, f.evicted())
	assert.Empty(t, f.placed("claim"), "its card is in use")
}
