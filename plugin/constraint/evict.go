package constraint

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// BeginVictims starts a question about victims, which has none yet.
func (s *Session) BeginVictims() {
	for _, h := range s.with(onEvictions) {
		h.Evictions.Begin()
	}
}

// AllowsVictim reports whether a task of a queue may be evicted for a task of the queue to, in addition to the
// victims of the question.
func (s *Session) AllowsVictim(from, to index.Queue) bool {
	for _, h := range s.with(onEvictions) {
		if !h.Evictions.Allows(from, to) {
			return false
		}
	}
	return true
}

// CountVictim adds n victims to the question: -1 takes one back.
func (s *Session) CountVictim(from, to index.Queue, n int) {
	for _, h := range s.with(onEvictions) {
		h.Evictions.Count(from, to, n)
	}
}

// EvictionRoom returns how many tasks of a queue may be evicted now for no other task, after the victims of the
// question, and the most that may ever be evicted at once.
func (s *Session) EvictionRoom(from index.Queue) (now, most int) {
	now, most = math.MaxInt, math.MaxInt
	for _, h := range s.with(onEvictions) {
		n, m := h.Evictions.Room(from, index.None)
		now = min(now, n)
		most = min(most, m)
	}
	return now, most
}

// NoteEvicted counts a task of a queue that is evicted for a task of the queue to, n = 1, or takes that back, n = -1.
// A task that is evicted for its own queue, by preempt, does not count.
func (s *Session) NoteEvicted(from, to index.Queue, n int) {
	if from == index.None || from == to {
		return
	}
	for _, h := range s.with(onEvictions) {
		h.Evictions.Evicted(from, to, n)
	}
}

// GivesNotice reports whether some tasks get notice before they are evicted.
func (s *Session) GivesNotice() bool { return len(s.with(onNotifier)) > 0 }

// NoticeOf returns the time until which a task of a queue may not be evicted, if it gets notice now at the latest. It
// is safe for many goroutines.
func (s *Session) NoticeOf(q index.Queue, task *api.TaskInfo) (until time.Time) {
	for _, h := range s.with(onNotifier) {
		if at := h.Notifier.Notice(q, task); at.After(until) {
			until = at
		}
	}
	return until
}

// GiveNotice gives a task of a queue notice.
func (s *Session) GiveNotice(q index.Queue, task *api.TaskInfo, why string) {
	for _, h := range s.with(onNotifier) {
		h.Notifier.Give(q, task, why)
	}
}

// HasNotice reports whether a task of a queue has notice.
func (s *Session) HasNotice(q index.Queue, task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.with(onNotifier), func(h *Hooks) bool { return h.Notifier.Has(q, task) })
}

// Enforces reports whether a feature evicts tasks for no other task.
func (s *Session) Enforces() bool { return len(s.with(onEvictExcess)) > 0 }

// Enforce evicts the tasks that features evict when the session opens.
func (s *Session) Enforce() {
	for _, h := range s.with(onEvictExcess) {
		h.EvictExcess()
	}
}

// HasSpent reports whether a queue itself may have no more of a card for some time.
func (s *Session) HasSpent(q index.Queue, d fastres.Dim) bool {
	return slices.ContainsFunc(s.with(onSpent), func(h *Hooks) bool { return h.Spent(q, d) })
}

// EvictForNobody evicts a task when the session opens. Its queue keeps the charge until the next session, so that no
// task gets the room while the pod terminates. The accounts of the future are without the task.
//
// Volcano calls the events of the plugins that have opened; plugins of later tiers find the task Releasing when they
// open. Evicting when the session closes would not be sound: Volcano closes plugins in no order, and upstream panics at
// later events. Few configurations have the action shuffle, which asks VictimTasks.
func (s *Session) EvictForNobody(task *api.TaskInfo, reason string) error {
	frame := s.Frames.Open()
	defer frame.Close()

	q := s.QueueOf(task)
	charge := frame.Vector()
	s.Intake.SetCharge(charge, q, task, task.NodeName)

	if err := s.Volcano.Evict(task, reason); err != nil {
		return err
	}

	s.Books.Refund(q, s.Intake.AccountOf(task.Job), charge)
	s.Intake.EndCards(q, task)
	s.NoteEvicted(q, index.None, 1)
	return nil
}

// Without returns a draft of the future without some tasks. A task without a node or a queue changes nothing. It is
// safe for many goroutines.
func (s *Session) Without(tasks []*api.TaskInfo) *quota.Draft {
	d := &quota.Draft{}
	s.Books.Draft(d)

	length := s.Intake.Dims.Length()
	request := fastres.NewVector(length)
	scratch := fastres.NewVector(length)
	for _, task := range tasks {
		q := s.QueueOf(task)
		if q != index.None && api.AllocatedStatus(task.Status) {
			s.RefundAll(&d.Books, s.AskOn(q, task, task.NodeName, request), scratch)
		}
	}
	return d
}

// NeverPreempts reports whether no pod may be evicted for a task.
func NeverPreempts(task *api.TaskInfo) bool {
	if task.Pod == nil {
		return false
	}
	policy := task.Pod.Spec.PreemptionPolicy
	return policy != nil && *policy == v1.PreemptNever
}
