package session

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers the actions of the release
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
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

// TestVictimsForAGang has a candidate whose job is gone. It is no victim.
func TestVictimsForAGang(t *testing.T) {
	f := gangScene("A|B").open(t)
	var running []*api.TaskInfo
	for _, job := range f.Jobs {
		for _, task := range job.TaskStatusIndex[api.Running] {
			running = append(running, task)
		}
	}
	slices.SortFunc(running, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	orphan := *running[0]
	orphan.Job = "ns/gone"
	victims, answer := f.own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("gang")}, append([]*api.TaskInfo{&orphan}, running...))
	assert.Equal(t, util.Permit, answer)
	got := map[string]int{}
	for _, victim := range victims {
		got[f.Jobs[victim.Job].Name]++
	}
	assert.Equal(t, map[string]int{"borrows-a": 2, "borrows-b": 2}, got)
}

// TestGangReclaimWithoutCards asks for cpu, under the name capacity, as the scenes of gangs do for cards.
func TestGangReclaimWithoutCards(t *testing.T) {
	s := exchanges["the parents are the other way round"].scene().batch("gang", "mine", 2, 0, 1, 1)
	for arguments, want := range map[string]int{"": 4, arguments.ReclaimDamping: 0, arguments.AncestorReclaimLevel: 0} {
		if s.arguments = nil; arguments != "" {
			s.arguments = framework.Arguments{arguments: 1}
		}
		f := s.open(t)
		victims, _ := f.own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.job("gang")}, slices.Collect(maps.Values(f.job("other").Tasks)))
		assert.Len(t, victims, want, arguments)
		f.close()
	}
}
