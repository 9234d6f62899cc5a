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

// parser reads arguments one by one, and collects a problem for each that is wrong.
type parser struct {
	arguments framework.Arguments
	within    string // begins the name of each key in problems: "fairShare: " for the keys of this argument
	problems  []string
}

// has reports whether an argument is given.
func (p *parser) has(key string) bool {
	_, given := p.arguments[key]
	return given
}

func (p *parser) problem(format string, values ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, values...))
}

// wrong adds the problem of an argument that has the wrong type or value.
func (p *parser) wrong(key, want string, byDefault any) {
	given := p.arguments[key]
	p.problem("argument %s%s: %v (%T) is not %s, using %v", p.within, key, given, given, want, byDefault)
}

// inner returns a parser of the keys of an argument that is a map. Without the argument, the map is empty.
func (p *parser) inner(key, want string) *parser {
	inner := &parser{within: key + ": "}
	if !p.has(key) {
		return inner
	}

	entries, ok := mapOf(p.arguments[key])
	if !ok {
		p.wrong(key, want, "none")
	}
	inner.arguments = entries
	return inner
}

// unknown adds a problem for each argument that is not one of the known.
func (p *parser) unknown(known []string) {
	for _, key := range slices.Sorted(maps.Keys(p.arguments)) {
		now, old := renamed[key]
		switch {
		case old:
			p.problem("argument %s%s is %s now", p.within, key, now)
		case !slices.Contains(known, key):
			p.problem("argument %s%s is unknown and ignored; known are %s", p.within, key, strings.Join(known, ", "))
		}
	}
}

// without returns false. It adds a problem if an argument is set that a plugin does not have.
func (p *parser) without(v Variant, key string, set bool) bool {
	if set {
		p.problem("argument %s has no effect: the plugin %s evicts as Volcano's does", key, v.Name)
	}
	return false
}

// oneOf reads one of some words, the first by default.
func oneOf[T ~string](p *parser, key string, words ...T) T {
	if !p.has(key) {
		return words[0]
	}
	if word, ok := p.arguments[key].(string); ok && slices.Contains(words, T(word)) {
		return T(word)
	}

	var known []string
	for _, word := range words {
		known = append(known, string(word))
	}
	p.wrong(key, "one of "+strings.Join(known, ", "), words[0])
	return words[0]
}

// words reads a list of words, or a text of words with commas in between.
func (p *parser) words(key, byDefault string) (words []string) {
	if !p.has(key) {
		return []string{byDefault}
	}

	given := p.arguments[key]
	if list := reflect.ValueOf(given); list.Kind() == reflect.Slice {
		for i := range list.Len() {
			words = append(words, strings.TrimSpace(fmt.Sprint(list.Index(i).Interface())))
		}
	} else if text, ok := given.(string); ok {
		for word := range strings.SplitSeq(text, ",") {
			words = append(words, strings.TrimSpace(word))
		}
	}

	if len(words) == 0 || slices.Contains(words, "") {
		p.wrong(key, "a list of cards and resources", byDefault)
		return []string{byDefault}
	}
	return words
}

// flag reads a boolean.
func (p *parser) flag(key string, byDefault bool) bool {
	if !p.has(key) {
		return byDefault
	}

	switch given := p.arguments[key].(type) {
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

// entries reads a map, in the order of its keys. take returns the problem of an entry, "" for none.
func (p *parser) entries(key, want string, take func(entry string, value any) (wrong string)) {
	if !p.has(key) {
		return
	}

	entries, ok := mapOf(p.arguments[key])
	if !ok {
		p.wrong(key, want, "none")
		return
	}

	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if wrong := take(name, entries[name]); wrong != "" {
			p.problem("argument %s%s: %s: %s, ignored", p.within, key, name, wrong)
		}
	}
}

// mapped reads a map without its wrong entries, nil for none. parse returns the problem of a value, "" for none.
func mapped[K ~string, V any](p *parser, key, want string,
	parse func(entry K, value any) (V, string)) (values map[K]V) {
	p.entries(key, want, func(entry string, given any) string {
		value, wrong := parse(K(entry), given)
		if wrong != "" {
			return wrong
		}

		if values == nil {
			values = map[K]V{}
		}
		values[K(entry)] = value
		return ""
	})
	return values
}

// mapOf returns a map of any type by the text of its keys, and whether x is a map.
func mapOf(x any) (entries map[string]any, ok bool) {
	value := reflect.ValueOf(x)
	if value.Kind() != reflect.Map {
		return nil, false
	}

	entries = make(map[string]any, value.Len())
	for _, key := range value.MapKeys() {
		entries[fmt.Sprint(key.Interface())] = value.MapIndex(key).Interface()
	}
	return entries, true
}

// positive reads a number above 0.
func (p *parser) positive(key string, byDefault float64) float64 {
	if !p.has(key) {
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
	if !p.has(key) {
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
	if !p.has(key) {
		return byDefault
	}

	text, _ := p.arguments[key].(string)
	if value, ok := policy.ParseDuration(text); ok {
		return value
	}

	p.wrong(key, policy.WantDuration, byDefault)
	return byDefault
}

// number returns the value of an argument, NaN if it is not a number.
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
