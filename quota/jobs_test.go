package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestJobs has the queues of the example: team may have 3 jobs, its children 2 each. Its
// sibling has no bound.
func TestJobs(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "team"}, queue{name: "train<team"}, queue{name: "serve<team"}, queue{name: "free"})
	for name, test := range map[string]struct {
		own  map[string]int
		want map[string]string
	}{
		"room everywhere":             {map[string]int{"train": 1, "serve": 1}, map[string]string{"train": "Admitted at train", "serve": "Admitted at serve"}},
		"the queue is full":           {map[string]int{"train": 2}, map[string]string{"train": "TooManyJobs at train", "serve": "Admitted at serve"}},
		"its parent is full":          {map[string]int{"train": 2, "serve": 1}, map[string]string{"train": "TooManyJobs at train", "serve": "TooManyJobs at team", "free": "Admitted at free"}},
		"jobs of the parent itself":   {map[string]int{"team": 3}, map[string]string{"train": "TooManyJobs at team"}},
		"more than a bound that fell": {map[string]int{"train": 9}, map[string]string{"train": "TooManyJobs at train", "serve": "TooManyJobs at team"}},
		"a queue without a bound":     {map[string]int{"free": 1000}, map[string]string{"free": "Admitted at free", "train": "Admitted at train"}},
	} {
		t.Run(name, func(t *testing.T) {
			own := make([]int, ix.Len())
			most := map[index.Queue]int{lookup(t, ix, "team"): 3, lookup(t, ix, "train"): 2, lookup(t, ix, "serve"): 2}
			for queue, n := range test.own {
				own[lookup(t, ix, queue)] = n
			}
			var jobs quota.Jobs
			assert.True(t, jobs.Reset(ix.Tree, own, func(q index.Queue) int { return most[q] }))
			for queue, want := range test.want {
				assert.Equal(t, want, verdict(ix, jobs.Fits(lookup(t, ix, queue))), queue)
			}
		})
	}
}

// TestJobsThatAreAdmitted counts jobs that are admitted in the session, at every level.
func TestJobsThatAreAdmitted(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "team"}, queue{name: "train<team"}, queue{name: "serve<team"})
	team, train, serve := lookup(t, ix, "team"), lookup(t, ix, "train"), lookup(t, ix, "serve")
	most := 2
	bound := func(q index.Queue) int {
		if q == team {
			return most
		}
		return 0
	}
	var jobs quota.Jobs
	require.True(t, jobs.Reset(ix.Tree, make([]int, ix.Len()), bound))
	jobs.Count(train, 1)
	assert.True(t, jobs.Fits(serve).OK())
	jobs.Count(serve, 1)
	assert.Equal(t, quota.Verdict{Reason: quota.TooManyJobs, Queue: team}, jobs.Fits(train))
	assert.Equal(t, quota.Numbers{Total: 3, Bound: 2}, jobs.Numbers(team))

	most = 0
	assert.False(t, jobs.Reset(ix.Tree, make([]int, ix.Len()), bound), "no queue has a bound any more")
	jobs.Count(train, 1)
	assert.True(t, jobs.Fits(train).OK())
}
