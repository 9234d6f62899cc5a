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
