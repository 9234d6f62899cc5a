package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
)

// Budget bounds the card-hours of a queue and its descendants in a window.
type Budget struct {
	Card   string  // or a group of cards
	Hours  float64 // card-hours, above 0
	Window Window
}

// budgetText is a value of the annotation, such as 5000h/30d.
var budgetText = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,3})?)h/(\S+(?: sliding)?)$`)

// parseBudgets parses budgets by card. One bad key makes the whole annotation wrong.
func parseBudgets(v *Value, text string) bool {
	members, broken := card.ReadObject(text)
	if broken != "" {
		return false
	}

	budgets := map[string]Budget{}
	for _, m := range members {
		value := ""
		if json.Unmarshal([]byte(m.Text), &value) != nil {
			return false
		}

		b, ok := ParseBudget(strings.TrimSpace(m.Name), value)
		_, repeated := budgets[b.Card]
		if !ok || repeated {
			return false
		}
		budgets[b.Card] = b
	}

	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		v.Budgets = append(v.Budgets, budgets[name])
	}

	return true
}

// BudgetCardNames returns the cards and groups of cards that budgets name, in order.
func BudgetCardNames(annotations map[string]string) (names []string) {
	var v Value
	if !parseBudgets(&v, annotations[card.BudgetKey]) {
		return nil
	}

	for _, b := range v.Budgets {
		names = append(names, b.Card)
	}

	return names
}

// ParseBudget parses the budget of a card.
func ParseBudget(card, text string) (b Budget, ok bool) {
	parts := budgetText.FindStringSubmatch(text)
	if card == "" || strings.Contains(card, "|") || parts == nil {
		return b, false
	}

	hours, err := strconv.ParseFloat(parts[1], 64)
	window, wrong := ParseWindow(parts[2])

	b = Budget{Card: card, Hours: hours, Window: window}
	return b, err == nil && wrong == nil && hours > 0
}

// ParseRuntime parses an announced length of a pod, such as 4h.
func ParseRuntime(text string) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false // without the error of package time, which allocates
	}

	d, ok = ParseDuration(strings.TrimSpace(text))
	return d, ok && d > 0
}
