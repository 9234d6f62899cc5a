package constraint

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// BeginVictims starts a question about victims: none counts yet.
func (s *Session) BeginVictims() {
	for _, e := range s.evictions {
		e.Begin()
	}
}

// AllowsVictim reports whether a task of a queue may be evicted for one of the queue to beside the victims of the
// question, and CountVictim counts it as one, n = 1, or takes that back, n = -1.
func (s *Session) AllowsVictim(from, to index.Queue) bool {
	return !slices.ContainsFunc(s.evictions, func(e Evictions) bool { return !e.Allows(from, to) })
}

func (s *Session) CountVictim(from, to index.Queue, n int) {
	for _, e := range s.evictions {
		e.Count(from, to, n)
	}
}

// EvictionRoom returns how many tasks of a queue may be evicted now for nobody, and the most that may ever be at once.
func (s *Session) EvictionRoom(from index.Queue) (now, most int) {
	now, most = math.MaxInt, math.MaxInt
	for _, e := range s.evictions {
		n, m := e.Room(from, index.None)
		now, most = min(now, n), min(most, m)
	}
	return now, most
}

// NoteEvicted counts a task of a queue that is evicted for one of the queue to, n = 1, or that is not after all, n =
// -1. It is not called for one that is evicted for its own queue, which does not count.
func (s *Session) NoteEvicted(from, to index.Queue, n int) {
	if from == index.None {
		return
	}
	for _, e := range s.evictions {
		e.Evicted(from, to, n)
	}
}

// GivesNotice reports whether some tasks get notice before they are evicted.
func (s *Session) GivesNotice() bool { return len(s.notifiers) > 0 }

// NoticeOf returns until when a task of a queue may not be evicted, if it gets notice now at the latest. It is safe for
// many goroutines.
func (s *Session) NoticeOf(q index.Queue, task *api.TaskInfo) (until time.Time) {
	for _, n := range s.notifiers {
		if at := n.Notice(q, task); at.After(until) {
			until = at
		}
	}
	return until
}

// GiveNotice gives a task of a queue notice, and HasNotice reports whether it has it.
func (s *Session) GiveNotice(q index.Queue, task *api.TaskInfo, why string) {
	for _, n := range s.notifiers {
		n.Give(q, task, why)
	}
}

func (s *Session) HasNotice(q index.Queue, task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.notifiers, func(n Notifier) bool { return n.Has(q, task) })
}

// Enforces reports whether constraints evict tasks for no other task.
func (s *Session) Enforces() bool { return len(s.enforcers) > 0 }

// Enforce evicts what constraints evict when the session opens.
func (s *Session) Enforce() {
	for _, e := range s.enforcers {
		e.EvictExcess()
	}
}

// HasSpent reports whether a queue itself has used up what it may have of a card for some time.
func (s *Session) HasSpent(q index.Queue, d fastres.Dim) bool {
	return slices.ContainsFunc(s.spenders, func(of Spender) bool { return of.Spent(q, d) })
}

// EvictForNobody evicts a task when the session opens. Its queue keeps what it has until the next session, so that
// nobody gets it while the pod terminates, and rules about what will be do without it.
//
// Volcano calls the events of the plugins that have opened, those of later tiers find the task Releasing when they
// open. When the session closes, this would not be sound: Volcano closes plugins in no order, and upstream's panic at
// events afterwards. The action shuffle, which asks VictimTasks, is in few configurations.
func (s *Session) EvictForNobody(task *api.TaskInfo, reason string) error {
	frame := s.Frames.Open()
	defer frame.Close()
	q, charge := s.QueueOf(task), frame.Vector()
	s.Intake.SetCharge(charge, q, task, task.NodeName)
	if err := s.Volcano.Evict(task, reason); err != nil {
		return err
	}
	s.Books.Refund(q, s.Intake.AccountOf(task.Job), charge)
	s.NoteEvicted(q, index.None, 1)
	return nil
}

// NeverPreempts reports whether no pod may be evicted for a task.
func NeverPreempts(task *api.TaskInfo) bool {
	if task.Pod == nil {
		return false
	}
	policy := task.Pod.Spec.PreemptionPolicy
	return policy != nil && *policy == v1.PreemptNever
}
