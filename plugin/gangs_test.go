package plugin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers the actions of the release
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// gangScene has a queue that borrows A and B, one that has what it deserves, and a job
// that waits for two pods with cards of a list.
func gangScene(list string) *scene {
	return newScene().node("a", "A", 8).node("b", "B", 8).
		queue("borrower", "", "quota", `{"A":8,"B":8}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		queue("modest", "", "quota", `{"A":8}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
		queue("owner", "", "quota", `{"A":8,"B":8}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		pods("borrows-a", "borrower", "A", 6, 1, on("a")).pods("borrows-b", "borrower", "B", 6, 1, on("b")).
		pods("modest", "modest", "A", 2, 1, on("a")).
		pods("gang", "owner", list, 2, 2, inPhase(workload.Inqueue))
}

func TestVictimsForAGang(t *testing.T) {
	for _, test := range []struct {
		name, list string
		kind       release.EvictionKind
		job        string
		want       map[string]int // victims by job
	}{
		{"reclaim of one card", "A", release.GangReclaim, "gang", map[string]int{"borrows-a": 2}},
		{"reclaim of either card", "A|B", release.GangReclaim, "gang", map[string]int{"borrows-a": 2, "borrows-b": 2}},
		{"preemption of one card", "A", release.GangPreempt, "gang", map[string]int{"borrows-a": 6, "modest": 2}},
		{"reclaim by a job that waits for no card", "A", release.GangReclaim, "modest", map[string]int{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := gangScene(test.list).open(t)
			var running []*api.TaskInfo
			for _, job := range f.Jobs {
				for _, task := range job.TaskStatusIndex[api.Running] {
					running = append(running, task)
				}
			}
			slices.SortFunc(running, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
			orphan := *running[0]
			orphan.Job = "ns/gone"
			victims, answer := f.own.reclaim.EvictableForGang(release.Eviction{Kind: test.kind, Job: f.job(test.job)}, append([]*api.TaskInfo{&orphan}, running...))
			assert.Equal(t, util.Permit, answer)
			got := map[string]int{}
			for _, victim := range victims {
				got[f.Jobs[victim.Job].Name]++
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestGangReclaimInATree has a gang of queue mine, whose department deserves no more, and queue
// other, which borrows inside of a department that has less than it deserves. reclaimDamping and
// ancestorReclaimLevel hold for gangs as they do for single pods.
func TestGangReclaimInATree(t *testing.T) {
	lending := func(s *scene, name, parent, deserved string) {
		s.queue(name, parent, "quota", `{"A":16,"B":16}`, "deserved", deserved, "guarantee", `{"A":0,"B":0}`)
	}
	tree := func(a, mine, b, other string) *scene {
		s := newScene().node("a", "A", 16).node("b", "B", 16).queue("root", "")
		lending(s, "a", "root", a)
		lending(s, "mine", "a", mine)
		lending(s, "twin", "a", `{"A":0,"B":0}`)
		lending(s, "b", "root", b)
		lending(s, "other", "b", other)
		return s.pods("twin", "twin", "A", 2, 1, on("a")).pods("held", "other", "A", 6, 1, members(0), on("a"))
	}
	gang := func(s *scene, list string, n int) *scene {
		return s.pods("gang", "mine", list, n, 1, members(int32(n)), inPhase(workload.Inqueue))
	}
	roles := func(s *scene) *scene { // one pod with A, and two with B
		s = gang(s, "B", 3)
		s.Jobs[len(s.Jobs)-1].Tasks[0].Annotations = map[string]string{card.NameKey: "A"}
		return s
	}
	for name, test := range map[string]struct {
		scene                   *scene
		plain, damped, ancestor int // victims: without arguments, with reclaimDamping, and with ancestorReclaimLevel
	}{
		"the department of the victims deserves all":  {gang(tree(`{"A":8}`, `{"A":8}`, `{"A":6}`, `{"A":2}`), "A", 2), 4, 0, 0},
		"the department of the gang deserves no more": {gang(tree(`{"A":2}`, `{"A":8}`, `{"A":2}`, `{"A":2}`), "A", 2), 4, 0, 4},
		"both departments allow it":                   {gang(tree(`{"A":8}`, `{"A":8}`, `{"A":2}`, `{"A":2}`), "A", 2), 4, 4, 4},
		"the department of the victims allows three":  {gang(tree(`{"A":8}`, `{"A":8}`, `{"A":3}`, `{"A":2}`), "A", 2), 4, 3, 3},
		"a pod of the gang would be allowed":          {gang(tree(`{"A":8}`, `{"A":1}`, `{"A":2}`, `{"A":2}`), "A", 2), 4, 0, 4},
		"a list":                                      {gang(tree(`{"A":8}`, `{"A":2,"B":0}`, `{"A":2}`, `{"A":2}`), "B|A", 2), 4, 4, 4},
		"a role with another card":                    {roles(tree(`{"A":8,"B":2}`, `{"A":8,"B":2}`, `{"A":2}`, `{"A":2}`)), 4, 4, 4},
		"a role with more cards than are deserved":    {roles(tree(`{"A":8,"B":1}`, `{"A":8,"B":1}`, `{"A":2}`, `{"A":2}`)), 4, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			for argument, want := range map[string]int{"": test.plain, arguments.ReclaimDamping: test.damped, arguments.AncestorReclaimLevel: test.ancestor} {
				s := *test.scene
				if s.arguments = nil; argument != "" {
					s.arguments = framework.Arguments{argument: 1}
				}
				f := s.open(t)
				victims, _ := f.own.reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("gang")}, slices.Collect(maps.Values(f.job("held").Tasks)))
				assert.Len(t, victims, want, argument)
				f.close()
			}
		})
	}
}

// TestGangReclaimWithoutCards does the same for cpu, under the name capacity.
func TestGangReclaimWithoutCards(t *testing.T) {
	s := exchanges["the parents are the other way round"].scene().batch("gang", "mine", 2, 0, 1, 1)
	for argument, want := range map[string]int{"": 4, arguments.ReclaimDamping: 0, arguments.AncestorReclaimLevel: 0} {
		if s.arguments = nil; argument != "" {
			s.arguments = framework.Arguments{argument: 1}
		}
		f := s.open(t)
		victims, _ := f.own.reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("gang")}, slices.Collect(maps.Values(f.job("other").Tasks)))
		assert.Len(t, victims, want, argument)
		f.close()
	}
}

// TestGangReclaim runs Volcano's action for a job whose pods need cards of two nodes. No
// pod is evicted for a job whose quota admits only a part of it.
func TestGangReclaim(t *testing.T) {
	action, found := framework.GetAction("gangreclaim")
	require.Equal(t, release.Built() >= release.V115, found)
	if !found {
		return
	}
	build := func(quota string) *scene {
		s := newScene().node("a", "A", 4).node("b", "A", 4).
			queue("borrower", "", "quota", `{"A":8}`, "deserved", `{"A":4}`, "guarantee", `{"A":0}`).
			queue("owner", "", "quota", quota, "deserved", quota, "guarantee", `{"A":0}`).
			pods("left", "borrower", "A", 4, 1, on("a"), members(0)).pods("right", "borrower", "A", 4, 1, on("b"), members(0)).
			pods("gang", "owner", "A", 2, 2, inPhase(workload.Inqueue), members(2))
		return s
	}
	for quota, want := range map[string]int{`{"A":4}`: 4, `{"A":2}`: 0} {
		f := build(quota).open(t)
		f.run(t, action)
		assert.Len(t, f.evicted(), want, quota)
	}
	damped := build(`{"A":3}`) // the gang requests four
	damped.Queues[1].Annotations[card.QuotaKey], damped.arguments = `{"A":4}`, framework.Arguments{arguments.ReclaimDamping: 1}
	assert.Empty(t, damped.open(t).run(t, action).evicted())
	damped.Queues[1].Annotations[card.DeservedKey] = `{"A":4}`
	assert.Len(t, damped.open(t).run(t, action).evicted(), 4)
}
