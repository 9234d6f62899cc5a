package card

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Amount is one key of a quota, deserved or guarantee annotation: a number of cards, or a share of the cards that the
// nodes give.
type Amount struct {
	Name  string // trimmed, not empty
	Cards int64  // whole cards, 0..MaxCards; 0 for a share
	Share *Share // nil for a number
}

// Share is a share of the cards that the nodes give, such as "25%,min=2,max=64". Min and Max are whole cards.
type Share struct {
	Hundredths int64 // of a percent, 0..WholeStock
	Min, Max   int64 // Max is MaxCards if the share has no maximum
}

// WholeStock is 100% in hundredths of a percent.
const WholeStock = 100 * 100

// String returns the text of the share in annotations.
func (s Share) String() string {
	text := Percent(s.Hundredths)
	if s.Min > 0 {
		text += ",min=" + strconv.FormatInt(s.Min, 10)
	}
	if s.Max < MaxCards {
		text += ",max=" + strconv.FormatInt(s.Max, 10)
	}
	return text
}

// Percent formats hundredths of a percent, such as 12.5%.
func Percent(hundredths int64) string { return FormatDecimal(float64(hundredths)/100) + "%" }

// ParseAmounts parses a quota, deserved or guarantee annotation. It differs from ParseQuota in the values: a value is a
// number of cards, or a JSON string with a share.
func ParseAmounts(text string) ([]Amount, []Problem) {
	values, problems := parse(text, oneCard, parseAmount)

	var amounts []Amount
	for _, name := range slices.Sorted(maps.Keys(values)) {
		amount := values[name]
		amount.Name = name
		amounts = append(amounts, amount)
	}

	return amounts, problems
}

// parseAmount parses a JSON value as a number of cards or as a share, or returns why it is neither.
func parseAmount(value string) (amount Amount, reason string) {
	if strings.HasPrefix(value, `"`) && strings.Contains(value, "%") {
		share, reason := parseShare(value)
		return Amount{Share: &share}, reason
	}

	cards, reason := parseCards(value)
	return Amount{Cards: cards}, reason
}

// shareText matches a share in JSON.
var shareText = regexp.MustCompile(
	`^"(?:(100)|([0-9]{1,2})(?:\.([0-9]{1,2}))?)%(?:,min=([0-9]+))?(?:,max=([0-9]+))?"$`)

// parseShare parses a JSON string as a share, or returns why it is none.
func parseShare(value string) (s Share, reason string) {
	found := shareText.FindStringSubmatch(value)
	if found == nil {
		return s, cut(value) + " is not a share of the cards: 0% to 100%, then min=N or max=N or both"
	}

	s = Share{Hundredths: WholeStock, Max: MaxCards}
	if found[1] == "" {
		s.Hundredths = 100*number(found[2]) + number((found[3] + "00")[:2])
	}
	s.Min, _ = parseWhole(found[4]) // 0 without one
	if found[5] != "" {
		s.Max, _ = parseWhole(found[5])
	}

	if s.Min > s.Max {
		return s, cut(value) + " has a min above its max"
	}
	return s, ""
}

// Divide returns the whole cards of queues below one queue that state these amounts of the same stock. A number stays
// as it is, and a share is rounded down. Shares lose nothing if there are no numbers and they add up to 100%: the cards
// that rounding leaves go to the largest remainders, and of equal ones to the first.
func Divide(stock Milli, amounts []Amount) []int64 {
	// A unit is a ten-thousandth of a milli-card: each share of the stock has a whole number of them.
	const unitsOfCard = 1000 * WholeStock
	milli := int64(math.Floor(min(max(float64(stock), 0), float64(Cards(MaxCards)))))

	cards := make([]int64, len(amounts))
	remainders := make([]int64, len(amounts))
	left := milli / 1000
	sum := int64(0)
	all := true
	for i, a := range amounts {
		if a.Share == nil {
			cards[i] = a.Cards
			all = false
			continue
		}

		units := milli * a.Share.Hundredths
		cards[i] = units / unitsOfCard
		remainders[i] = units % unitsOfCard
		left -= cards[i]
		sum += a.Share.Hundredths
	}

	if all && sum == WholeStock {
		for _, i := range byRemainder(remainders)[:left] {
			cards[i]++
		}
	}

	for i, a := range amounts {
		if a.Share != nil {
			cards[i] = max(a.Share.Min, min(cards[i], a.Share.Max))
		}
	}
	return cards
}

// byRemainder returns the indices of remainders, the largest first.
func byRemainder(remainders []int64) []int {
	order := make([]int, len(remainders))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(remainders[j], remainders[i]) })
	return order
}

// WriteAmounts returns the text of an annotation with these amounts, such as {"NVIDIA-H200":8,"NVIDIA-H800":"25%"}.
func WriteAmounts(amounts []Amount) string {
	values := map[string]any{}
	for _, a := range amounts {
		if a.Share != nil {
			values[a.Name] = a.Share.String()
		} else {
			values[a.Name] = a.Cards
		}
	}
	text, _ := json.Marshal(values) // of numbers and texts
	return string(text)
}
