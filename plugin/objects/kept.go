package objects

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index/override"
)

// Kept are the queues with wrong annotations, by name. Only the running scheduler knows the last good values.
type Kept map[string]KeptQueue

// KeptQueue is a queue with wrong annotations.
type KeptQueue struct {
	UID types.UID `json:"uid,omitempty"`
	// Annotations are texts with the values in force, by the wrong annotation. An annotation without a value in
	// force is not part of them.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Begin makes the next session begin with the values that another process has kept, and not with the values of the
// session before.
func (q *Queues) Begin(kept Kept) {
	q.stored = kept
	q.begins = true
}

// unrelated reports whether a session that begins with stored values reads a queue as a new one: its last good values
// of the session before do not count.
func (q *Queues) unrelated(known *Queue, object *scheduling.Queue) bool {
	return q.begins && known != nil && (known.wrong || !maps.Equal(known.given.Annotations, object.Annotations))
}

// of returns the values that another process has kept of a queue.
func (k Kept) of(object *scheduling.Queue) map[string]string {
	if stored, has := k[object.Name]; has && stored.UID == object.UID {
		return stored.Annotations
	}
	return nil
}

// Before returns the text of an annotation that was in force before the queue was read, and false if there was none.
// The text can be wrong.
func (q *Queue) Before(key string) (text string, had bool) {
	text, had = q.before[key]
	return text, had
}

// Misread notes that an annotation of the queue is wrong. inForce is a text with the values in force, "" for none.
func (q *Queue) Misread(key, inForce string) {
	q.wrong = true
	if inForce == "" {
		return
	}

	if q.kept == nil {
		q.kept = map[string]string{}
	}
	q.kept[key] = inForce
}

// InForce returns the annotations in force: a wrong annotation has the text of its last good value.
func (q *Queue) InForce() map[string]string {
	all := maps.Clone(q.Annotations)
	maps.Copy(all, q.kept)
	return all
}

// change gives the queue other annotations. known is the queue as it was read before, nil for a new one. Then stored
// has the values that another process has kept.
func (q *Queue) change(known *Queue, annotations, stored map[string]string) {
	q.Annotations = maps.Clone(annotations)
	switch {
	case known == nil:
		q.before = stored
	case len(known.kept) > 0:
		q.before = known.InForce()
	default:
		q.before = known.Annotations
	}

	if q.windows != nil && q.windows.good != q.windows.text {
		q.Misread(override.Key, q.windows.good)
	}
}

// Kept returns the queues with wrong annotations, nil for none. It is for the time after the annotations of the session
// have been read.
func (q *Queues) Kept() Kept {
	if q.keptAt == q.annotations {
		return q.kept
	}

	q.keptAt = q.annotations
	q.kept = nil
	for name, queue := range q.byName {
		if !queue.wrong {
			continue
		}
		if q.kept == nil {
			q.kept = Kept{}
		}
		q.kept[string(name)] = KeptQueue{UID: queue.Object.UID, Annotations: queue.kept}
	}
	return q.kept
}

// mostKept is the maximum size of the texts of Bounded.
const mostKept = 256 << 10

// Bounded returns as many queues as fit into the store, in the order of their names.
func (k Kept) Bounded() Kept {
	fits := Kept{}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(k)) {
		size += len(name)
		for key, text := range k[name].Annotations {
			size += len(key) + len(text)
		}
		if size > mostKept {
			break
		}
		fits[name] = k[name]
	}
	return fits
}
