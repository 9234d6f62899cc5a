package plugin

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
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
	s.build = (&builder{variant: s.build(nil).(*quotaPlugin).builder.variant, now: func() time.Time { return time.Unix(seconds, 0) }}).build
	return s
}

// TestMinRuntime spares pods that have run for less than their queue says, from reclaim.
func TestMinRuntime(t *testing.T) {
	build := func(now int64) *scene {
		return lent(framework.Arguments{}).pods("young", "other", "A", 4, 1, members(0), since("a", 900)).
			pods("old", "other", "A", 4, 1, members(0), since("a", 100)).claiming(4).at(now)
	}
	for name, test := range map[string]struct {
		now     int64
		runtime string
		want    []string
	}{
		"not yet":                      {1000, "200s", []string{"old-0", "old-1", "old-2", "old-3"}},
		"the second before":            {1099, "200s", []string{"old-0", "old-1", "old-2", "old-3"}},
		"none has run for so long":     {1000, "1h", nil},
		"the clock of a node is ahead": {800, "1s", []string{"old-0", "old-1", "old-2", "old-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rules := range release.Names() {
				for _, order := range []string{"volcano", "leastWork"} {
					s := build(test.now).annotate("other", policy.MinRuntimeKey, test.runtime)
					s.arguments = framework.Arguments{semantics: rules, victimOrder: order}
					f := s.open(t)
					gang, _ := f.own.evictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")},
						slices.Concat(slices.Collect(maps.Values(f.job("old").Tasks)), slices.Collect(maps.Values(f.job("young").Tasks))))
					assert.Len(t, gang, len(test.want))
					assert.Equal(t, test.want, f.run(t, reclaim.New()).evicted(), "%s, with the rules of %s", order, rules)
				}
			}
		})
	}
	s := build(1100).annotate("other", policy.MinRuntimeKey, "200s")
	s.arguments = byWork()
	assert.Equal(t, []string{"young-0", "young-1", "young-2", "young-3"}, s.open(t).run(t, reclaim.New()).evicted(), "from the moment on")
	assert.Empty(t, lent(framework.Arguments{}).pods("new", "other", "A", 8, 1, members(0), on("a")).claiming(1).at(1000).
		annotate("other", policy.MinRuntimeKey, "1s").open(t).run(t, reclaim.New()).evicted(), "the kubelet has not started them")
}

// TestPreemptMinRuntime spares pods that have run for less than their queue says, from jobs of
// the same queue.
func TestPreemptMinRuntime(t *testing.T) {
	for name, test := range map[string]struct {
		key, runtime string
		cards        string
		gpus         int64
		want         []string
	}{
		"cards":                     {policy.PreemptMinRuntimeKey, "200s", "A", 1, []string{"old-0", "old-1", "old-2", "old-3"}},
		"no cards":                  {policy.PreemptMinRuntimeKey, "200s", "", 0, []string{"old-0", "old-1", "old-2", "old-3"}},
		"none has run for so long":  {policy.PreemptMinRuntimeKey, "1h", "A", 1, nil},
		"none, without cards":       {policy.PreemptMinRuntimeKey, "1h", "", 0, nil},
		"that of reclaim, no cards": {policy.MinRuntimeKey, "1h", "", 0, []string{"any of eight"}},
		"that of reclaim":           {policy.MinRuntimeKey, "1h", "A", 1, []string{"any of eight"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":8}`).
				pods("young", "q", test.cards, 4, test.gpus, members(0), since("a", 900), requesting("cpu", 8000)).
				pods("old", "q", test.cards, 4, test.gpus, members(0), since("a", 100), requesting("cpu", 8000)).
				pods("claim", "q", test.cards, 1, 4*test.gpus, inPhase(workload.Inqueue), priorityOf(9), requesting("cpu", 32000)).at(1000)
			if test.gpus > 0 {
				for i := range s.Jobs {
					for k := range s.Jobs[i].Tasks {
						s.Jobs[i].Tasks[k].Request[gpuName] = 1
					}
				}
				s.Jobs[2].Tasks[0].Request[gpuName] = 4
			}
			s.annotate("q", test.key, test.runtime)
			evicted := s.open(t).run(t, preempt.New()).evicted()
			if len(test.want) == 1 {
				assert.Len(t, evicted, 4)
				return
			}
			assert.Equal(t, test.want, evicted)
			f := s.open(t)
			gang, _ := f.own.evictableForGang(release.Eviction{Kind: release.GangPreempt, Job: f.job("claim")},
				slices.Concat(slices.Collect(maps.Values(f.job("old").Tasks)), slices.Collect(maps.Values(f.job("young").Tasks))))
			assert.Len(t, gang, len(test.want))
		})
	}
}

