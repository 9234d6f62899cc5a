// Package objects finds the Queue objects that have changed since an earlier session, so that each
// is read once per change. It gives an object to each queue that has none.
package objects

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Queues are the Queue objects of the last session. The zero Queues is ready. One Queues is for
// one session at a time.
type Queues struct {
	byName map[api.QueueID]*Queue

	session     uint64 // number of the last session
	specs       uint64 // the last session with a new, changed or deleted spec
	annotations uint64 // the last session with new, changed or deleted annotations

	stored Kept   // see Begin
	begins bool   // the next session begins with stored
	kept   Kept   // see Kept
	keptAt uint64 // the value of annotations for kept

	// windowed are the queues that the last session has read and that have windows now, or had them before.
	windowed []*Queue
}

// Queue is the object of one queue, with the values that its windows set (package override).
type Queue struct {
	Object *scheduling.Queue
	// Annotations are the annotations in force. They are a copy, since other holders of the object may change its map.
	Annotations map[string]string

	given        *scheduling.Queue // the object without windows
	windows      *windows          // nil for a queue without windows
	began, ended []string          // windows, since the object was read before

	before map[string]string // see Before
	kept   map[string]string // see Misread
	wrong  bool              // an annotation is wrong

	created   uint64 // the session that first had this object
	annotated uint64 // the last session with other annotations
	session   uint64 // the last session with the queue
}

// Of returns the queues of one session, without windows that have begun.
func Of(queues map[api.QueueID]*api.QueueInfo) *Queues {
	q := &Queues{}
	q.Open(queues, time.Time{})
	return q
}

// Open begins a session with these queues. A queue without a Queue object gets one for this session only.
func (q *Queues) Open(queues map[api.QueueID]*api.QueueInfo, now time.Time) {
	q.session++
	clear(q.windowed)
	q.windowed = q.windowed[:0]

	if q.byName == nil {
		q.byName = map[api.QueueID]*Queue{}
	}

	for name, info := range queues {
		complete(name, info)
		known := q.byName[name]
		if q.unrelated(known, info.Queue) {
			known = nil
		}
		if known == nil || known.given != info.Queue || known.windows.due(now) {
			known = q.read(known, info.Queue, now)
			q.byName[name] = known
		}
		known.session = q.session
	}
	q.begins = false

	if len(q.byName) > len(queues) {
		maps.DeleteFunc(q.byName, func(_ api.QueueID, known *Queue) bool { return known.session != q.session })
		q.specs = q.session
		q.annotations = q.session
	}
}

// complete gives a queue without a Queue object one that is not open, so that every reader finds it: jobs of the queue
// are refused, its running pods count, and Volcano does not panic when the session closes.
func complete(id api.QueueID, info *api.QueueInfo) {
	if info.Queue == nil {
		info.Queue = &scheduling.Queue{
			ObjectMeta: metav1.ObjectMeta{Name: string(id)},
			Status:     scheduling.QueueStatus{State: scheduling.QueueStateUnknown},
		}
	}
}

// read returns the state of a queue that has a new object or other windows in force. known is nil for a new queue.
func (q *Queues) read(known *Queue, object *scheduling.Queue, now time.Time) *Queue {
	if known != nil && known.given.UID != object.UID {
		known = nil
	}
	var before *windows
	var stored map[string]string
	if known != nil {
		before = known.windows
	} else {
		stored = q.stored.of(object)
	}

	next := &Queue{Object: object, given: object, created: q.session, annotated: q.session}
	next.windows = readWindows(before, object, now, stored[override.Key])
	annotations := settingsOf(object)
	if next.windows != nil {
		next.Object = next.windows.object(object)
		annotations = next.windows.annotations(annotations)
	}
	if next.windows != nil || before != nil {
		q.windowed = append(q.windowed, next)
	}

	if known != nil {
		was := before.inForce()
		is := next.windows.inForce()
		next.began = without(is, was)
		next.ended = without(was, is)

		next.created = known.created
		if maps.Equal(known.Annotations, annotations) {
			next.Annotations = known.Annotations
			next.annotated = known.annotated
			next.before = known.before
			next.kept = known.kept
			next.wrong = known.wrong
		}
	}

	// A new spec has a new generation; a new status or annotation has not. Objects without an API server have none.
	if known == nil || known.given.Generation != object.Generation || object.Generation == 0 || !next.sameSpec(known) {
		q.specs = q.session
	}
	if next.annotated == q.session {
		next.change(known, annotations, stored)
		q.annotations = q.session
	}
	return next
}

