package explain

import (
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Behind is a card, or another resource, for which sibling queues go first because of the usage of queues over time.
type Behind struct {
	Queue    string  `json:"queue"` // the queue of the job, or an ancestor
	Resource string  `json:"resource"`
	Place    int     `json:"place"`   // among the queues below the same parent that wait for it
	Counted  float64 `json:"counted"` // the mean of the past and the present usage of the queue
	Norm     float64 `json:"norm"`    // the norm of Counted: the deserved amount, or a part by weight
	First    []Ahead `json:"first"`   // the queues that go first, in their order
}

// Ahead is a queue that goes first.
type Ahead struct {
	Queue string `json:"queue"`
	// Owed reports that the queue has less than it deserves of each resource that it waits for.
	Owed bool `json:"owed,omitempty"`
}

// BelowDeserved marks a queue that goes first because it is owed.
const BelowDeserved = "(below deserved)"

// String is the place of the queue in words.
func (b Behind) String() string {
	var first []string
	for _, a := range b.First {
		if a.Owed {
			a.Queue += " " + BelowDeserved
		}
		first = append(first, a.Queue)
	}
	names := strings.Join(first, ", ")
	if i := strings.LastIndex(names, ", "); i >= 0 {
		names = names[:i] + " and " + names[i+2:]
	}

	place := Ordinal(b.Place)
	counted := Tenths(b.Resource, b.Counted)
	norm := Tenths(b.Resource, b.Norm)
	one := len(first) == 1
	switch {
	case b.Norm > 0 && one:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s of %s deserved; %s goes first",
			b.Queue, place, b.Resource, counted, norm, names)
	case b.Norm > 0:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s of %s deserved; %s go first",
			b.Queue, place, b.Resource, counted, norm, names)
	case one:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s and deserves none; %s goes first",
			b.Queue, place, b.Resource, counted, names)
	}
	return fmt.Sprintf("queue %s is %s for %s: averaged %s and deserves none; %s go first",
		b.Queue, place, b.Resource, counted, names)
}

// ordinals are the places in words.
var ordinals = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// Ordinal is a place in words.
func Ordinal(place int) string {
	if place >= 1 && place <= len(ordinals) {
		return ordinals[place-1]
	}
	return fmt.Sprintf("number %d", place)
}

// contested are the rules of jobs that wait for resources which other queues wait for as well. A job without a rule is
// placed in the next cycle unless other queues go first.
var contested = []report.Rule{
	"", report.OverQuota, report.OverDeserved, report.Guaranteed, report.Reserved, report.Earmarked, NodesFull,
}

// behind returns the cards of a job for which siblings of its queue, or of an ancestor, go first.
func (e *explainer) behind(f *Finding, job *api.JobInfo) (all []Behind) {
	if e.UsageLacks != "" || !slices.Contains(contested, f.Rule) {
		return nil
	}

	// If a queue of the path refuses the job by its own bound, only the siblings of the queues above it matter.
	path := slices.Collect(e.path(f.Queue))
	if bound := slices.Index(path, f.Level); f.Rule != "" && f.Stage != Node {
		path = path[bound+1:]
	}

	for _, queue := range path {
		for _, c := range e.pasts()[queue].Columns {
			if c.Wanted && e.wants(f, job, c) {
				all = append(all, e.behindFor(queue, c)...)
			}
		}
	}
	return all
}

// behindFor returns the siblings that go before a queue for a card. It returns nothing if usage has no part in it.
func (e *explainer) behindFor(queue string, c inspect.PastColumn) []Behind {
	b := Behind{Queue: queue, Resource: c.Resource, Place: 1, Counted: c.Counted, Norm: c.Norm}
	byUsage := false

	rivals := remembered(e.rivals, queue, func() []inspect.Rival { return e.Quota.Rivals(queue) })
	for _, r := range rivals {
		if r.First && slices.Contains(r.Wants, c.Resource) {
			b.Place++
			b.First = append(b.First, Ahead{Queue: r.Queue, Owed: r.ByUsage && r.Owed})
			byUsage = byUsage || r.ByUsage
		}
	}

	if !byUsage {
		return nil
	}
	return []Behind{b}
}

// wants reports whether pending pods of a job request a card or a resource.
func (e *explainer) wants(f *Finding, job *api.JobInfo, c inspect.PastColumn) bool {
	if c.Card && slices.Contains(f.Cards, c.Resource) {
		return true
	}

	for _, task := range job.TaskStatusIndex[api.Pending] {
		if e.requestOf(task, c.Resource) > 0 {
			return true
		}
	}
	return false
}

// readPasts returns the usage of the queues over time. It is empty if the order by usage is off.
func (e *explainer) readPasts() map[string]inspect.Past {
	all := map[string]inspect.Past{}
	for _, p := range e.Quota.Pasts() {
		all[p.Queue] = p
	}
	return all
}