// TestClockAhead has pods that run on a node whose clock is ahead. Without a policy of their own
// queue they are preempted and reclaimed as all others are, whatever policy another queue has.
func TestClockAhead(t *testing.T) {
	preempted := newScene().node("a", "A", 4).queue("q", "", "quota", `{"A":4}`).queue("other", "").
		annotate("other", policy.MaxJobsKey, "20").pods("low", "q", "A", 4, 1, members(0), since("a", 1300)).
		pods("high", "q", "A", 2, 1, members(2), inPhase(workload.Inqueue), priorityOf(9)).at(1000)
	f := preempted.open(t)
	gang, _ := f.own.evictableForGang(release.Eviction{Kind: release.GangPreempt, Job: f.job("high")}, slices.Collect(maps.Values(f.job("low").Tasks)))
	assert.Len(t, gang, 4)
	assert.Len(t, f.run(t, preempt.New()).evicted(), 2)

	reclaimed := lent(framework.Arguments{}).pods("held", "other", "A", 8, 1, members(0), since("a", 1300)).claiming(2).
		at(1000).annotate("mine", policy.MaxJobsKey, "20")
	assert.Len(t, reclaimed.open(t).run(t, reclaim.New()).evicted(), 2)
}

// TestReclaimDelay lets a pod wait before others are evicted for it.
func TestReclaimDelay(t *testing.T) {
	build := func(now int64, a framework.Arguments) *scene {
		s := lent(a).pods("held", "other", "A", 8, 1, members(0), on("a")).claiming(2).at(now).annotate("mine", policy.ReclaimDelayKey, "2m")
		s.Jobs[1].Tasks[0].Created = 1000
		return s
	}
	for _, rules := range release.Names() {
		for _, a := range []framework.Arguments{{}, {reclaimDamping: 1}, {victimOrder: "leastWork"}} {
			a[semantics] = rules
			for now, want := range map[int64]int{1000: 0, 1119: 0, 1120: 2, 5000: 2} {
				f := build(now, a).open(t)
				gang, _ := f.own.evictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("claim")}, slices.Collect(maps.Values(f.job("held").Tasks)))
				assert.Equal(t, want > 0, len(gang) > 0, "gang reclaim at %d, %v", now, a)
				victims, _ := f.own.reclaimable(f.task("claim-0"), slices.Collect(maps.Values(f.job("held").Tasks)))
				assert.Equal(t, want > 0, len(victims) > 0, "without Preemptive at %d, %v", now, a)
				assert.Len(t, f.run(t, reclaim.New()).evicted(), want, "at %d, %v", now, a)
			}
		}
	}
	f := build(1100, framework.Arguments{}).open(t)
	why := Inspection{f.own}.Preempt(f.task("claim-0"))
	require.NotNil(t, why)
	assert.Equal(t, report.ReclaimDelayed, why.Rule)
	assert.Equal(t, "Queue <mine> takes nothing from other queues for the pod yet: the pod waits for less than volcano.sh/reclaim-delay", why.String())
}

// TestTimesAreInherited sets the policies of a team at its inner queue.
func TestTimesAreInherited(t *testing.T) {
	s := walls(framework.Arguments{}, "web", "db").at(1000)
	for i := range s.Jobs[0].Tasks {
		s.Jobs[0].Tasks[i].Started = 990
	}
	s.Jobs[1].Tasks[0].Created = 990
	for _, key := range []string{policy.MinRuntimeKey, policy.ReclaimDelayKey} {
		assert.Empty(t, s.annotate("eng", key, "1m").open(t).run(t, reclaim.New()).evicted(), key)
		assert.Len(t, s.annotate("web", key, "0s").annotate("db", key, "0s").open(t).run(t, reclaim.New()).evicted(), 2, "a queue below says otherwise: %s", key)
		s.annotate("eng", key, "").annotate("web", key, "").annotate("db", key, "")
	}
}
