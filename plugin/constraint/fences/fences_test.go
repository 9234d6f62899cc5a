package fences_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// TestReclaimDelay lets a pod wait before others are evicted for it.
func TestReclaimDelay(t *testing.T) {
	build := func(now int64, a framework.Arguments) *testbed.Scene {
		s := testbed.Lent(a).Pods("held", "other", "A", 8, 1, testbed.Members(0), testbed.On("a")).Claiming(2).At(now).Annotate("mine", policy.ReclaimDelayKey, "2m")
		s.Jobs[1].Tasks[0].Created = 1000
		return s
	}
	for _, rules := range release.Names() {
		for _, a := range []framework.Arguments{{}, {arguments.ReclaimCompares: "damped=1"}, {arguments.VictimOrder: "leastWork"}} {
			a[arguments.Semantics] = rules
			for now, want := range map[int64]int{1000: 0, 1119: 0, 1120: 2, 5000: 2} {
				f := build(now, a).Open(t)
				gang, _ := f.Own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.Job("claim")}, slices.Collect(maps.Values(f.Job("held").Tasks)))
				assert.Equal(t, want > 0, len(gang) > 0, "gang reclaim at %d, %v", now, a)
				victims, _ := f.Own.Reclaim.Reclaimable(f.Task("claim-0"), slices.Collect(maps.Values(f.Job("held").Tasks)))
				assert.Equal(t, want > 0, len(victims) > 0, "without Preemptive at %d, %v", now, a)
				assert.Len(t, f.Run(t, session.NewReclaim()).Evicted(), want, "at %d, %v", now, a)
			}
		}
	}
	f := build(1100, framework.Arguments{}).Open(t)
	why := session.InspectionOf(f.Own).Claim(f.Job("claim")).Refused
	require.NotNil(t, why)
	assert.Equal(t, report.ReclaimDelayed, why.Rule)
	assert.Equal(t, "Queue <mine> takes nothing from other queues for the pod yet: the pod waits for less than volcano.sh/reclaim-delay", why.String())
}
