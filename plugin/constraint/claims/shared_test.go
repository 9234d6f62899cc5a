package claims_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestJobsThatShareClaimsOfOthers has a job with a claim that another queue of its department holds. The job is
// admitted, although the department has no room to count the claim twice.
func TestJobsThatShareClaimsOfOthers(t *testing.T) {
	s := testbed.NewScene().MixedNode("dra", nil, workload.Resources{}).Queue("root", "").
		Queue("team", "root", "quota", `{"A":2}`).Queue("x", "team", "quota", `{"A":2}`).Queue("y", "team", "quota", `{"A":2}`)
	m := testbed.NewClaimModel()
	m.Devices["dra"] = []string{"A", "A"}
	s.Pods("one", "x", "", 1, 0, testbed.On("dra")).Pods("two", "y", "", 1, 0).Pods("own", "y", "", 1, 0)
	m.With("one-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	m.With("two-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(2, "A")}})
	m.With("own-0", map[string][]testbed.ModelRequest{"shared-other": {testbed.ExactlyOf(1, "A")}})
	f := s.OpenWith(t, m)
	assert.Equal(t, util.Permit, f.Own.Admit.JobEnqueueable(f.Job("two")))
	assert.NotEqual(t, util.Permit, f.Own.Admit.JobEnqueueable(f.Job("own")))
	assert.Equal(t, map[string]string{"two-0": "dra"}, f.Schedule(t).Cache.Bound)
}

// TestClaimsOfUsers limits the cards of each user. If two users of a queue share a claim, both have the cards of the
// claim.
func TestClaimsOfUsers(t *testing.T) {
	for limit, want := range map[string]int{"1": 1, "2": 2} {
		s, m := claimScene(`{"A":9}`)
		s.Annotate("q", card.HolderKey, `{"user":{"*":{"A":`+limit+`}}}`)
		user := func(name string) func(*workload.Job) {
			return func(j *workload.Job) { j.Annotations = map[string]string{policy.UserKey: name} }
		}
		s.Pods("first", "q", "", 1, 0, testbed.On("dra"), user("ada")).Pods("own", "q", "", 1, 0, testbed.On("dra"), user("bob")).
			Pods("second", "q", "", 1, 0, user("bob")).Pods("third", "q", "", 1, 0, user("ada"))
		m.With("first-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(1, "A")}})
		m.With("own-0", map[string][]testbed.ModelRequest{"own": {testbed.ExactlyOf(1, "A")}})
		m.With("second-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(1, "A")}})
		m.With("third-0", map[string][]testbed.ModelRequest{"shared": {testbed.ExactlyOf(1, "A")}})
		f := s.OpenWith(t, m).Schedule(t)
		assert.Len(t, f.Cache.Bound, want, "%v", f.Cache.Bound)
		assert.Contains(t, f.Cache.Bound, "third-0")
		if want == 1 {
			assert.Contains(t, f.Job("second").JobFitErrors, "insufficient <A> quota for user <bob>")
		}
		f.Close()
	}
}
