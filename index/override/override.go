package override

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Key is the annotation of a queue.
const Key = policy.OverrideKey

// Overrides are the windows of a queue, in the order of the annotation.
type Overrides []Window

// Window is one window.
type Window struct {
	span
	sets map[string]value // by key
}

// value is the value that a window sets for one key.
type value struct {
	text   string                     // of an annotation, or of a number
	object map[string]json.RawMessage // the same as an object, nil if it is none
}

// At returns the windows that hold at a time, by their places in the list. next is the time of the next change, zero
// for never.
func (o Overrides) At(now time.Time) (holding []int, next time.Time) {
	for i, w := range o {
		holds, change := w.at(now)
		if holds {
			holding = append(holding, i)
		}
		if !change.IsZero() && (next.IsZero() || change.Before(next)) {
			next = change
		}
	}

	return holding, next
}

// Keys returns the keys that a window sets, in order.
func (w Window) Keys() []string { return slices.Sorted(maps.Keys(w.sets)) }

// Text returns the text of a key that the window sets.
func (w Window) Text(key string) string { return w.sets[key].text }

// Change reports whether the window holds at a time. next is the time of the next change, zero for never.
func (w Window) Change(now time.Time) (holds bool, next time.Time) { return w.at(now) }

// Dated reports whether the window holds once, between two dates, rather than every week.
func (w Window) Dated() bool {
	_, dated := w.span.(once)
	return dated
}

// Resources returns the resources that the window sets for a field of the spec, nil for none.
func (w Window) Resources(field string) v1.ResourceList {
	list, _ := policy.ParseResources(w.sets[field].text)
	return list
}

// Set returns the text of an annotation, or of the weight, while some windows hold. base is the text without windows.
// given is false if there is no such text.
func (o Overrides) Set(key, base string, given bool, holding []int) (text string, set bool) {
	text = base
	set = given
	for _, i := range holding {
		v, sets := o[i].sets[key]
		if !sets {
			continue
		}

		if v.object == nil || !set {
			text = v.text
			set = true
			continue
		}

		var all map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &all) != nil || all == nil {
			continue // the text has a problem, or is null
		}

		maps.Copy(all, v.object)
		merged, _ := json.Marshal(all)
		text = string(merged)
	}

	return text, set
}

// The fields of the spec that a window can set.
const (
	Capability = "capability"
	Deserved   = "deserved"
	Guarantee  = "guarantee"
	Weight     = "weight"
)

var fields = []string{Capability, Deserved, Guarantee, Weight}

// Annotations are the names of the annotations that a window can set, in order.
var Annotations = func() []string {
	all := append(policy.Keys(), card.QuotaKey, card.DeservedKey, card.GuaranteeKey)
	slices.Sort(all)

	return slices.Compact(all)
}()

// Problems returns the problems in the text of an annotation that a window can set.
func Problems(annotation, text string) []card.Problem {
	switch annotation {
	case card.QuotaKey, card.DeservedKey, card.GuaranteeKey:
		_, problems := card.ParseAmounts(text)
		return problems
	}

	return policy.Problems(map[string]string{annotation: text})
}

// maxWindows bounds the number of windows of one queue.
const maxWindows = 50

// Parse parses the annotation. With any problem, there are no windows.
func Parse(text string) (Overrides, []card.Problem) {
	var all []json.RawMessage
	err := json.Unmarshal([]byte(text), &all)
	if err != nil || all == nil {
		const example = `[{"from": "2026-12-01T00:00Z", "until": "2026-12-08T00:00Z", ` +
			`"card.quota": {"NVIDIA-H200": 32}}]`
		return nil, problem("%s is not a JSON list of windows, such as "+example, quote(text))
	}

	if len(all) > maxWindows {
		return nil, problem("%d windows are more than %d", len(all), maxWindows)
	}

	var o Overrides
	var problems []card.Problem
	for i, raw := range all {
		w, found := parseWindow(raw)
		for _, why := range found {
			problems = append(problems, problem("window %d: %s", i+1, why)...)
		}
		o = append(o, w)
	}

	if len(problems) > 0 {
		return nil, problems
	}

	return o, nil
}

// problem returns one problem of the annotation.
func problem(format string, args ...any) []card.Problem {
	return []card.Problem{{Key: Key, Reason: fmt.Sprintf(format, args...)}}
}

func quote(text string) string { return strconv.Quote(index.Shorten(text, 100)) }

// The keys of a window that state when it holds.
const (
	fromKey  = "from"
	untilKey = "until"
	daysKey  = "days"
	zoneKey  = "zone"
)

// parseWindow parses a window, and returns all its problems.
func parseWindow(raw json.RawMessage) (w Window, problems []string) {
	given, broken := card.ReadObject(string(raw))
	if broken != "" {
		return w, []string{quote(string(raw)) + " is not a JSON object"}
	}

	seen := sets.New[string]()
	for _, m := range given {
		if seen.Has(m.Name) {
			problems = append(problems, quote(m.Name)+" is given more than once")
		}
		seen.Insert(m.Name)
	}
	if len(problems) > 0 {
		return w, problems
	}

	when := map[string]string{}
	w.sets = map[string]value{}
	for _, m := range given {
		text := unquoted(m.Text)
		switch m.Name {
		case fromKey, untilKey, daysKey, zoneKey:
			when[m.Name] = text
		default:
			v, why := parseValue(m.Name, text)
			if why != "" {
				problems = append(problems, why)
			}
			w.sets[m.Name] = v
		}
	}

	if len(w.sets) == 0 {
		problems = append(problems, "it sets nothing")
	}

	var why string
	w.span, why = parseSpan(when)
	if why != "" {
		problems = append(problems, why)
	}

	return w, problems
}

// unquoted returns a JSON value as the text of an annotation: a string without its quotes.
func unquoted(raw string) string {
	text := ""
	if json.Unmarshal([]byte(raw), &text) == nil && raw != "null" {
		return strings.TrimSpace(text)
	}

	return raw
}

// parseValue parses the value of a key.
func parseValue(key, text string) (v value, problem string) {
	v.text = text
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &v.object) != nil {
		return v, fmt.Sprintf("%s: %s is not a JSON object", quote(key), quote(text))
	}

	annotation := policy.Prefix + key
	switch {
	case slices.Contains(Annotations, annotation):
		problems := Problems(annotation, text)
		if len(problems) > 0 {
			reason := strings.ReplaceAll(problems[0].Error(), strconv.Quote(annotation)+": ", "")
			return v, key + ": " + reason
		}
	case key == Weight:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return v, fmt.Sprintf("%s: %s is not a whole number above 0", key, quote(text))
		}
	case slices.Contains(fields, key):
		_, ok := policy.ParseResources(text)
		if !ok {
			return v, fmt.Sprintf(
				`%s: %s is not a JSON object of resources and quantities of 0 or more, such as {"cpu": "64"}`,
				key, quote(text))
		}
	case card.Renamed(annotation) != "":
		return v, quote(key) + " " + card.Renamed(annotation)
	default:
		return v, quote(key) + " is not a key that a window can set" + index.DidYouMean(key, known())
	}

	return v, ""
}

// known returns all keys that a window can have.
func known() []string {
	all := append([]string{fromKey, untilKey, daysKey, zoneKey}, fields...)
	for _, annotation := range Annotations {
		all = append(all, policy.Short(annotation))
	}

	return all
}
