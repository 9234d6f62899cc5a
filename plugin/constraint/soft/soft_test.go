package soft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestTakesBackFromAboveTheSoftQuota has a queue that uses all cards and deserves four. Another queue, which deserves
// four as well, has a job that needs more.
func TestTakesBackFromAboveTheSoftQuota(t *testing.T) {
	for name, test := range map[string]struct {
		soft string
		want int // victims
	}{
		"without a soft quota":   {"", 0},
		"above the soft quota":   {`{"A":8}`, 8},
		"within the soft quota":  {`{"A":16}`, 0},
		"no more than it has to": {`{"A":4}`, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 16).
				Lending("has", `{"A":16}`, `{"A":4}`, `{"A":0}`).Lending("wants", `{"A":16}`, `{"A":4}`, `{"A":0}`).
				Annotate("has", policy.SoftQuotaKey, test.soft).
				Pods("big", "has", "A", 16, 1, testbed.Members(0), testbed.On("a")).
				Pods("claims", "wants", "A", 8, 1, testbed.Members(8), testbed.InPhase(workload.Inqueue))
			assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), test.want)
		})
	}
}

// TestWaitsAboveTheSoftQuota has a queue at its soft quota. It gets more cards only where nobody else wants them.
func TestWaitsAboveTheSoftQuota(t *testing.T) {
	for name, test := range map[string]struct {
		others int // pods of the other queue
		want   int // pods beyond the soft quota that get a node
	}{
		"nobody else wants the cards":   {0, 4},
		"others want some of the cards": {2, 2},
		"others want all of the cards":  {4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewScene().Node("a", "A", 8).
				Lending("has", `{"A":8}`, `{"A":0}`, `{"A":0}`).Lending("wants", `{"A":8}`, `{"A":0}`, `{"A":0}`).
				Annotate("has", policy.SoftQuotaKey, `{"A":4}`).
				Pods("runs", "has", "A", 4, 1, testbed.Members(0), testbed.On("a")).
				Pods("more", "has", "A", 4, 1, testbed.Members(0), testbed.InPhase(workload.Inqueue))
			if test.others > 0 {
				s.Pods("others", "wants", "A", test.others, 1, testbed.InPhase(workload.Inqueue))
			}
			f := s.Open(t).Schedule(t)
			assert.Equal(t, test.want, f.Placed("more")["A"])
			assert.Equal(t, test.others, f.Placed("others")["A"])
		})
	}
}

// TestTerminatingPodsDoNotLoseFirst has a queue of a higher priority with 16 pods that run, and four that terminate. A
// gang lacks four more cards.
func TestTerminatingPodsDoNotLoseFirst(t *testing.T) {
	for name, test := range map[string]struct{ soft, want string }{
		"above the soft quota without them": {`{"A":12}`, "high"},
		"above the soft quota with them":    {`{"A":16}`, "low"},
	} {
		t.Run(name, func(t *testing.T) {
			ends := func(j *workload.Job) {
				for i := range j.Tasks {
					j.Tasks[i].Status = workload.TaskReleasing
				}
			}
			s := testbed.NewScene().Node("a", "A", 24).Lending("mine", `{"A":24}`, `{"A":24}`, `{"A":0}`).
				Lending("high", `{"A":24}`, `{"A":0}`, `{"A":0}`).Lending("low", `{"A":24}`, `{"A":0}`, `{"A":0}`).
				Annotate("high", policy.SoftQuotaKey, test.soft).
				Pods("high", "high", "A", 16, 1, testbed.Members(0), testbed.On("a")).
				Pods("ended", "high", "A", 4, 1, testbed.Members(0), testbed.On("a"), ends).
				Pods("low", "low", "A", 4, 1, testbed.Members(0), testbed.On("a")).
				Pods("claims", "mine", "A", 8, 1, testbed.Members(8), testbed.InPhase(workload.Inqueue))
			s.Queues[1].Priority = 5
			evicted := s.Open(t).Run(t, session.NewReclaim()).Evicted()
			assert.Len(t, evicted, 4)
			for _, pod := range evicted {
				assert.Contains(t, pod, test.want)
			}
		})
	}
}
