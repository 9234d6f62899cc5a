package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// TestGuaranteesBesideSharedClaims has a pod that shares a claim which another queue of its department holds: the
// department and the root get nothing more, so what is guaranteed to another queue stays free.
func TestGuaranteesBesideSharedClaims(t *testing.T) {
	s := newScene().mixedNode("dra", nil, workload.Resources{}).queue("root", "").
		queue("team", "root", "quota", `{"A":4}`, "guarantee", `{"A":0}`).
		queue("x", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).queue("y", "team", "quota", `{"A":2}`, "guarantee", `{"A":0}`).
		queue("other", "root", "quota", `{"A":1}`, "guarantee", `{"A":1}`)
	m := newClaimModel()
	m.devices["dra"] = []string{"A", "A", "A", "B", "A/mig-1g.10gb-mixed"}
	s.pods("one", "x", "", 1, 0, on("dra")).pods("two", "y", "", 1, 0).pods("own", "y", "", 1, 0)
	m.with("one-0", map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	m.with("two-0", map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	m.with("own-0", map[string][]modelRequest{"own": {exactlyOf(1, "A")}})
	f := s.openWith(t, m)
	m.compareClaims(t, f, s.Cluster, map[string]int{})
	f.schedule(t)
	assert.Equal(t, map[string]string{"two-0": "dra"}, f.cache.Bound)
}

// TestJobsThatShareClaimsOfOthers has a job whose claim another queue of its department holds. It is admitted, though
// the department has no room for the claim a second time.
func TestJobsThatShareClaimsOfOthers(t *testing.T) {
	s := newScene().mixedNode("dra", nil, workload.Resources{}).queue("root", "").
		queue("team", "root", "quota", `{"A":2}`).queue("x", "team", "quota", `{"A":2}`).queue("y", "team", "quota", `{"A":2}`)
	m := newClaimModel()
	m.devices["dra"] = []string{"A", "A"}
	s.pods("one", "x", "", 1, 0, on("dra")).pods("two", "y", "", 1, 0).pods("own", "y", "", 1, 0)
	m.with("one-0", map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	m.with("two-0", map[string][]modelRequest{"shared": {exactlyOf(2, "A")}})
	m.with("own-0", map[string][]modelRequest{"shared-other": {exactlyOf(1, "A")}})
	f := s.openWith(t, m)
	assert.Equal(t, util.Permit, f.own.admit.JobEnqueueable(f.job("two")))
	assert.NotEqual(t, util.Permit, f.own.admit.JobEnqueueable(f.job("own")))
	assert.Equal(t, map[string]string{"two-0": "dra"}, f.schedule(t).cache.Bound)
}

// TestClaimsOfUsers limits what each user has of cards. A user who shares a claim that another user of the queue holds
// has its cards, too.
func TestClaimsOfUsers(t *testing.T) {
	for limit, want := range map[string]int{"1": 1, "2": 2} {
		s, m := claimScene(`{"A":9}`)
		s.annotate("q", card.HolderKey, `{"user":{"*":{"A":`+limit+`}}}`)
		user := func(name string) func(*workload.Job) {
			return func(j *workload.Job) { j.Annotations = map[string]string{policy.UserKey: name} }
		}
		s.pods("first", "q", "", 1, 0, on("dra"), user("ada")).pods("own", "q", "", 1, 0, on("dra"), user("bob")).
			pods("second", "q", "", 1, 0, user("bob")).pods("third", "q", "", 1, 0, user("ada"))
		m.with("first-0", map[string][]modelRequest{"shared": {exactlyOf(1, "A")}})
		m.with("own-0", map[string][]modelRequest{"own": {exactlyOf(1, "A")}})
		m.with("second-0", map[string][]modelRequest{"shared": {exactlyOf(1, "A")}})
		m.with("third-0", map[string][]modelRequest{"shared": {exactlyOf(1, "A")}})
		f := s.openWith(t, m).schedule(t)
		assert.Len(t, f.cache.Bound, want, "%v", f.cache.Bound)
		assert.Contains(t, f.cache.Bound, "third-0")
		if want == 1 {
			assert.Contains(t, f.job("second").JobFitErrors, "insufficient <A> quota for user <bob>")
		}
		f.close()
	}
}
