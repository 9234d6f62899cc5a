package quota

import (
	"cmp"
	"time"
)

// The order of the jobs of a queue (the annotation volcano.sh/order). A job that waits for quota holds back
// the later jobs of its queue, so that they do not take, bit by bit, what a large job needs.
//
// # Example
//
// The queue has 8 cards, of which 4 are used, and order: fifo.
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

// Compare returns a number below 0 if the job goes before another one of its queue: by priority where that
// counts, by creation, then by name.
func (p JobPlace) Compare(other JobPlace, byPriority bool) int {
	if byPriority && p.Priority != other.Priority {
		return cmp.Compare(other.Priority, p.Priority)
	}
	return cmp.Or(p.Created.Compare(other.Created), cmp.Compare(p.Name, other.Name))
}

// Earlier is the state of a job that goes before others of its queue.
type Earlier struct {
	Admitted bool // its pods may be created
	Waits    bool // it waits for quota, and could have it if no other job had any
	// Began is when it began to hold back others, the zero time if it did not.
	Began time.Time
	Over  bool // it has held back others for its time, and has not had its minimum since
}

// HoldsBack reports whether a job holds back later ones:
//
//	it waits, and now < began + hold
//
// with now for a job that has not begun. hold is 0 for never.
func (e Earlier) HoldsBack(now time.Time, hold time.Duration) bool {
	return e.Waits && !e.Over && hold > 0 && (e.Began.IsZero() || now.Before(e.Began.Add(hold)))
}

// Later is a job that goes after one that holds it back.
type Later struct {
	Complete bool // it has its minimum of pods
	Started  bool // it has a pod on a node
	Reserved bool // what it lacks of its minimum is reserved
}

// HeldBack reports whether the pods of an admitted job are held back by an earlier one. What it lacks of its
// minimum it gets nevertheless
//
//   - where it has started: otherwise it would keep what it has, without use
//   - where that is reserved for it and the earlier job is not admitted: otherwise each would wait for the other
//
// A job that is not admitted is held back in any case.
func (l Later) HeldBack(by Earlier) bool {
	return l.Complete || !l.Started && (by.Admitted || !l.Reserved)
}
