package queues

import (
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// Usage holds the usage of a queue over time.
type Usage struct {
	Queue  string `json:"queue"`
	Parent string `json:"parent,omitempty"`
	Depth  int    `json:"depth"`
	Past   `json:",inline"`
}

// Past holds the usage of each card by a queue, and its place among its siblings.
type Past struct {
	// Level is that by which the queue is compared, null for one that has a card and deserves none,
	// and where usage is not known.
	Level *float64 `json:"level"`
	// Owed: it waits for a card of which it has less than it deserves, and goes before siblings that do not.
	Owed bool `json:"owed,omitempty"`
	// Place is its place among the Rivals queues below the same parent that have pending pods; 0 without such pods.
	Place  int    `json:"place,omitempty"`
	Rivals int    `json:"rivals,omitempty"`
	Cards  []Used `json:"cards"`
	// Records are the averages of all cards that count, also of those without an entry in Cards; nil where usage is not
	// known.
	Records map[string]Record `json:"-"`
}

// Record is the amount of a card that a queue has had on average, and how much time the record covers.
type Record struct {
	Average float64
	Covered time.Duration
}

// Used holds the usage of one card, or of another resource that counts.
type Used struct {
	Resource string  `json:"resource"`
	Card     bool    `json:"card,omitempty"`
	Norm     float64 `json:"norm"` // what it deserves, or its part by weight
	Now      float64 `json:"now"`
	// What follows is null where usage is not known.
	Average *float64 `json:"average"` // what it has had, where a moment counts half as much as one that is a half-life later
	Counted *float64 `json:"counted"` // the mean of Average and Now that decides
	Hours   *float64 `json:"hours"`   // what Average stands for, in card-hours
	Level   *float64 `json:"level"`   // Counted / Norm
	Wanted  bool     `json:"wanted,omitempty"`
	// EvenIdle is the time until Counted is no more than Norm if the queue has none from now on, EvenKept if it keeps
	// what it has now: 0s if it is even, null for never.
	EvenIdle *string `json:"evenIfIdle"`
	EvenKept *string `json:"evenAsNow"`
}

// Usages returns the usage of the queues of a session that wanted selects, in the order of the tree, and of one card
// or resource, "" for all. It is empty where the order by usage over time is off.
func Usages(session *engine.Session, wanted func(queue string) bool, card string) []Usage {
	pasts := map[string]inspect.Past{}
	for _, p := range session.Quota.Pasts() {
		pasts[p.Queue] = p
	}
	all := []Usage{}
	if len(pasts) == 0 {
		return all
	}
	known := session.UsageLacks == ""
	for _, a := range session.Tree() {
		if !wanted(a.Queue) {
			continue
		}
		p := pasts[a.Queue]
		u := Usage{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Past: Past{Owed: p.Owed, Cards: []Used{}}}
		if known {
			u.Level = engine.Bounded(p.Level)
			u.Place = p.Place
			u.Rivals = p.Rivals
			u.Records = map[string]Record{}
			for _, c := range p.Columns {
				u.Records[c.Resource] = Record{c.Average, c.Covered}
			}
		}
		for _, c := range p.Columns {
			some := c.Norm > 0 || c.Now > 0 || c.Average > 0 || c.Wanted
			if some && (card == "" || card == c.Resource) {
				u.Cards = append(u.Cards, newUsed(c, known))
			}
		}
		all = append(all, u)
	}
	return all
}

func newUsed(c inspect.PastColumn, known bool) Used {
	u := Used{Resource: c.Resource, Card: c.Card, Norm: c.Norm, Now: c.Now, Wanted: c.Wanted}
	if !known {
		return u
	}
	u.Average = &c.Average
	u.Counted = &c.Counted
	u.Hours = &c.Total
	u.EvenIdle, u.EvenKept = until(c.EvenIdle), until(c.EvenKept)
	if level := c.Counted / c.Norm; !math.IsInf(level, 0) && !math.IsNaN(level) {
		u.Level = &level
	}
	return u
}

// until formats a time until something, nil for never.
func until(t time.Duration) *string {
	if t == fairness.Never {
		return nil
	}
	text := t.Round(time.Second).String()
	return &text
}

// What is said of the time until a queue is even, if that is no time.
const (
	Even   = "even"    // it is
	AtOnce = "at once" // as soon as its pods end
	Never  = "never"
)

// IdleText and KeptText are EvenIdle and EvenKept for people, "" where there is no level.
func (u *Used) IdleText() string { return evenText(u.EvenIdle, u.Level) }
func (u *Used) KeptText() string { return evenText(u.EvenKept, u.Level) }

func evenText(until *string, level *float64) string {
	switch {
	case level == nil:
		return ""
	case *level <= 1:
		return Even
	case until == nil:
		return Never
	}
	t, err := time.ParseDuration(*until)
	if err != nil || t == 0 {
		return AtOnce
	}
	return duration.HumanDuration(t)
}

// ShortTime formats a time without zeros at its end, such as 24h.
func ShortTime(d time.Duration) string {
	text, found := strings.CutSuffix(d.String(), "m0s")
	if !found {
		return text
	}
	if hours, found := strings.CutSuffix(text, "h0"); found {
		return hours + "h"
	}
	return text + "m"
}
