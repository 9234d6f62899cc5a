package notice_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/reclaim/notice"
)

var now = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// TestStateAt has the states of a plan with notices that end at 10:00.
func TestStateAt(t *testing.T) {
	for name, test := range map[string]struct {
		at   time.Duration
		want notice.State
	}{
		"before the end":        {-time.Nanosecond, notice.Running},
		"at the end":            {0, notice.Due},
		"at the latest":         {notice.Lateness, notice.Due},
		"later than that":       {notice.Lateness + time.Nanosecond, notice.Ended},
		"a year before the end": {-8760 * time.Hour, notice.Running},
	} {
		assert.Equal(t, test.want, notice.StateAt(now, now.Add(test.at)), name)
	}
	assert.Equal(t, notice.Ended, notice.StateAt(time.Time{}, now), "the victims get no notice any more")
}

func planOf(job api.JobID, within bool, victims ...api.TaskID) *notice.Plan {
	p := &notice.Plan{Job: job, Within: within}
	for _, victim := range victims {
		p.Victims = append(p.Victims, notice.Victim{Job: "v", Task: victim})
	}
	return p
}

// booked returns the nodes of all places, and kept the victims that are kept.
func booked(b *notice.Board) (nodes []string) {
	for _, m := range b.Booked() {
		nodes = append(nodes, m.Node)
	}
	return nodes
}

func kept(b *notice.Board) (victims []api.TaskID) {
	for v := range b.Kept() {
		victims = append(victims, v.Task)
	}
	return victims
}

// places returns one place, on a node.
func places(node string) []*earmark.Mark {
	return []*earmark.Mark{{Earmark: earmark.Earmark{Node: node}}}
}

// TestPlanFromNoticeToEviction follows a plan through two sessions.
func TestPlanFromNoticeToEviction(t *testing.T) {
	b := &notice.Board{}
	p := planOf("a", false, "v1", "v2")
	b.Add(p, now, places("n"))
	assert.Equal(t, []string{"n"}, booked(b))
	assert.Equal(t, api.JobID("a"), b.KeptFor("v1"))
	assert.Nil(t, b.DueFor("a", false), "its notices run")

	b.Close()
	b.Suspend()
	assert.Empty(t, booked(b))
	assert.Empty(t, kept(b))
	assert.Nil(t, b.DueFor("a", false), "nobody has decided about it")

	assert.Equal(t, []*notice.Plan{p}, b.Plans())
	b.Expire(p, now, places("n"))
	assert.Equal(t, []string{"n"}, booked(b), "until the action serves the job")
	assert.Equal(t, []api.TaskID{"v1", "v2"}, kept(b))
	assert.Nil(t, b.DueFor("a", true), "the plan is for victims of other queues")
	require.Same(t, p, b.DueFor("a", false))
	assert.Equal(t, now, p.Until())

	assert.Empty(t, b.Unbook("a", true))
	assert.Equal(t, places("n"), b.Unbook("a", false))
	assert.Empty(t, booked(b))
	assert.Empty(t, b.End(p))
	assert.Nil(t, b.DueFor("a", false))
	assert.Empty(t, b.KeptFor("v1"))
}

// TestEndOfRunningPlans ends one of two plans, and returns its places alone.
func TestEndOfRunningPlans(t *testing.T) {
	b := &notice.Board{}
	first, second := planOf("a", false, "v1"), planOf("b", true, "v2", "v3")
	for node, p := range map[string]*notice.Plan{"n1": first, "n2": second} {
		b.Add(p, now, places(node))
	}
	assert.Equal(t, []*notice.Plan{second}, b.With("v3"))
	assert.Empty(t, b.With("v4"))

	assert.Equal(t, places("n2"), b.End(second))
	assert.Equal(t, []string{"n1"}, booked(b))
	assert.Equal(t, []api.TaskID{"v1"}, kept(b))
}

// TestEndOfSuspendedPlans ends a plan that the next session does not need. Another plan keeps the victim that both
// have.
func TestEndOfSuspendedPlans(t *testing.T) {
	b := &notice.Board{}
	needed, gone := planOf("needed", false, "v1"), planOf("gone", false, "v1", "v2")
	b.Add(needed, now, places("n"))
	b.Add(gone, now, places("m"))
	b.Suspend()

	for _, p := range b.Plans() {
		if p == needed {
			b.Run(p, now, places("n"))
		} else {
			assert.Empty(t, b.End(p))
		}
	}
	assert.Empty(t, b.With("v2"))
	assert.Equal(t, []api.TaskID{"v1"}, kept(b))
}
