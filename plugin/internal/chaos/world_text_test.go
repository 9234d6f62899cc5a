package chaos

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// fields splits a line at spaces. A value that begins with a double quote is a string of Go.
func fields(line string) (all []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexAny(line, " \t")
		if at := strings.Index(line, `="`); at >= 0 && (end < 0 || at < end) {
			quoted, err := strconv.QuotedPrefix(line[at+1:])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}

			value, _ := strconv.Unquote(quoted)
			all = append(all, line[:at+1]+value)
			line = line[at+1+len(quoted):]
			continue
		}

		if end < 0 {
			end = len(line)
		}
		all = append(all, line[:end])
		line = line[end:]
	}

	return all, nil
}

// field is a word of a line, as fields reads it again.
func field(key, value string) string {
	if value == "" || strings.ContainsAny(value, " \t\n") || strings.HasPrefix(value, `"`) {
		value = strconv.Quote(value)
	}
	return " " + key + "=" + value
}

// words are the words of a command.
type words struct {
	command string
	rest    []string
	err     error
}

// next returns the next word, which the command needs.
func (w *words) next(what string) string {
	if len(w.rest) == 0 {
		w.fail("needs %s", what)
		return ""
	}

	word := w.rest[0]
	w.rest = w.rest[1:]
	return word
}

// fail keeps the first problem.
func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: "+format, append([]any{w.command}, args...)...)
	}
}

// each calls set for each of the other words, as a key and a value. A word alone has the value
// "true". set reports whether it knows the key.
func (w *words) each(set func(key, value string) bool) {
	for _, word := range w.rest {
		key, value, given := strings.Cut(word, "=")
		if !given {
			value = "true"
		}

		if !set(key, value) {
			w.fail("does not know %s", word)
		}
	}

	w.rest = nil
}

func (w *words) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		w.fail("%q is no number", text)
	}
	return n
}

func (w *words) flag(text string) bool {
	b, err := strconv.ParseBool(text)
	if err != nil {
		w.fail("%q is neither true nor false", text)
	}
	return b
}

// none is the text of a list that is set and empty.
const none = "none"

// pairs reads a list such as A:8,B:4.
func pairs(text string) (names, values []string, err error) {
	if text == none {
		return nil, nil, nil
	}

	for _, entry := range strings.Split(text, ",") {
		at := strings.LastIndex(entry, ":")
		if at <= 0 {
			return nil, nil, errors.New(entry + " is not a name and a value, such as A:8")
		}
		names, values = append(names, entry[:at]), append(values, entry[at+1:])
	}

	return names, values, nil
}

// resources reads a list of resources, such as cpu:500m,memory:8Gi,nvidia.com/gpu:8.
func (w *words) resources(text string) workload.Resources {
	names, values, err := pairs(text)
	if err != nil {
		w.fail("%v", err)
	}
	all := workload.Resources{}
	for i, name := range names {
		amount, err := resource.ParseQuantity(values[i])
		if err != nil {
			w.fail("%s: %v", text, err)
		}
		all[name] = amount.Value()
		if name == "cpu" {
			all[name] = amount.MilliValue()
		}
	}

	return all
}

// resourceText formats resources as the method resources reads them.
func resourceText(r workload.Resources) string {
	if len(r) == 0 {
		return none
	}

	var all []string
	for _, name := range slices.SortedFunc(maps.Keys(r), compareResources) {
		amount := *resource.NewQuantity(r[name], resource.DecimalSI)
		switch name {
		case "cpu":
			amount = *resource.NewMilliQuantity(r[name], resource.DecimalSI)
		case "memory":
			amount = *resource.NewQuantity(r[name], resource.BinarySI)
		}
		all = append(all, name+":"+amount.String())
	}

	return strings.Join(all, ",")
}

// compareResources puts cpu and memory first.
func compareResources(x, y string) int {
	rank := func(name string) int { return slices.Index([]string{"", "memory", "cpu"}, name) }
	return cmp.Or(max(0, rank(y))-max(0, rank(x)), strings.Compare(x, y))
}

// labels reads a list of labels, such as nvidia.com/gpu.product:A.
func (w *words) labels(text string) map[string]string {
	names, values, err := pairs(text)
	if err != nil {
		w.fail("%v", err)
	}
	all := map[string]string{}
	for i, name := range names {
		all[name] = values[i]
	}

	return all
}

func labelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+":"+labels[key])
	}
	return cmp.Or(strings.Join(all, ","), none)
}

// annotation is the value of an annotation: a list such as A:8,B:4 stands for an object of JSON.
func annotation(text string) string {
	names, values, err := pairs(text)
	if err != nil || strings.ContainsAny(text, `{}"`) {
		return text
	}

	all := []string{}
	for i, name := range names {
		key, _ := json.Marshal(name)
		value := values[i]
		if !json.Valid([]byte(value)) {
			quoted, _ := json.Marshal(value)
			value = string(quoted)
		}
		all = append(all, string(key)+":"+value)
	}

	return "{" + strings.Join(all, ",") + "}"
}

// annotationText formats an annotation as the function annotation reads it.
func annotationText(value string) string {
	if value == "{}" {
		return none
	}
	if short := strings.NewReplacer("{", "", "}", "", `"`, "").Replace(value); annotation(short) == value {
		return short
	}
	return value
}
