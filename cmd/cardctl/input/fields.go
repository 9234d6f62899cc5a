package input

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// fieldProblem is a problem of one field of an object.
type fieldProblem struct {
	path    string // such as spec.tasks[0].replicas or metadata.annotations[volcano.sh/card.quota]
	message string
	unknown bool // the type has no such field; otherwise the value is bad
}

// fieldProblems finds the fields of a JSON value that its type does not have, and the values of a wrong type. The
// decoder of sigs.k8s.io/json reports only the first bad value, and a bad quantity without its field.
func fieldProblems(text json.RawMessage, t reflect.Type, path string) (problems []fieldProblem) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if string(text) == "null" {
		return nil
	}

	var bad bool
	custom := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch {
	case !custom && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		members, broken := card.ReadObject(string(text))
		bad = broken != ""
		problems = memberProblems(members, t, path)
	case !custom && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var elements []json.RawMessage
		bad = json.Unmarshal(text, &elements) != nil
		for i, element := range elements {
			problems = append(problems, fieldProblems(element, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case t == reflect.TypeFor[resource.Quantity]() && card.LongExponent(text):
		bad = true // the decoder writes out all its digits
	default:
		bad = kjson.UnmarshalCaseSensitivePreserveInts(text, reflect.New(t).Interface()) != nil
	}
	if bad {
		return []fieldProblem{{path: path, message: badValue(string(text), t)}}
	}

	return problems
}

// memberProblems finds the problems of the members of a struct or a map, also of those that are repeated: the decoder
// reads them all.
func memberProblems(members []card.Member, t reflect.Type, path string) (problems []fieldProblem) {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}

	slices.SortStableFunc(members, func(x, y card.Member) int { return strings.Compare(x.Name, y.Name) })
	for _, m := range members {
		name := below(path, m.Name)
		field, ok := fields[m.Name]
		switch {
		case t.Kind() == reflect.Map:
			problems = append(problems, fieldProblems(json.RawMessage(m.Text), t.Elem(), name)...)
		case ok:
			problems = append(problems, fieldProblems(json.RawMessage(m.Text), field, name)...)
		default:
			problems = append(problems, fieldProblem{name, unknownField(m.Name, fields), true})
		}
	}

	return problems
}

func badValue(text string, t reflect.Type) string {
	message := fmt.Sprintf("%s is not %s", index.Shorten(text, 60), nameOf(t))
	if t.Kind() == reflect.String && (text == "true" || text == "false") {
		message += "; quote it, because yes, no, on, off, y and n are true or false in YAML"
	}
	return message
}

func unknownField(name string, fields map[string]reflect.Type) string {
	if nearest := index.Nearest(name, slices.Sorted(maps.Keys(fields))); nearest != "" {
		return fmt.Sprintf("unknown field; did you mean %q?", nearest)
	}
	return "unknown field"
}

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			maps.Copy(fields, fieldsOf(f.Type))
		case name == "":
			fields[f.Name] = f.Type
		case name != "-":
			fields[name] = f.Type
		}
	}

	return fields
}

// below appends a name to a path. A name with a dot is in brackets.
func below(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// nameOf describes the values of a type.
func nameOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return `a quantity such as 4, 500m or "16Gi"`
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time"
	}

	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	}

	return "a value of type " + t.String()
}
