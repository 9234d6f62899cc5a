package settings

import (
	"slices"
	"strings"
)

// The patterns of single values.
const (
	duration = `(0|([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+)`
	number   = `(0{0,8}[1-9][0-9]{0,7}(\.[0-9]{1,3})?|[0-9]{1,9}\.([1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9]))`
	boolean  = `(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)`
	minutes  = `([1-9][0-9]{0,3}|[1-3][0-9]{4}|4[0-3][0-9]{3}|44[0-5][0-9]{2}|446[0-3][0-9]|44640)m` // to 31d
	rate     = `([1-9][0-9]{0,3}|10000)/(` + minutes + `|([1-9][0-9]?|[1-6][0-9]{2}|7[0-3][0-9]|74[0-4])h|` +
		`([1-9]|[12][0-9]|3[01])d)`
	window = `(day|week|month|([1-9]|[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])d( sliding)?|` +
		`([1-9]|[1-9][0-9]{1,2}|[1-7][0-9]{3}|8[0-6][0-9]{2}|87[0-7][0-9]|878[0-4])h( sliding)?)`
	cardHours = `(0{0,11}[1-9][0-9]{0,11}(\.[0-9]{1,3})?|[0-9]{1,12}\.([1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9]))h/`
)

// The patterns of parts of JSON. The name of a card is not blank and has no |, which separates the cards of a list.
// They are short: the API server admits a queue unchecked if the annotation and its pattern are long.
const (
	anyText  = `([^"\\\x00-\x1f]|\\["\\/bfnrtu])*`
	nameChar = `([^"\\|\x00-\x1f]|\\["\\/bfnrtu])*`
	listChar = `([^"\\\x00-\x1f]|\\["\\/bfnrtu])*`
	visible  = `([^\s"\\|\x00-\x1f]|\\["\\/bfnrtu])`
	cardName = `"\s*` + visible + nameChar + `"`
	listName = `"[\s|]*` + visible + listChar + `"`
	count    = `0|[1-9]\d*`
	share    = `(100|\d\d?(\.\d\d?)?)%(,min=\d+)?(,max=\d+)?`
	quantity = `"[0-9]+(\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][0-9]+)?"`
	label    = `label:([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?`
)

// whole returns the pattern of a value with space around it.
func whole(pattern string) string { return `^\s*` + pattern + `\s*$` }

// object returns the pattern of a JSON object with members of a name and a value.
func object(name, value string) string {
	member := name + `\s*:\s*` + value + `\s*`
	return `\{\s*(` + member + `(,\s*` + member + `)*)?\}`
}

// list returns the pattern of a list of words in any order, each at most once, with all that are required.
func list(required []string, optional ...string) string {
	var choices []string
	for i, word := range append(slices.Clone(required), optional...) {
		needed := required
		others := optional
		if i < len(required) {
			needed = without(required, i)
		} else {
			others = without(optional, i-len(required))
		}

		switch {
		case len(needed) > 0:
			word += `\s*,\s*` + list(needed, others...)
		case len(others) > 0:
			word += `(\s*,\s*` + list(nil, others...) + `)?`
		}
		choices = append(choices, word)
	}

	return `(` + strings.Join(choices, `|`) + `)`
}

// without returns the words without one of them.
func without(words []string, i int) []string { return slices.Delete(slices.Clone(words), i, i+1) }

// The patterns of lists. A time for which a job holds back others needs an order in which jobs wait for one another.
var (
	orderPattern = whole(`(` +
		list(nil, `(best-effort|(priority-)?fifo)`, `nodes=`+duration, `displace(=off)?`) + `|` +
		list([]string{`(priority-)?fifo`, `hold=` + duration}, `nodes=`+duration, `displace(=off)?`) + `)`)
	fairSharePattern = whole(list(nil, `(off|on)`, `namespaces(=off)?`, `weight=`+number))
	runtimePattern   = whole(list(nil, `reclaim=`+duration, `preempt=`+duration))
	evictionsPattern = whole(list(nil, `lose=`+rate, `take=`+rate))
	enforcePattern   = whole(`(off|` + list([]string{`after=` + duration}, `budgets`) + `)`)
)

// The patterns of annotations with JSON.
var (
	cardsPattern   = whole(object(cardName, `(`+count+`)`))
	amountsPattern = whole(object(cardName, `(`+count+`|"`+share+`")`))
	requestPattern = whole(object(listName, `(`+count+`)`))
	budgetsPattern = whole(object(cardName, `"`+cardHours+window+`"`))
	holdersPattern = whole(object(`"(namespace|user|group|`+label+`)"`,
		object(`"`+anyText+`"`, object(cardName, `(`+count+`|`+quantity+`)`))))
)
