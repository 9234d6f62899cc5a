package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/index"
)

// The annotations that hold a JSON object of card names and numbers of whole cards, such as
// {"NVIDIA-H200": 8}.
const (
	QuotaKey     = "volcano.sh/card.quota"     // of a queue: the capability of cards
	DeservedKey  = "volcano.sh/card.deserved"  // of a queue: the cards that it can reclaim
	GuaranteeKey = "volcano.sh/card.guarantee" // of a queue: the cards that others cannot use
	RequestKey   = "volcano.sh/card.request"   // of a job: its minimum; keys are card lists
	// StatusKey has the cards of a queue, as JSON. The scheduler writes it.
	StatusKey = "volcano.sh/card.status"
	// ReasonKey has the reason why the job of a PodGroup waits, as JSON. The scheduler writes it.
	ReasonKey = "volcano.sh/card.reason"
	// HolderKey states the cards and resources that namespaces, users, groups, and values of labels can have in a queue
	// and below.
	HolderKey = "volcano.sh/card.quota.by"
	// BudgetKey states how long a queue and its descendants can have cards, in card-hours per window.
	BudgetKey = "volcano.sh/card.budget"
)

// MaxCards is the largest number of whole cards in an annotation. A larger number counts as
// MaxCards. It is beyond any cluster, and the quotas of 9,000 queues still have an exact sum:
// a float64 holds whole numbers up to 2^53 milli-cards.
const MaxCards = 1_000_000_000

// Entry is one key of an annotation of cards and whole numbers.
type Entry struct {
	Name  string // trimmed, not empty
	Cards int64  // whole cards, 0..MaxCards
}

// ListRequest is one key of a request annotation.
type ListRequest struct {
	List  List  // not nil
	Count int64 // whole cards, 0..MaxCards
}

// Problem is a problem of one key of an annotation, or of the whole annotation.
type Problem struct {
	// Key is the trimmed key, in a request annotation as List.String writes it. It
	// is " " for a blank key, and "" for a problem of the whole annotation.
	Key    string
	Reason string // the end of a sentence that begins with the key
}

// Error returns the problem as a sentence of at most a few hundred bytes, such as
// "NVIDIA-H200": 2.5 is not a whole number of cards.
func (p Problem) Error() string {
	if p.Key == "" {
		return p.Reason
	}
	return strconv.Quote(cut(strings.TrimSpace(p.Key))) + ": " + p.Reason
}

const (
	blankKey    = " "
	namesNoCard = "names no card"
	givenTwice  = "is given more than once"
)

// ParseQuota parses an annotation of cards and whole numbers. Entries are sorted by Name,
// and problems by Key. Each key is in one of the two results, once. ParseAmounts also reads
// shares.
//
// A key is bad if it names no card or a card list, if it is given more than once, or if
// its value is not a whole number of at least 0. The other keys count. A text that is not
// one JSON object gives no entries, and one Problem with the Key "".
func ParseQuota(text string) ([]Entry, []Problem) {
	cards, problems := parse(text, oneCard, parseCards)

	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		entries = append(entries, Entry{Name: name, Cards: cards[name]})
	}

	return entries, problems
}

// oneCard is the normalize of annotations with a value for each card.
func oneCard(key string) (name, reason string) {
	if strings.Contains(key, separator) {
		return key, "is a choice of cards, and a quota is for one card"
	}
	return key, ""
}

// mostRequests bounds the entries of a request annotation, which any user can write.
const mostRequests = 64

// ParseRequest parses a request annotation. It differs from ParseQuota in the keys, which
// are card lists. The order in a list counts: "A|B" and "B|A" are different lists. Space and
// repetitions do not: "A|B" and "A | B|A" are the same list. Requests are sorted by List.String.
func ParseRequest(text string) ([]ListRequest, []Problem) {
	cards, problems := parse(text, func(key string) (name, reason string) {
		if list := ParseList(key); list != nil {
			return list.String(), ""
		}
		return key, namesNoCard
	}, parseCards)
	if len(cards) > mostRequests {
		reason := fmt.Sprintf("has %d entries, and may have at most %d", len(cards), mostRequests)
		return nil, []Problem{{Reason: reason}}
	}

	var requests []ListRequest
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		requests = append(requests, ListRequest{List: ParseList(name), Count: cards[name]})
	}

	return requests, problems
}

