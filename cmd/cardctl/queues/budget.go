package queues

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Budget holds the budget of a queue for one card. Quantities are card-hours, but for Now.
type Budget struct {
	Queue    string  `json:"queue"`
	Parent   string  `json:"parent,omitempty"`
	Depth    int     `json:"depth"`
	Resource string  `json:"resource"`
	Window   string  `json:"window"`
	Budget   float64 `json:"budget"`
	Used     float64 `json:"used"`
	Needed   float64 `json:"needed"` // by jobs with an announced length, beside Used
	Left     float64 `json:"left"`
	Now      float64 `json:"now"` // cards
	// SpentIn is the time until the budget is used up at this rate: 0s if it is, null if the window ends before.
	SpentIn *string `json:"spentIn"`
	// Next is when the next window begins, or when the oldest use leaves a window that slides; null for none.
	Next *metav1.Time `json:"next"`
}

// Budgets returns the budgets of the queues of a session that wanted selects, in the order of the tree, and of one
// card, "" for all.
func Budgets(session *engine.Session, wanted func(queue string) bool, card string) []Budget {
	of := map[string][]inspect.Budget{}
	for _, b := range session.Quota.Budgets() {
		of[b.Queue] = append(of[b.Queue], b)
	}
	all := []Budget{}
	for _, a := range session.Tree() {
		if !wanted(a.Queue) {
			continue
		}
		for _, b := range of[a.Queue] {
			if card == "" || card == b.Resource {
				all = append(all, newBudget(a, b))
			}
		}
	}
	return all
}

// UsedUp describes a budget of which nothing is left.
const UsedUp = "used up"

// SpentText is SpentIn for people, "" where the window ends before.
func (b *Budget) SpentText() string {
	if b.SpentIn == nil {
		return ""
	}
	t, err := time.ParseDuration(*b.SpentIn)
	if err != nil || t == 0 {
		return UsedUp
	}
	return duration.HumanDuration(t)
}

// Amounts has the quantities in words.
func (b *Budget) Amounts() string {
	return fmt.Sprintf("%s: %s of %s h, %s h needed", b.Resource, format.CardHours(b.Used), format.CardHours(b.Budget),
		format.CardHours(b.Needed))
}

func newBudget(a inspect.Account, b inspect.Budget) Budget {
	is := Budget{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Resource: b.Resource, Window: b.Window, Budget: b.Limit, Used: b.Used,
		Needed: b.Needed, Left: b.Left(), Now: b.Now}
	if b.Spent != budget.Never {
		text := b.Spent.Round(time.Second).String()
		is.SpentIn = &text
	}
	if !b.Next.IsZero() {
		is.Next = &metav1.Time{Time: b.Next.UTC()}
	}
	return is
}
