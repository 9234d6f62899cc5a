package session

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// below adds a queue with a quota of all cards that is guaranteed none.
func (s *scene) below(name, parent, deserved string) *scene {
	return s.queue(name, parent, "quota", `{"A":8}`, "deserved", deserved, "guarantee", `{"A":0}`)
}

// walls is a tree of two teams with two queues each. All cards are used by held's queue, which
// deserves none; the queue of claim deserves all.
func walls(a framework.Arguments, held, claim string, fences ...string) *scene {
	s := newScene().node("a", "A", 8).queue("root", "").below("eng", "root", `{"A":8}`).below("biz", "root", `{"A":0}`)
	for _, name := range []string{"web", "db"} {
		s.below(name, "eng", `{"A":0}`)
	}
	for _, name := range []string{"ads", "sales"} {
		s.below(name, "biz", `{"A":0}`)
	}
	for i := range s.Queues {
		if s.Queues[i].Name == claim {
			s.Queues[i].Annotations["volcano.sh/card.deserved"] = `{"A":8}`
		}
	}
	for _, fence := range fences {
		s.annotate(fence, policy.ReclaimFenceKey, "true")
	}
	s.arguments = a
	return s.pods("held", held, "A", 8, 1, members(0), on("a")).pods("claim", claim, "A", 1, 2, inPhase(workload.Inqueue))
}

// at builds plugins whose sessions have a time, in seconds.
func (s *scene) at(seconds int64) *scene {
	s.build = (&Builder{Variant: s.build(nil).(*Plugin).builder.Variant, Now: func() time.Time { return time.Unix(seconds, 0) }}).Build
	return s
}

// TestReclaimDelay lets a pod wait before others are evicted for it.
func TestReclaimDelay(t *testing.T) {
	build := func(now int64, a framework.Arguments) *scene {
		s := lent(a).pods("held", "other", "A", 8, 1, members(0), on("a")).claiming(2).at(now).annotate("mine", policy.ReclaimDelayKey, "2m")
		s.Jobs[1].Tasks[0].Created = 1000
		return s
	}
	for _, rules := range release.Names() {
		for _, a := range []framework.Arguments{{}, {arguments.ReclaimDamping: 1}, {arguments.VictimOrder: "leastWork"}} {
			a[arguments.Semantics] = rules
			for now, want := range map[int64]int{1000: 0, 1119: 0, 1120: 2, 5000: 2} {
				f := build(now, a).open(t)
				gang, _ := f.own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")}, slices.Collect(maps.Values(f.job("held").Tasks)))
				assert.Equal(t, want > 0, len(gang) > 0, "gang reclaim at %d, %v", now, a)
				victims, _ := f.own.Reclaim.Reclaimable(f.task("claim-0"), slices.Collect(maps.Values(f.job("held").Tasks)))
				assert.Equal(t, want > 0, len(victims) > 0, "without Preemptive at %d, %v", now, a)
				assert.Len(t, f.run(t, NewReclaim()).evicted(), want, "at %d, %v", now, a)
			}
		}
	}
	f := build(1100, framework.Arguments{}).open(t)
	why := InspectionOf(f.own).Preempt(f.task("claim-0"))
	require.NotNil(t, why)
	assert.Equal(t, report.ReclaimDelayed, why.Rule)
	assert.Equal(t, "Queue <mine> takes nothing from other queues for the pod yet: the pod waits for less than volcano.sh/reclaim-delay", why.String())
}
