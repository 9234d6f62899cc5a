package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// eviction is a task that is evicted, and the one that it is evicted for.
type eviction struct{ task, claimant *api.TaskInfo }

// noteDeallocated records a task that is evicted, and forgets one whose place is discarded: Volcano
// discards places from the last one on.
func (s *session) noteDeallocated(task *api.TaskInfo) {
	if last := len(s.placed) - 1; last >= 0 && s.placed[last] == task {
		s.placed = s.placed[:last]
	}
	if task.Status != api.Releasing || s.claimant == nil {
		return
	}
	if s.evicted == nil {
		s.evicted, s.evictions = map[api.TaskID]eviction{}, map[api.JobID]int{}
	}
	s.evicted[task.UID] = eviction{task, s.claimant}
	s.evictions[s.claimant.Job]++
	s.evictedOn = task.NodeName
}

// noteAllocated records a task that gets a node, where places are watched or cards count. A task
// whose eviction is discarded gets its node back.
func (s *session) noteAllocated(task *api.TaskInfo) {
	switch {
	case task.Status == api.Running:
		if e, known := s.evicted[task.UID]; known {
			s.evictions[e.claimant.Job]--
			delete(s.evicted, task.UID)
		}
	case s.cards != nil || !s.memory.exchanges.Empty():
		s.placed = append(s.placed, task)
	}
}

// watchExchanges passes on which places changed hands in the session.
func (s *session) watchExchanges() {
	for _, task := range s.placed {
		if job := s.ssn.Jobs[task.Job]; job != nil && api.AllocatedStatus(task.Status) {
			s.memory.exchanges.Placed(job.UID, task.NodeName)
		}
	}
	for _, e := range s.evicted {
		from, to := s.queueOf(e.task), s.queueOf(e.claimant)
		if from != to && from != index.None && to != index.None {
			s.memory.exchanges.Evicted(s.ssn.Jobs[e.task.Job], e.task.NodeName, s.ix.Name(from), s.ix.Name(to))
		}
	}
}
