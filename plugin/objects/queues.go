// Package objects finds which Queue objects have changed since an earlier session, so that
// each is read once per change.
package objects

import (
	"cmp"
	"maps"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Queues are the Queue objects of the last session. The zero Queues is ready. One Queues is for
// one session at a time.
type Queues struct {
	byName map[api.QueueID]*Queue
	// session is the number of the last session. The others are sessions, too: the last one with
	// a new, changed or deleted spec, or with new, changed or deleted annotations.
	session, specs, annotations uint64
}

// Queue is the object of one queue.
type Queue struct {
	Object *scheduling.Queue
	// Annotations are a copy: whoever holds the object may change its map.
	Annotations map[string]string

	created, annotated, session uint64 // sessions, the last one with the queue among them
}

// Of returns the queues of one session.
func Of(queues map[api.QueueID]*api.QueueInfo) *Queues {
	q := &Queues{}
	q.Open(queues)
	return q
}

// Open begins a session with these queues.
func (q *Queues) Open(queues map[api.QueueID]*api.QueueInfo) {
	q.session++
	if q.byName == nil {
		q.byName = map[api.QueueID]*Queue{}
	}
	for name, info := range queues {
		known := q.byName[name]
		if known == nil || known.Object != info.Queue {
			known = q.read(known, info.Queue)
			q.byName[name] = known
		}
		known.session = q.session
	}
	if len(q.byName) > len(queues) {
		maps.DeleteFunc(q.byName, func(_ api.QueueID, known *Queue) bool { return known.session != q.session })
		q.specs, q.annotations = q.session, q.session
	}
}

// read returns the state of a queue with a new object. known is nil for a new queue.
//
// Volcano's cache replaces objects and does not change them. A new spec has a new generation; a
// new status or annotation has not. Objects without an API server have no generation.
func (q *Queues) read(known *Queue, object *scheduling.Queue) *Queue {
	next := &Queue{Object: object, created: q.session, annotated: q.session}
	if known != nil && known.Object.UID == object.UID {
		next.created = known.created
		if maps.Equal(known.Annotations, object.Annotations) {
			next.Annotations, next.annotated = known.Annotations, known.annotated
		}
	}
	if next.created == q.session || known.Object.Generation != object.Generation || object.Generation == 0 {
		q.specs = q.session
	}
	if next.annotated == q.session {
		next.Annotations, q.annotations = maps.Clone(object.Annotations), q.session
	}
	return next
}

// Specs is the session in which a spec changed last.
func (q *Queues) Specs() uint64 { return q.specs }

// Annotations is the session in which annotations changed last.
func (q *Queues) Annotations() uint64 { return q.annotations }

// Get returns a queue of the session, nil for an unknown one.
func (q *Queues) Get(name string) *Queue { return q.byName[api.QueueID(name)] }

// Since returns the queues whose annotations are new or other than in an earlier session, in the
// order of their names. Session 0 is before the first one.
func (q *Queues) Since(session uint64) (changed []*Queue) {
	if q.annotations <= session {
		return nil
	}
	for _, queue := range q.byName {
		if queue.annotated > session {
			changed = append(changed, queue)
		}
	}
	slices.SortFunc(changed, func(x, y *Queue) int { return cmp.Compare(x.Object.Name, y.Object.Name) })
	return changed
}

// Changed returns the queues whose annotations are new or other than in the session before.
func (q *Queues) Changed() []*Queue { return q.Since(q.session - 1) }

// CreatedSince reports whether the object is another one than in an earlier session.
func (q *Queue) CreatedSince(session uint64) bool { return q.created > session }

// UnknownKeys returns the annotations that look like those of this module and have no effect, in
// order.
func (q *Queue) UnknownKeys() []card.Problem {
	unknown := append(card.QueueKeys.Unknown(q.Annotations), policy.Unknown(q.Annotations)...)
	slices.SortFunc(unknown, func(x, y card.Problem) int { return cmp.Compare(x.Key, y.Key) })
	return unknown
}

// Problems are the problems of the object of a queue, none if they are mended.
type Problems struct {
	Queue *scheduling.Queue
	Texts []string
}
