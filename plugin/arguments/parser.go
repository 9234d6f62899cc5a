package arguments

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/policy"
)

// parser reads values one by one, and collects those that are wrong.
type parser struct {
	arguments framework.Arguments
	problems  []string
}

func (p *parser) wrong(key, want string, byDefault any) {
	given := p.arguments[key]
	p.problems = append(p.problems, fmt.Sprintf("argument %s: %v (%T) is not %s, using %v", key, given, given, want, byDefault))
}

// unknown notes the arguments that do not exist.
func (p *parser) unknown() {
	for _, key := range slices.Sorted(maps.Keys(p.arguments)) {
		if !slices.Contains(Known, key) {
			p.problems = append(p.problems, fmt.Sprintf("argument %s is unknown and ignored; known are %s",
				key, strings.Join(Known, ", ")))
		}
	}
}

// oneOf reads one of some words, the first by default.
func oneOf[T ~string](p *parser, key string, words ...T) T {
	given, ok := p.arguments[key]
	if !ok {
		return words[0]
	}
	if word, ok := given.(string); ok && slices.Contains(words, T(word)) {
		return T(word)
	}
	var known []string
	for _, word := range words {
		known = append(known, string(word))
	}
	p.wrong(key, "one of "+strings.Join(known, ", "), words[0])
	return words[0]
}

// words reads a list of words, or one word.
func (p *parser) words(key, byDefault string) (words []string) {
	given, ok := p.arguments[key]
	if !ok {
		return []string{byDefault}
	}
	if of := reflect.ValueOf(given); of.Kind() == reflect.Slice {
		for i := range of.Len() {
			words = append(words, strings.TrimSpace(fmt.Sprint(of.Index(i).Interface())))
		}
	} else if text, ok := given.(string); ok {
		for word := range strings.SplitSeq(text, ",") {
			words = append(words, strings.TrimSpace(word))
		}
	}
	for _, word := range words {
		if word == "" {
			words = nil
		}
	}
	if len(words) == 0 {
		p.wrong(key, "a list of cards and resources", byDefault)
		return []string{byDefault}
	}
	return words
}

// flag reads a boolean.
func (p *parser) flag(key string, byDefault bool) bool {
	switch given := p.arguments[key].(type) {
	case nil:
		if _, ok := p.arguments[key]; !ok {
			return byDefault
		}
	case bool:
		return given
	case string:
		if value, err := strconv.ParseBool(given); err == nil {
			return value
		}
	}
	p.wrong(key, "true or false", byDefault)
	return byDefault
}

// without returns false, with a problem where an argument is set that a plugin does not have.
func (p *parser) without(v Variant, key string, set bool) bool {
	if set {
		p.problems = append(p.problems, fmt.Sprintf("argument %s has no effect: the plugin %s evicts as Volcano's does", key, v.Name))
	}
	return false
}

// entries reads a map. Entries that take finds something wrong with are left out.
func (p *parser) entries(key, want string, take func(entry string, value any) (wrong string)) {
	given, ok := p.arguments[key]
	if !ok {
		return
	}
	entries, ok := mapOf(given)
	if !ok {
		p.wrong(key, want, "none")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if wrong := take(name, entries[name]); wrong != "" {
			p.problems = append(p.problems, fmt.Sprintf("argument %s: %s: %s, ignored", key, name, wrong))
		}
	}
}

// mapOf returns a map of any type by the text of its keys, and whether x is one.
func mapOf(x any) (entries map[string]any, ok bool) {
	of := reflect.ValueOf(x)
	if of.Kind() != reflect.Map {
		return nil, false
	}
	entries = make(map[string]any, of.Len())
	for _, key := range of.MapKeys() {
		entries[fmt.Sprint(key.Interface())] = of.MapIndex(key).Interface()
	}
	return entries, true
}

// positive reads a number above 0.
func (p *parser) positive(key string, byDefault float64) float64 {
	if _, ok := p.arguments[key]; !ok {
		return byDefault
	}
	if value := p.number(key); value > 0 && !math.IsInf(value, 0) {
		return value
	}
	p.wrong(key, "a number above 0", byDefault)
	return byDefault
}

// count reads a whole number, 0 by default.
func (p *parser) count(key string) int {
	if _, ok := p.arguments[key]; !ok {
		return 0
	}
	if value := p.number(key); value >= 0 && value <= math.MaxInt32 && value == math.Trunc(value) {
		return int(value)
	}
	p.wrong(key, "a whole number, 0 or more", 0)
	return 0
}

// duration reads a duration.
func (p *parser) duration(key string, byDefault time.Duration) time.Duration {
	if _, ok := p.arguments[key]; !ok {
		return byDefault
	}
	text, _ := p.arguments[key].(string)
	if value, ok := policy.ParseDuration(text); ok {
		return value
	}
	p.wrong(key, policy.WantDuration, byDefault)
	return byDefault
}

// number returns the value of a key, NaN for one that is not a number.
func (p *parser) number(key string) float64 { return numberOf(p.arguments[key]) }

func numberOf(given any) float64 {
	switch given := given.(type) {
	case int:
		return float64(given)
	case float64:
		return given
	case string:
		if value, err := strconv.ParseFloat(given, 64); err == nil {
			return value
		}
	}
	return math.NaN()
}
