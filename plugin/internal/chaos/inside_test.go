package chaos

import (
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// This file has the code with which scenes and random worlds read a session without Volcano's hooks. More such code is
// in the methods row and accounts of the random worlds.

// gangVictims returns how many running pods of each job the gang actions may evict for a job.
func (c *chaosCycle) gangVictims(kind release.EvictionKind, j *Job) map[string]int {
	var running []*api.TaskInfo
	for _, job := range c.Jobs {
		for _, task := range job.TaskStatusIndex[api.Running] {
			running = append(running, task)
		}
	}
	slices.SortFunc(running, func(x, y *api.TaskInfo) int { return strings.Compare(x.Name, y.Name) })
	victims, answer := c.own.Reclaim.EvictableForGang(release.Eviction{Kind: kind, Job: c.jobOf(j)}, running)
	if answer != util.Permit {
		panic("gang eviction needs an answer")
	}
	all := map[string]int{}
	for _, victim := range victims {
		all[c.Session.Jobs[victim.Job].Name]++
	}
	return all
}