// parse returns the values of the good keys of an annotation, and the problems of the bad
// keys. normalize returns the form in which a trimmed key is compared, and a reason if the key
// is bad. read returns a value, and a reason if it is bad.
func parse[V any](
	text string, normalize func(key string) (name, reason string), read func(value string) (V, string),
) (map[string]V, []Problem) {
	members, broken := ReadObject(text)
	if broken != "" {
		return nil, []Problem{{Reason: broken}}
	}

	good := make(map[string]V, len(members))
	bad := map[string]string{}
	seen := sets.New[string]()
	for _, m := range members {
		name, reason := blankKey, namesNoCard
		if key := strings.TrimSpace(m.Name); key != "" {
			name, reason = normalize(key)
		}
		if reason == "" && seen.Has(name) {
			reason = givenTwice
		}
		seen.Insert(name)

		var value V
		if reason == "" {
			value, reason = read(m.Text)
		}
		if reason != "" {
			delete(good, name)
			bad[name] = reason
			continue
		}
		good[name] = value
	}

	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		problems = append(problems, Problem{Key: name, Reason: bad[name]})
	}

	return good, problems
}

// Member is one key of a JSON object, with the text of its value.
type Member struct{ Name, Text string }

// ReadObject returns the members of a JSON object, in order and with repetitions. broken is the
// reason why text is not one JSON object. A map would lose repetitions. The decoder limits how deep
// values nest.
func ReadObject(text string) (members []Member, broken string) {
	if strings.TrimSpace(text) == "" {
		return nil, "it is empty"
	}

	decoder := json.NewDecoder(strings.NewReader(text))
	start, err := decoder.Token()
	if err != nil || start != json.Delim('{') {
		return nil, "it is not a JSON object"
	}

	for {
		key, err := decoder.Token()
		if err != nil {
			return nil, brokenJSON(err)
		}

		name, ok := key.(string)
		if !ok {
			break // the end of the object: the decoder returns no other token here
		}

		var value json.RawMessage
		err = decoder.Decode(&value)
		if err != nil {
			return nil, brokenJSON(err)
		}
		members = append(members, Member{Name: name, Text: string(value)})
	}

	// The decoder reads no further than the object.
	if strings.Trim(text[decoder.InputOffset():], " \t\r\n") != "" {
		return nil, "it goes on after the JSON object"
	}
	return members, ""
}

func brokenJSON(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is not a JSON object: it ends too early"
	}
	return "it is not a JSON object: " + err.Error()
}

// parseCards parses a JSON value as a number of whole cards, or returns why it is none.
func parseCards(value string) (cards int64, reason string) {
	switch value[0] {
	case '"':
		return 0, "a string is not a number of cards"
	case '{':
		return 0, "an object is not a number of cards"
	case '[':
		return 0, "an array is not a number of cards"
	case 'n', 't', 'f':
		return 0, value + " is not a number of cards"
	}

	cards, whole := parseWhole(strings.TrimPrefix(value, "-"))
	switch {
	case value[0] == '-' && (cards != 0 || !whole):
		return 0, cut(value) + " is negative"
	case !whole:
		return 0, cut(value) + " is not a whole number of cards"
	}
	return cards, ""
}

// parseWhole parses a JSON number without a sign, and reports whether it is whole. A number
// above MaxCards is MaxCards. parseWhole works on the digits, because a float64 rounds 1e-400 to 0
// and 9007199254740993 to 9007199254740992, and 1e999999999 has too many digits for an
// integer.
func parseWhole(number string) (cards int64, whole bool) {
	const maxDigits = 18 // these fit in an int64, and MaxCards has fewer
	mantissa, power := number, int64(0)
	if e := strings.IndexAny(number, "eE"); e >= 0 {
		mantissa = number[:e]
		power, _ = strconv.ParseInt(number[e+1:], 10, 64) // out of range, the result is the nearest int64
		power = min(max(power, math.MinInt64/2), math.MaxInt64/2)
	}

	// The number becomes 0.<digits> * 10^power.
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	power += int64(len(digits) - len(after))
	digits = strings.TrimRight(digits, "0")

	switch {
	case digits == "":
		return 0, true
	case int64(len(digits)) > power:
		return 0, false
	case power > maxDigits:
		return MaxCards, true
	}

	cards, _ = strconv.ParseInt(digits+strings.Repeat("0", int(power)-len(digits)), 10, 64)
	return min(cards, MaxCards), true
}

// cut shortens a key or a value for a message.
func cut(text string) string { return index.Shorten(text, 100) }
