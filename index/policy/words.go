package policy

import (
	"fmt"
	"slices"
	"strings"
)

// list is an annotation of several words, such as "fifo, hold=30m": words and words with a value, separated by commas,
// in any order, each at most once. A word that is missing sets nothing, so its key inherits.
type list struct {
	words   []word
	want    string // the words, for the end of "is not a list of …"
	example string
	// check returns the word that does not go with the others, "" for none. given has the words by their prefix.
	check func(values *Values, given map[string]string) string
}

// word is a word of a list. The first word with the prefix of a text reads the rest of the text. So a word without a
// prefix, which stands for all names of a choice, is the last one.
type word struct {
	prefix string
	key    Key
	parse  func(*Value, string) bool
}

// The lists.
var (
	orderWords = list{
		want:    "fifo, priority-fifo or best-effort; hold=TIME; nodes=TIME; displace or displace=off",
		example: "fifo,hold=30m",
		words: []word{
			{"hold=", JobOrder, parseHold},
			{"nodes=", FairShareHold, parseDuration},
			{"displace", Displace, parseSwitch},
			{"", JobOrder, parseOrder},
		},
		check: checkOrder,
	}
	fairShareWords = list{
		want:    "off or on; namespaces or namespaces=off; weight=NUMBER",
		example: "namespaces,weight=2",
		words: []word{
			{"namespaces", FairShareNamespaces, parseSwitch},
			{"weight=", FairShareWeight, parseFactor},
			{"", FairShare, parseOnOff},
		},
	}
	runtimeWords = list{
		want:    "reclaim=TIME; preempt=TIME",
		example: "reclaim=30m,preempt=10m",
		words:   []word{{"reclaim=", MinRuntime, parseDuration}, {"preempt=", PreemptMinRuntime, parseDuration}},
	}
	evictionWords = list{
		want:    "lose=N/LENGTH; take=N/LENGTH",
		example: "lose=10/1h,take=20/1d",
		words:   []word{{"lose=", EvictionBudget, parseRate}, {"take=", ReclaimBudget, parseRate}},
	}
	enforceWords = list{
		want:    "off or after=TIME; budgets",
		example: "after=30m,budgets",
		words: []word{
			{"after=", EnforceQuota, parseAfter},
			{"budgets", EnforceQuota, parseBudgeted},
			{"", EnforceQuota, parseOff},
		},
		check: checkEnforce,
	}
)

// keys returns the keys that the words set, each once.
func (l *list) keys() (all []Key) {
	for _, w := range l.words {
		if !slices.Contains(all, w.key) {
			all = append(all, w.key)
		}
	}

	return all
}

// parse parses a list. problem names the first word that is wrong, and is "" for a good list.
func (l *list) parse(text string) (values Values, problem string) {
	given := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !l.add(&values, part, given) {
			return values, l.problem(text, part)
		}
	}

	if l.check != nil {
		if odd := l.check(&values, given); odd != "" {
			return values, l.problem(text, odd)
		}
	}

	return values, ""
}

// add parses a word, and reports whether it is a word of the list that was not given before.
func (l *list) add(values *Values, text string, given map[string]string) bool {
	at := slices.IndexFunc(l.words, func(w word) bool { return strings.HasPrefix(text, w.prefix) })
	if at < 0 {
		return false
	}

	w := l.words[at]
	if _, again := given[w.prefix]; again {
		return false
	}
	given[w.prefix] = text

	v := &values[w.key]
	if v.Set {
		v.Text += ","
	}
	v.Set = true
	v.Text += text
	return w.parse(v, text[len(w.prefix):])
}

// problem describes a list with a wrong word.
func (l *list) problem(text, wrong string) string {
	problem := fmt.Sprintf("is not a list of %s, such as %s", l.want, l.example)
	if wrong != text {
		problem += "; " + quote(wrong) + " is wrong"
	}
	return problem
}

// parseSwitch parses the rest of a word that has the alternative =off.
func parseSwitch(v *Value, rest string) bool {
	v.Flag = rest == ""
	return rest == "" || rest == "=off"
}

// parseOnOff parses the words on and off.
func parseOnOff(v *Value, text string) bool {
	v.Flag = text == "on"
	return text == "on" || text == "off"
}
