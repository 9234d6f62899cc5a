package command

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/plugin/format"
)

const budgetLong = `Shows what queues have used of their budgets of card-hours (the annotation
volcano.sh/card.budget), with the queues below them.

CARD-HOURS is the budget in its window. NEEDED has the card-hours that admitted and
running jobs still need of their announced length. LEFT is the budget less USED and
NEEDED. CARDS NOW is the number of cards that the queue has, which is the card-hours that
it uses in an hour. USED UP IN is the time until
the budget is used up at this rate, if the window does not end before. NEXT is when the
next window begins, or when enough use leaves a window that slides.`

const budgetExamples = `  cardctl budget
  cardctl budget research --card NVIDIA-H200
  cardctl budget -o json -f dump.json`

// noBudgets is the output where no queue has a budget.
const noBudgets = "No queue has a budget: the annotation volcano.sh/card.budget sets one."

func newBudget(s *source) *cobra.Command {
	card := ""
	cmd := &cobra.Command{
		Use: "budget [QUEUE]", Short: "What queues have used of their budgets",
		Long: budgetLong, Example: budgetExamples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return s.budget(cmd.Context(), queueArgument(arguments), card)
		},
	}

	cmd.Flags().StringVar(&card, "card", "", "Only this card, or group of cards")
	s.bind(cmd, named...)
	return cmd
}

func (s *source) budget(ctx context.Context, queue, card string) error {
	o, err := s.openBelow(ctx, queue)
	if err != nil {
		return err
	}
	defer o.Close()

	var known []string
	for _, b := range o.Quota.Budgets() {
		known = append(known, b.Resource)
	}
	all := queues.Budgets(o.Session, o.wanted, card)
	if card != "" && len(all) == 0 && len(known) > 0 {
		return unknown("budget of card", card, known)
	}
	return s.printBudgets(o.Configuration, all)
}

// budgetDocument is the top level of JSON and YAML output.
type budgetDocument struct {
	document.Head
	Saved *metav1.Time    `json:"saved,omitempty"`
	Lacks string          `json:"lacks,omitempty"` // why only the use of running pods is known
	Items []queues.Budget `json:"items"`
}

func (s *source) printBudgets(c *engine.Configuration, all []queues.Budget) error {
	r := orText(budgetTable(all), noBudgets)
	d := &budgetDocument{Head: document.Of("BudgetList"), Lacks: c.BudgetsLack, Items: all}
	if c.Budgets != nil {
		d.Saved = &metav1.Time{Time: c.Budgets.Saved}
		if !isData(s.output) {
			s.note("saved at %s", c.Budgets.Saved.UTC().Format(time.RFC3339))
		}
	}
	r.data = d
	return s.print(r)
}

// budgetTable has a row for each queue and card.
func budgetTable(all []queues.Budget) *table {
	t := tableOf("QUEUE", "CARD", "WINDOW", "CARD-HOURS", "USED", "NEEDED", "LEFT", "CARDS NOW", "USED UP IN", "NEXT")
	t.columns[0].once = true

	for _, b := range all {
		next := ""
		if b.Next != nil {
			next = format.Minute(b.Next.Time)
		}
		t.add(strings.Repeat("  ", b.Depth)+b.Queue, b.Resource, b.Window,
			format.CardHours(b.Budget), format.CardHours(b.Used), format.CardHours(b.Needed), format.CardHours(b.Left),
			explain.Tenths(b.Resource, b.Now), b.SpentText(), next)
	}
	return t
}
