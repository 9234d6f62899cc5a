package inspect

import (
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
)

// Window is a time in which a queue has other values than in its annotations and its spec (package override).
type Window struct {
	When string            `json:"when"` // in words
	Sets map[string]string `json:"sets"` // the texts, by key
	// Holds: the window has begun, and ends at Next. Otherwise it begins at Next, or never if that is nil.
	Holds bool       `json:"holds"`
	Next  *time.Time `json:"next,omitempty"`
}

// Windows returns the windows of a queue, in the order of its annotation.
func (i Inspection) Windows(queue string) (all []Window) {
	object := i.s.Queues.Get(queue)
	if object == nil {
		return nil
	}

	for _, w := range object.Overrides() {
		shown := Window{When: w.String(), Sets: map[string]string{}}
		for _, key := range w.Keys() {
			shown.Sets[key] = w.Text(key)
		}

		holds, next := w.Change(i.s.Now)
		shown.Holds = holds
		if !next.IsZero() {
			next = next.UTC()
			shown.Next = &next
		}
		all = append(all, shown)
	}
	return all
}

// Spec returns the spec that holds in a queue, an empty one for an unknown queue.
func (i Inspection) Spec(queue string) (spec scheduling.QueueSpec) {
	if object := i.s.Queues.Get(queue); object != nil {
		spec = object.Object.Spec
	}
	return spec
}

// Annotations returns the annotations in force in a queue, none for an unknown one. A wrong annotation has the text of
// its last good value. Shares of the cards that nodes give are the numbers that they are in the session.
func (i Inspection) Annotations(queue string) map[string]string {
	object := i.s.Queues.Get(queue)
	if object == nil {
		return nil
	}

	annotations := object.InForce()
	if q := i.s.Index.Lookup(queue); q != index.None {
		i.s.Cards.SetAmounts(annotations, q)
	}
	return annotations
}
