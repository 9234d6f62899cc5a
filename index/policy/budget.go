package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Budget is how long a queue, and those below it, may have a card in a window.
type Budget struct {
	Card   string  // or a group of cards
	Hours  float64 // card-hours, above 0
	Window Window
}

// budgetText is a value of the annotation, such as 5000h/30d.
var budgetText = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,3})?)h/(\S+(?: sliding)?)$`)

// parseBudgets parses budgets by card. One bad key makes the whole annotation wrong.
func parseBudgets(v *Value, text string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return false
	}
	budgets := map[string]Budget{}
	for decoder.More() {
		key, err := decoder.Token()
		name, isName := key.(string)
		var value string
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return false
		}
		b, ok := ParseBudget(strings.TrimSpace(name), value)
		if _, twice := budgets[b.Card]; !ok || twice {
			return false
		}
		budgets[b.Card] = b
	}
	if end, err := decoder.Token(); err != nil || end != json.Delim('}') || strings.TrimSpace(text[decoder.InputOffset():]) != "" {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		v.Budgets = append(v.Budgets, budgets[name])
	}
	return true
}

// ParseBudget parses the budget of a card.
func ParseBudget(card, text string) (b Budget, ok bool) {
	parts := budgetText.FindStringSubmatch(text)
	if card == "" || strings.Contains(card, "|") || parts == nil {
		return b, false
	}
	hours, err := strconv.ParseFloat(parts[1], 64)
	window, wrong := ParseWindow(parts[2])
	return Budget{Card: card, Hours: hours, Window: window}, err == nil && wrong == nil && hours > 0
}

// ParseRuntime parses an announced length of a pod, such as 4h.
func ParseRuntime(text string) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false // without the error of package time, which allocates
	}
	d, ok = ParseDuration(strings.TrimSpace(text))
	return d, ok && d > 0
}
