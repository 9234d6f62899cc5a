package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
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
		{session.New, "", true}, {session.New, "release", false}, {session.NewCapacity, "", false}, {session.NewCapacity, "hold", true},
	} {
		s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":2}`).
			Pods("run", "q", "A", 2, 1, testbed.On("a"), terminate(2)).Pods("next", "q", "A", 2, 1)
		s.Build, s.Arguments = test.build, framework.Arguments{}
		if test.argument != "" {
			s.Arguments["terminatingCards"] = test.argument
		}
		f := s.Open(t)
		held := 0.0
		if test.holds {
			held = 2
		}
		assert.Equal(t, held, f.CardsOf("q", "A"))
		assert.Equal(t, !test.holds, f.JobEnqueueable(f.Job("next")))
		assert.Equal(t, !test.holds, f.Allocatable(f.Queue("q"), f.Task("next-0")))
	}
}

// TestTerminatingPodsAreNoVictims reclaims while victims of an earlier cycle still terminate. They free the card that
// the reclaimer lacks, so nothing more is evicted, and the reclaimer waits.
func TestTerminatingPodsAreNoVictims(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 4).Lending("mine", `{"A":4}`, `{"A":2}`, `{"A":0}`).Lending("other", `{"A":4}`, `{"A":2}`, `{"A":0}`).
		Pods("run", "other", "A", 4, 1, testbed.On("a"), testbed.Members(0), terminate(1)).Pods("claim", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue)).
		Pods("second", "mine", "A", 1, 1, testbed.InPhase(workload.Inqueue))
	s.Jobs = s.Jobs[:2]
	f := s.Open(t).Run(t, allocate.New(), session.NewReclaim())
	assert.Empty(t, f.Evicted())
	assert.Empty(t, f.Placed("claim"), "its card is in use")
}
