package queues

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Budget holds the budget of a queue for one card. Quantities are card-hours, except Now.
type Budget struct {
	Queue    string  `json:"queue"`
	Parent   string  `json:"parent,omitempty"`
	Depth    int     `json:"depth"`
	Resource string  `json:"resource"`
	Window   string  `json:"window"`
	Budget   float64 `json:"budget"`
	Used     float64 `json:"used"`
	Needed   float64 `json:"needed"` // in addition to Used, by jobs with an announced length
	Left     float64 `json:"left"`
	Now      float64 `json:"now"` // cards
	// SpentIn is the time until the budget is used up at this rate: 0s if it is used up, null if the window ends
	// before.
	SpentIn *metav1.Duration `json:"spentIn"`
	// Next is the time when the next window begins, or when enough use leaves a sliding window; null for none.
	Next *metav1.Time `json:"next"`
}

// Budgets returns the budgets of the wanted queues of a session, in the order of the tree. It is limited to one card,
// unless card is "".
func Budgets(session *engine.Session, wanted func(queue string) bool, card string) []Budget {
	byQueue := map[string][]inspect.Budget{}
	for _, b := range session.Quota.Budgets() {
		byQueue[b.Queue] = append(byQueue[b.Queue], b)
	}

	all := []Budget{}
	for _, a := range session.Tree() {
		if !wanted(a.Queue) {
			continue
		}
		for _, b := range byQueue[a.Queue] {
			if card == "" || card == b.Resource {
				all = append(all, newBudget(a, b))
			}
		}
	}

	return all
}

func newBudget(a inspect.Account, b inspect.Budget) Budget {
	result := Budget{
		Queue:    a.Queue,
		Parent:   a.Parent,
		Depth:    a.Depth,
		Resource: b.Resource,
		Window:   b.Window,
		Budget:   b.Limit,
		Used:     b.Used,
		Needed:   b.Needed,
		Left:     b.Left(),
		Now:      b.Now,
	}
	if b.Spent != budget.Never {
		result.SpentIn = seconds(b.Spent)
	}
	if !b.Next.IsZero() {
		result.Next = &metav1.Time{Time: b.Next.UTC()}
	}

	return result
}

// UsedUp is the text for a budget that is used up.
const UsedUp = "used up"

// SpentText formats SpentIn for readers. It returns "" for null.
func (b *Budget) SpentText() string {
	if b.SpentIn == nil {
		return ""
	}
	return remaining(b.SpentIn.Duration, UsedUp)
}

// Amounts describes the quantities for readers.
func (b *Budget) Amounts() string {
	return fmt.Sprintf("%s: %s of %s card-hours, %s needed", b.Resource, format.CardHours(b.Used),
		format.CardHours(b.Budget), format.CardHours(b.Needed))
}

// Limit describes the budget for readers.
func (b *Budget) Limit() string {
	return fmt.Sprintf("%s: %s card-hours, %s", b.Resource, format.CardHours(b.Budget), b.Window)
}

// State describes used and left card-hours for readers.
func (b *Budget) State() string {
	text := fmt.Sprintf("%s used, %s left", format.CardHours(b.Used), format.CardHours(b.Left))
	switch spent := b.SpentText(); spent {
	case "", UsedUp:
	default:
		text += ", used up in " + spent
	}
	return text
}
