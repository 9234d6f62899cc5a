package page

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// phrase is a text in two languages. A %s stands for a name, a number or a field.
type phrase struct{ english, chinese string }

// Commands and JSON have the English texts, from which the pages translate them. The first phrase that fits counts.
var (
	// advice are the texts of cardctl explain in addition to the reason of a job: who can take pods back, and the
	// changes that let the job in.
	advice = readPhrases("advice")
	// issues are the texts of cardctl validate, notes about the input, and the messages of Volcano about evictions.
	issues = readPhrases("issues")

	phrases = slices.Concat(advice, issues, ofRules())
	// patterns match the texts of phrases.
	patterns = compile()
)

// ofRules returns what to do about each rule.
func ofRules() (phrases []phrase) {
	for _, r := range explain.Rules {
		phrases = append(phrases, phrase{explain.Advice(r.Do.English), explain.Advice(r.Do.Chinese)})
	}
	return phrases
}

// constant is a number or a name in quotes in the pattern of a phrase. The page Health leaves it out where it differs
// between issues that are alike.
var constant = regexp.MustCompile(`"[^"]*"|\b\d(?:\w|\\\.)*`)

func compile() (all []*regexp.Regexp) {
	for _, p := range phrases {
		pattern := constant.ReplaceAllString(regexp.QuoteMeta(p.english), `(?:$0|"?…"?)`)
		all = append(all, regexp.MustCompile("(?s)^"+strings.ReplaceAll(pattern, "%s", "(.+?)")+"$"))
	}
	return all
}

// meant is the end of a text about a name that is misspelt.
var meant = regexp.MustCompile(`(?s)^(.+); did you mean "?(.+?)"?\?$`)

var (
	// field matches a setting of a queue.
	field = regexp.MustCompile(`^(\S+)(?: of "(.+?)"( \(\S+ = \S+\))?)? of queue (\S+)$`)
	// over matches the quantity of a queue that has more than it deserves.
	over = regexp.MustCompile(`\((\S+) of (\S+) deserved\)`)
)

// queueList translates a list of queues. Names of queues have no spaces.
var queueList = strings.NewReplacer(" and ", "、", ", ", "、", " "+explain.BelowDeserved, "（未达应得量）")

// placeOf returns a place in words as a number.
func placeOf(word string) string {
	for place := range 11 {
		if explain.Ordinal(place) == word {
			return strconv.Itoa(place)
		}
	}
	return strings.TrimPrefix(word, "number ")
}

// advise translates a text of cardctl explain or validate. Unknown texts stay in English.
func advise(lang, text string) string {
	if lang != "zh" {
		return text
	}

	if found := meant.FindStringSubmatch(text); found != nil {
		return advise(lang, found[1]) + "；是否指 " + found[2] + "？"
	}

	for i, p := range patterns {
		found := p.FindStringSubmatch(text)
		if found == nil {
			continue
		}

		// The arguments of these phrases are a queue, its place, …, and a list of queues.
		ordered := strings.HasSuffix(phrases[i].english, " first")
		var arguments []any
		for n, word := range found[1:] {
			if ordered && n == 1 {
				word = placeOf(word)
			} else if ordered && n == len(found)-2 {
				word = queueList.Replace(word)
			}
			arguments = append(arguments, argument(lang, word))
		}

		if len(arguments) == 0 {
			return phrases[i].chinese
		}
		return fmt.Sprintf(phrases[i].chinese, arguments...)
	}
	return text
}

// argument translates a part of a text: a setting, a rule, or a text with its own translation.
func argument(lang, word string) string {
	if f := field.FindStringSubmatch(word); f != nil {
		return fmt.Sprintf("队列 %s 的 %s ", f[4], strings.Trim(f[1]+" "+f[2]+f[3], " "))
	}
	if words, known := rules[report.Rule(word)]; known {
		return translate(lang, words)
	}
	return advise(lang, over.ReplaceAllString(word, "（$1，应得 $2）"))
}

// issue returns the problem of an object, in a language. f is the finding of a job that cannot run, nil for other
// issues. The reason of such a job is the one that its page shows.
func issue(lang, text string, f *explain.Finding) string {
	if f != nil && lang != languages[0] {
		if strings.HasPrefix(text, "it runs") {
			return say(lang, "it runs, and cannot start again, even alone: %s", refusal(lang, f))
		}
		return say(lang, "it cannot run, even alone: %s", refusal(lang, f))
	}
	return advise(lang, text)
}
