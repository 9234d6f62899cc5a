package plugin

import (
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
			victims, answer := f.own.evictableForGang(release.Eviction{Kind: test.kind, Job: f.job(test.job)}, append([]*api.TaskInfo{&orphan}, running...))
			assert.Equal(t, util.Permit, answer)
			got := map[string]int{}
			for _, victim := range victims {
				got[f.Jobs[victim.Job].Name]++
			}
			assert.Equal(t, test.want, got)
		})
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
}
