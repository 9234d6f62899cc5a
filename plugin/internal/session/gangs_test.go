package session_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// gangScene has a queue that borrows A and B, and a queue with exactly the cards that it deserves. A job waits for two
// pods with cards of a list.
func gangScene(list string) *testbed.Scene {
	return testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).
		Queue("borrower", "", "quota", `{"A":8,"B":8}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		Queue("modest", "", "quota", `{"A":8}`, "deserved", `{"A":2}`, "guarantee", `{"A":0}`).
		Queue("owner", "", "quota", `{"A":8,"B":8}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		Pods("borrows-a", "borrower", "A", 6, 1, testbed.On("a")).Pods("borrows-b", "borrower", "B", 6, 1, testbed.On("b")).
		Pods("modest", "modest", "A", 2, 1, testbed.On("a")).
		Pods("gang", "owner", list, 2, 2, testbed.InPhase(workload.Inqueue))
}

// TestVictimsForAGang has a candidate of a job that is gone. The candidate is no victim.
func TestVictimsForAGang(t *testing.T) {
	f := gangScene("A|B").Open(t)
	var running []*api.TaskInfo
	for _, job := range f.Jobs {
		for _, task := range job.TaskStatusIndex[api.Running] {
			running = append(running, task)
		}
	}
	slices.SortFunc(running, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	orphan := *running[0]
	orphan.Job = "ns/gone"
	victims, answer := f.Own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.Job("gang")}, append([]*api.TaskInfo{&orphan}, running...))
	assert.Equal(t, util.Permit, answer)
	got := map[string]int{}
	for _, victim := range victims {
		got[f.Jobs[victim.Job].Name]++
	}
	assert.Equal(t, map[string]int{"borrows-a": 2, "borrows-b": 2}, got)
}

// TestGangReclaimWithoutCards asks for cpu, under the name capacity, as the scenes of gangs do for cards.
func TestGangReclaimWithoutCards(t *testing.T) {
	s := exchanges["the parents are the other way round"].scene().Pods("gang", "mine", "", 2, 0, batch(0, 1, 1))
	for compares, want := range map[string]int{"queue": 4, "damped=1": 0, "ancestors=1": 0} {
		s.Arguments = framework.Arguments{arguments.ReclaimCompares: compares}
		f := s.Open(t)
		victims, _ := f.Own.Reclaim.EvictableForGang(release.Eviction{Kind: release.GangReclaim, Job: f.Job("gang")}, slices.Collect(maps.Values(f.Job("other").Tasks)))
		assert.Len(t, victims, want, compares)
		f.Close()
	}
}
