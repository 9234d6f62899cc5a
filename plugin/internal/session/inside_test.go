package session

import (
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline/world"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// What scenes and random worlds read of a session beside Volcano's hooks is in this file, and in the
// methods row and accounts of the random worlds.

// promises returns inqueue of all queues and namespaces by name and dimension, and the number of
// reservations that several cards can satisfy.
func (s *session) promises() map[string]float64 {
	all := map[string]float64{"lists": float64(s.memory.admit.Reservations.Len())}
	add := func(ix *index.Index, kind string) {
		for q := range index.Queue(ix.Len()) {
			for d := range fastres.Dim(ix.Dims()) {
				if n := ix.Inqueue.Row(q).Get(d); n != 0 && int(d) < s.memory.names.Len() {
					all[kind+ix.Name(q)+" "+s.memory.names.Name(d)] = n
				}
			}
		}
	}
	add(s.Index, "")
	if s.Intake.Holders != nil {
		add(&s.Intake.Holders.Quota.Accounts, "namespace ")
	}
	return all
}

// gangVictims returns how many running pods of each job the gang actions may evict for a job.
func (c *chaosCycle) gangVictims(kind release.EvictionKind, j *world.Job) map[string]int {
	var running []*api.TaskInfo
	for _, job := range c.Jobs {
		for _, task := range job.TaskStatusIndex[api.Running] {
			running = append(running, task)
		}
	}
	slices.SortFunc(running, func(x, y *api.TaskInfo) int { return strings.Compare(x.Name, y.Name) })
	victims, answer := c.own.reclaim.EvictableForGang(release.Eviction{Kind: kind, Job: c.jobOf(j)}, running)
	if answer != util.Permit {
		panic("gang eviction needs an answer")
	}
	all := map[string]int{}
	for _, victim := range victims {
		all[c.Session.Jobs[victim.Job].Name]++
	}
	return all
}
