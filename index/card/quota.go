package card

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/index"
)

// The annotations that hold a JSON object of card name -> whole cards.
const (
	QuotaKey     = "volcano.sh/card.quota"     // of a queue: the most it may have
	DeservedKey  = "volcano.sh/card.deserved"  // of a queue: what it can reclaim
	GuaranteeKey = "volcano.sh/card.guarantee" // of a queue: what nobody else may have
	RequestKey   = "volcano.sh/card.request"   // of a job: what it needs; its names are lists
)

// MaxCards is the most cards that an annotation can give; whatever is larger
// counts as this. In thousandths it still fits in an int64.
const MaxCards = math.MaxInt64 / 1000

// Entry is one key of a quota, deserved or guarantee annotation.
type Entry struct {
	Name  string // trimmed, not empty
	Cards int64  // whole cards, 0..MaxCards
}

// ListRequest is one key of a request annotation.
type ListRequest struct {
	List  List  // not nil
	Count int64 // whole cards, 0..MaxCards
}

// Problem says what is wrong with one key of an annotation. Key is trimmed, in a
// request annotation it is a list as List.String has it, and it is " " for a key
// that is blank. With Key "" the problem is that of the whole annotation.
type Problem struct{ Key, Reason string }

// Error is the problem in words, of a few hundred bytes at most, such as
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

// ParseQuota reads a quota, deserved or guarantee annotation. Entries are sorted
// by Name, problems by Key, and each key is in one of the two once. A key is bad
// where it names no card or a list, where it is given twice, and where its value
// is not a whole number from 0 on; the other keys count. A text that is not one
// JSON object gives no entries and one Problem with Key "".
func ParseQuota(text string) ([]Entry, []Problem) {
	cards, problems := parse(text, func(key string) (name, reason string) {
		if strings.Contains(key, separator) {
			return key, "is a choice of cards, and a quota is for one card"
		}
		return key, ""
	})
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		entries = append(entries, Entry{Name: name, Cards: cards[name]})
	}
	return entries, problems
}

// ParseRequest reads a request annotation as ParseQuota reads a quota, except
// that its keys are lists. "A|B" and "B|A" are two lists, "A|B" and "A | B|A" are
// one. Requests are sorted by List.String.
func ParseRequest(text string) ([]ListRequest, []Problem) {
	cards, problems := parse(text, func(key string) (name, reason string) {
		if list := ParseList(key); list != nil {
			return list.String(), ""
		}
		return key, namesNoCard
	})
	var requests []ListRequest
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		requests = append(requests, ListRequest{List: ParseList(name), Count: cards[name]})
	}
	return requests, problems
}

// parse reads the good keys of an annotation and finds the bad ones. normal gives
// a trimmed key the form in which keys are compared, and a reason if it is bad.
func parse(text string, normal func(key string) (name, reason string)) (map[string]int64, []Problem) {
	members, broken := readObject(text)
	if broken != "" {
		return nil, []Problem{{Reason: broken}}
	}
	good, bad := make(map[string]int64, len(members)), map[string]string{}
	for _, m := range members {
		name, reason := blankKey, namesNoCard
		if key := strings.TrimSpace(m.key); key != "" {
			name, reason = normal(key)
		}
		if reason == "" && (has(good, name) || has(bad, name)) {
			reason = givenTwice
		}
		var cards int64
		if reason == "" {
			cards, reason = parseCards(m.value)
		}
		if reason == "" {
			good[name] = cards
		} else {
			delete(good, name)
			bad[name] = reason
		}
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		problems = append(problems, Problem{Key: name, Reason: bad[name]})
	}
	return good, problems
}

func has[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// member is one key of a JSON object with its value as it is written.
type member struct{ key, value string }

// readObject returns the members of the one JSON object that text is, in their
// order and with repetitions, or what is broken about it. Decoding into a map
// would lose repetitions. The decoder bounds how deep values nest.
func readObject(text string) (members []member, broken string) {
	if strings.TrimSpace(text) == "" {
		return nil, "it is empty"
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, "it is not a JSON object"
	}
	for {
		key, err := decoder.Token()
		if err != nil {
			return nil, brokenJSON(err)
		}
		name, ok := key.(string)
		if !ok {
			break // the end of the object: nothing else can stand in the place of a key
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, brokenJSON(err)
		}
		members = append(members, member{key: name, value: string(value)})
	}
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

// parseCards reads a JSON value that should be a number of cards, or says why it
// is none.
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

// parseWhole reads a JSON number without a sign, at most MaxCards, and reports
// whether it is whole. It counts digits, as a float64 would take 1e-400 for 0 and
// 9007199254740993 for its neighbour, and as 1e999999999 is too long to write out.
func parseWhole(number string) (cards int64, whole bool) {
	const maxDigits = 18 // fit in an int64, and hold MaxCards
	mantissa, power := number, int64(0)
	if e := strings.IndexAny(number, "eE"); e >= 0 {
		mantissa = number[:e]
		power, _ = strconv.ParseInt(number[e+1:], 10, 64) // out of range, it is the nearest
		power = min(max(power, math.MinInt64/2), math.MaxInt64/2)
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	// The number is 0.<digits> * 10^power.
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
