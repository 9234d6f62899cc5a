package queues

import (
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/status"
)

// Usage holds the usage of a queue over time.
type Usage struct {
	Queue  string `json:"queue"`
	Parent string `json:"parent,omitempty"`
	Depth  int    `json:"depth"`
	Past   `json:",inline"`
}

// Past holds the usage of each card by a queue, and the place of the queue among its siblings.
type Past struct {
	// Level orders the queues. It is null if usage is not known, and for a queue that has a card but deserves none.
	Level *float64 `json:"level"`
	// Owed: the queue waits for a card and has less of it than it deserves. It goes before siblings that are not owed.
	Owed bool `json:"owed,omitempty"`
	// Place is the place among the Rivals queues below the same parent that have pending pods; 0 without such pods.
	Place  int    `json:"place,omitempty"`
	Rivals int    `json:"rivals,omitempty"`
	Cards  []Used `json:"cards"`
	// Records are the averages of all cards that count, including cards without an entry in Cards. It is nil if usage
	// is not known.
	Records map[string]Record `json:"-"`
}

// Record is the average amount of a card that a queue had, and the time that the record covers.
type Record struct {
	Average float64
	Covered time.Duration
}

// Used holds the usage of one card, or of another resource that counts. The pointers to numbers are null if usage is
// not known.
type Used struct {
	Resource string  `json:"resource"`
	Card     bool    `json:"card,omitempty"`
	Norm     float64 `json:"norm"` // the deserved amount, or the part by weight
	Now      float64 `json:"now"`
	// Average is the average amount over time. A moment counts half as much as one that is a half-life later.
	Average *float64 `json:"average"`
	Counted *float64 `json:"counted"` // the mean of Average and Now that decides
	Hours   *float64 `json:"hours"`   // Average in card-hours
	Level   *float64 `json:"level"`   // Counted / Norm
	Wanted  bool     `json:"wanted,omitempty"`
	// EvenIdle is the time until Counted is at most Norm if the queue has no cards from now on. EvenKept is the same if
	// the queue keeps the current amount. Both are 0s if the queue is even, null for never.
	EvenIdle *metav1.Duration `json:"evenIfIdle"`
	EvenKept *metav1.Duration `json:"evenAsNow"`
}

// Usages returns the usage of the wanted queues of a session, in the order of the tree. It is limited to one card or
// resource, unless card is "". It is empty if usage over time does not order the queues.
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
		if wanted(a.Queue) {
			past := newPast(pasts[a.Queue], known, card)
			all = append(all, Usage{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Past: past})
		}
	}

	return all
}

// newPast returns the usage of a queue. known reports whether there is a record of usage over time.
func newPast(p inspect.Past, known bool, card string) Past {
	past := Past{Owed: p.Owed, Cards: []Used{}}
	if known {
		past.Level = status.Bounded(p.Level)
		past.Place = p.Place
		past.Rivals = p.Rivals
		past.Records = map[string]Record{}
	}

	for _, c := range p.Columns {
		if known {
			past.Records[c.Resource] = Record{c.Average, c.Covered}
		}
		some := c.Norm > 0 || c.Now > 0 || c.Average > 0 || c.Wanted
		if some && (card == "" || card == c.Resource) {
			past.Cards = append(past.Cards, newUsed(c, known))
		}
	}

	return past
}

func newUsed(c inspect.PastColumn, known bool) Used {
	u := Used{Resource: c.Resource, Card: c.Card, Norm: c.Norm, Now: c.Now, Wanted: c.Wanted}
	if !known {
		return u
	}

	u.Average = &c.Average
	u.Counted = &c.Counted
	u.Hours = &c.Total
	level := c.Counted / c.Norm
	if !math.IsInf(level, 0) && !math.IsNaN(level) {
		u.Level = &level
	}

	if c.EvenIdle != fairness.Never {
		u.EvenIdle = seconds(c.EvenIdle)
	}
	if c.EvenKept != fairness.Never {
		u.EvenKept = seconds(c.EvenKept)
	}

	return u
}

// Texts for the time until a queue is even, if it is not a duration.
const (
	Even   = "even"    // now
	AtOnce = "at once" // as soon as its pods end
	Never  = "never"
)

// IdleText formats EvenIdle for readers. It returns "" without a level.
func (u *Used) IdleText() string { return evenText(u.EvenIdle, u.Level) }

// KeptText formats EvenKept for readers. It returns "" without a level.
func (u *Used) KeptText() string { return evenText(u.EvenKept, u.Level) }

func evenText(until *metav1.Duration, level *float64) string {
	switch {
	case level == nil:
		return ""
	case *level <= 1:
		return Even
	case until == nil:
		return Never
	}
	return remaining(until.Duration, AtOnce)
}

// seconds formats a duration in whole seconds, for JSON.
func seconds(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d.Round(time.Second)}
}

// remaining formats a duration for readers. It returns none for 0s.
func remaining(d time.Duration, none string) string {
	if d == 0 {
		return none
	}
	return duration.HumanDuration(d)
}

// ShortTime formats a duration without zeros at its end, such as 24h.
func ShortTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}

	return text
}
