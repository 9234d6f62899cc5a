package explain

import (
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Behind is a card, or another resource, for which other queues go first because of what queues have had over time.
type Behind struct {
	Queue    string  `json:"queue"` // the job's, or one above it
	Resource string  `json:"resource"`
	Place    int     `json:"place"`   // among the queues below the same parent that wait for it
	Counted  float64 `json:"counted"` // the mean of what the queue has had and of what it has
	Norm     float64 `json:"norm"`    // what that is compared with: what it deserves, or its part by weight
	First    []Ahead `json:"first"`   // the queues that go first, in their order
}

// Ahead is a queue that goes first.
type Ahead struct {
	Queue string `json:"queue"`
	// Owed: it has less than it deserves of what it waits for, and would otherwise reclaim it.
	Owed bool `json:"owed,omitempty"`
}

// BelowDeserved is said of a queue that goes first for that reason.
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
	switch one := len(first) == 1; {
	case b.Norm > 0 && one:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s of %s deserved; %s goes first", b.Queue, place, b.Resource, counted, norm, names)
	case b.Norm > 0:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s of %s deserved; %s go first", b.Queue, place, b.Resource, counted, norm, names)
	case one:
		return fmt.Sprintf("queue %s is %s for %s: averaged %s and deserves none; %s goes first", b.Queue, place, b.Resource, counted, names)
	}
	return fmt.Sprintf("queue %s is %s for %s: averaged %s and deserves none; %s go first", b.Queue, place, b.Resource, counted, names)
}

// ordinals are the first places in words.
var ordinals = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// Ordinal is a place in words.
func Ordinal(place int) string {
	if place >= 1 && place <= len(ordinals) {
		return ordinals[place-1]
	}
	return fmt.Sprintf("number %d", place)
}

// contested are the rules by which a job waits for what other queues wait for as well; "" is none, of a job that the
// next cycle places unless others go first.
var contested = []report.Rule{"", report.OverQuota, report.OverDeserved, report.Guaranteed, report.Reserved, report.Earmarked, NodesFull}

// behind returns for which cards of a job other queues go first: those beside its queue, and beside the queues above
// it. Queues beside one whose own bound refuses the job do not matter.
func (e *explainer) behind(f *Finding, job *api.JobInfo) (all []Behind) {
	if e.UsageLacks != "" || !slices.Contains(contested, f.Rule) {
		return nil
	}
	bounded := false
	for queue := range index.Upward(f.Queue, func(name string) string { return e.accounts[name].Parent }) {
		if f.Rule != "" && f.Stage != Node && !bounded && e.onPath(f) {
			bounded = queue == f.Level
			continue
		}
		for _, c := range e.past(queue).Columns {
			if c.Wanted && e.wants(f, job, c) {
				all = append(all, e.behindFor(queue, c)...)
			}
		}
	}
	return all
}

// onPath reports whether the bound that refuses a job is one of a queue on the job's path.
func (e *explainer) onPath(f *Finding) bool {
	for queue := range index.Upward(f.Queue, func(name string) string { return e.accounts[name].Parent }) {
		if queue == f.Level {
			return true
		}
	}
	return false
}

// behindFor returns the queues that go before a queue for a card, nothing if usage has no part in it.
func (e *explainer) behindFor(queue string, c inspect.PastColumn) []Behind {
	b := Behind{Queue: queue, Resource: c.Resource, Place: 1, Counted: c.Counted, Norm: c.Norm}
	byUsage := false
	for _, r := range e.rivals(queue) {
		if r.First && slices.Contains(r.Wants, c.Resource) {
			b.Place, byUsage = b.Place+1, byUsage || r.ByUsage
			b.First = append(b.First, Ahead{Queue: r.Queue, Owed: r.ByUsage && r.Owed})
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

// past returns the usage of a queue, the zero Past where the order by usage is off.
func (e *explainer) past(queue string) inspect.Past {
	if e.pasts == nil {
		e.pasts = map[string]inspect.Past{}
		for _, p := range e.Quota.Pasts() {
			e.pasts[p.Queue] = p
		}
	}
	return e.pasts[queue]
}

// rivals returns the queues that wait beside a queue.
func (e *explainer) rivals(queue string) []inspect.Rival {
	if e.beside == nil {
		e.beside = map[string][]inspect.Rival{}
	}
	all, known := e.beside[queue]
	if !known {
		all = e.Quota.Rivals(queue)
		e.beside[queue] = all
	}
	return all
}