// settingsOf returns the annotations of a queue without the one that the scheduler writes: its own text changes
// nothing that is read.
func settingsOf(object *scheduling.Queue) map[string]string {
	_, written := object.Annotations[card.StatusKey]
	if !written {
		return object.Annotations
	}

	annotations := maps.Clone(object.Annotations)
	delete(annotations, card.StatusKey)
	return annotations
}

// sameSpec reports whether windows leave the queue the same spec in two states. If no window changes either spec, the
// generations of the objects decide.
func (q *Queue) sameSpec(known *Queue) bool {
	if q.Object == q.given && known.Object == known.given {
		return true
	}
	return reflect.DeepEqual(q.Object.Spec, known.Object.Spec)
}

// Overrides returns the windows of the queue. If the text of the annotation is wrong, they are the last good ones.
func (q *Queue) Overrides() override.Overrides {
	if q.windows == nil {
		return nil
	}
	return q.windows.overrides
}

// Info returns a queue of a session with the spec in force.
func (q *Queues) Info(queue *api.QueueInfo) *api.QueueInfo {
	known := q.byName[queue.UID]
	if known == nil || known.Object == known.given {
		return queue
	}

	info := *queue
	info.Queue = known.Object
	info.Weight = known.Object.Spec.Weight
	return &info
}

// WindowChange is a queue with windows that the session has read, and the problems of the windows.
type WindowChange struct {
	Problems
	// Began and Ended describe the windows that began and ended since the session before. They are empty for a queue
	// that is new to this process.
	Began, Ended []string
	// Windowed reports whether the queue has windows now. InForce of them are in force.
	Windowed bool
	InForce  int
}

// WindowChanges returns the queues with windows that the session has read, in the order of their names.
func (q *Queues) WindowChanges() (all []WindowChange) {
	for _, queue := range q.windowed {
		c := WindowChange{Problems: Problems{Queue: queue.Object}, Began: queue.began, Ended: queue.ended}
		if queue.windows != nil {
			c.Texts = queue.windows.problems
			c.Windowed = true
			c.InForce = len(queue.windows.holding)
		}
		all = append(all, c)
	}

	slices.SortFunc(all, func(x, y WindowChange) int { return cmp.Compare(x.Queue.Name, y.Queue.Name) })
	return all
}

// without returns the texts that others do not have.
func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(others, text) })
}

// Specs returns the session in which a spec changed last.
func (q *Queues) Specs() uint64 { return q.specs }

// Annotations returns the session in which annotations changed last.
func (q *Queues) Annotations() uint64 { return q.annotations }

// Get returns a queue of the session, nil for an unknown one.
func (q *Queues) Get(name string) *Queue { return q.byName[api.QueueID(name)] }

// Since returns the queues with annotations that are new or have changed since an earlier session, in
// the order of their names. Session 0 is before the first one.
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

// Changed returns the queues with annotations that are new or have changed since the session before.
func (q *Queues) Changed() []*Queue { return q.Since(q.session - 1) }

// CreatedSince reports whether an earlier session had another object, or none.
func (q *Queue) CreatedSince(session uint64) bool { return q.created > session }

// UnknownKeys returns the annotations that look like annotations of this module but have no effect,
// in the order of their keys.
func (q *Queue) UnknownKeys() []card.Problem {
	unknown := append(card.QueueKeys.Unknown(q.Annotations), policy.Unknown(q.Annotations)...)
	slices.SortFunc(unknown, func(x, y card.Problem) int { return cmp.Compare(x.Key, y.Key) })
	return unknown
}

// Problems are the problems of the object of a queue, none once they are solved.
type Problems struct {
	Queue *scheduling.Queue
	Texts []string
}
