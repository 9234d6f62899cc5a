package explain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// Change is another value that a window sets in a queue of the path of a waiting job.
type Change struct {
	Queue string    `json:"queue"`
	Key   string    `json:"key"` // such as card.quota
	Value string    `json:"value"`
	Holds bool      `json:"holds"` // the value holds until Time; otherwise it holds from Time on
	Time  time.Time `json:"time"`
	When  string    `json:"when"` // the times of the window, in words
}

// String is the advice about it.
func (c Change) String() string {
	at := c.Time.Format("2006-01-02T15:04Z07:00")
	if c.Holds {
		return fmt.Sprintf("a window of queue %s sets %s to %s until %s (%s)", c.Queue, c.Key, c.Value, at, c.When)
	}
	return fmt.Sprintf("a window of queue %s sets %s to %s from %s (%s)", c.Queue, c.Key, c.Value, at, c.When)
}

// mostChanges bounds the changes of a finding: the next ones count.
const mostChanges = 5

// explainWindows lists the values that windows of the path of a waiting job set, now and next.
func (e *explainer) explainWindows(f *Finding) {
	if f.State != Waiting {
		return
	}

	for _, w := range e.changing(f.Queue) {
		for _, key := range slices.Sorted(maps.Keys(w.Sets)) {
			f.Changes = append(f.Changes, Change{w.queue, key, w.Sets[key], w.Holds, *w.Next, w.When})
		}
	}

	slices.SortStableFunc(f.Changes, func(x, y Change) int { return x.Time.Compare(y.Time) })
	f.Changes = first(f.Changes, mostChanges)

	for _, c := range f.Changes {
		f.Advice = append(f.Advice, c.String())
	}
}

// queueWindow is a window of a queue.
type queueWindow struct {
	queue string
	inspect.Window
}

// changing returns the windows of a queue and its ancestors that begin or end at a time Next.
func (e *explainer) changing(queue string) (all []queueWindow) {
	for name := range e.path(queue) {
		for _, w := range e.Quota.Windows(name) {
			if w.Next != nil {
				all = append(all, queueWindow{name, w})
			}
		}
	}
	return all
}
