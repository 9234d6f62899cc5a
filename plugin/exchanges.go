package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// noteDeallocated records a task that is evicted for a queue that may reclaim it.
func (s *session) noteDeallocated(task *api.TaskInfo) {
	if _, ok := s.reclaimers[task.UID]; ok && task.Status == api.Releasing {
		s.evicted[task.UID] = task
	}
}

// noteAllocated records a task that gets a node, where places are watched. A task whose
// eviction is discarded gets its node back.
func (s *session) noteAllocated(task *api.TaskInfo) {
	switch {
	case task.Status == api.Running:
		delete(s.evicted, task.UID)
	case !s.memory.exchanges.Empty():
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
	for uid, task := range s.evicted {
		from, to := s.queueOf(task), s.reclaimers[uid]
		if from != index.None && to != index.None {
			s.memory.exchanges.Evicted(s.ssn.Jobs[task.Job], task.NodeName, s.ix.Name(from), s.ix.Name(to))
		}
	}
}
