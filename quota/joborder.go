package quota

import (
	"cmp"
	"time"
)

// The order of the jobs of a queue (the annotation volcano.sh/order). A job that waits for quota holds back the
// later jobs of its queue. Otherwise small jobs could take the resources of a large job, bit by bit.
//
// # Example
//
// The queue has order: fifo. 4 of its 8 cards are used.
//
//	jobs, in the order of their creation   without order    with it
//	x: 8 cards                             waits            waits for quota
//	y: 4 cards                             is admitted      waits for x
//
// Upstream: none.

// JobPlace has the properties of a job by which a queue orders it.
type JobPlace struct {
	Priority int32
	Created  time.Time
	Name     string // namespace/name
}

// Compare returns a number below 0 if the job goes before another job of its queue. Jobs are ordered by priority
// (if byPriority), by creation, then by name.
func (p JobPlace) Compare(other JobPlace, byPriority bool) int {
	if byPriority && p.Priority != other.Priority {
		return cmp.Compare(other.Priority, p.Priority)
	}
	return cmp.Or(p.Created.Compare(other.Created), cmp.Compare(p.Name, other.Name))
}

// Earlier is the state of a job that goes before other jobs of its queue.
type Earlier struct {
	Admitted bool // its pods may be created
	Waits    bool // it waits for quota, and could have it if no other job had any

	// Began is the time when it began to hold back others, the zero time if it did not.
	Began time.Time

	Over bool // it has held back others for its time, and has not had its minimum since
}

// HoldsBack reports whether a job holds back later jobs:
//
//	it waits, and now < began + hold
//
// began is now for a job that has not begun. If hold is 0, no job is held back.
func (e Earlier) HoldsBack(now time.Time, hold time.Duration) bool {
	return e.Waits && !e.Over && hold > 0 && (e.Began.IsZero() || now.Before(e.Began.Add(hold)))
}

// Later is the state of a job that goes after a job that holds it back.
type Later struct {
	Complete bool // it has its minimum of pods
	Started  bool // it has a pod on a node
	Reserved bool // the missing part of its minimum is reserved
}

// HeldBack reports whether the pods of an admitted job are held back by an earlier job. The missing part of its
// minimum is not held back in two cases:
//
//   - The job has started: otherwise it would keep its pods without use.
//   - The part is reserved and the earlier job is not admitted: otherwise each would wait for the other.
//
// A job that is not admitted is held back in any case.
func (l Later) HeldBack(by Earlier) bool {
	return l.Complete || !l.Started && (by.Admitted || !l.Reserved)
}
