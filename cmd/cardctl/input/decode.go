package input

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// makers make an empty object of each supported kind.
var makers = map[string]func() metav1.Object{
	"v1 Node":                                func() metav1.Object { return &v1.Node{} },
	"v1 Pod":                                 func() metav1.Object { return &v1.Pod{} },
	"v1 ConfigMap":                           func() metav1.Object { return &v1.ConfigMap{} },
	"apps/v1 Deployment":                     func() metav1.Object { return &appsv1.Deployment{} },
	"scheduling.k8s.io/v1 PriorityClass":     func() metav1.Object { return &schedulingv1.PriorityClass{} },
	"resource.k8s.io/v1 ResourceSlice":       func() metav1.Object { return &resourcev1.ResourceSlice{} },
	"resource.k8s.io/v1 DeviceClass":         func() metav1.Object { return &resourcev1.DeviceClass{} },
	"resource.k8s.io/v1 ResourceClaim":       func() metav1.Object { return &resourcev1.ResourceClaim{} },
	"scheduling.volcano.sh/v1beta1 Queue":    func() metav1.Object { return &scheduling.Queue{} },
	"scheduling.volcano.sh/v1beta1 PodGroup": func() metav1.Object { return &scheduling.PodGroup{} },
	"batch.volcano.sh/v1alpha1 Job":          func() metav1.Object { return &batch.Job{} },
}

// document is a part of a file with its objects.
type document struct {
	Source
	text []byte // nil after decode
	yaml bool

	apiVersion, kind string // the default for an item of a list
	found            []found
}

// found is an object, an object of an unsupported kind, or a problem.
type found struct {
	line    int
	kind    string
	object  metav1.Object
	at      *position // of a manifest
	unknown []Problem // unknown and duplicate fields
	invalid []Problem // values of a manifest that the API server refuses
	skipped string    // the unsupported kind
	problem *Problem
}

var errNoObject = errors.New("not a Kubernetes object: it has no apiVersion and kind")

// decode reads the objects of a document.
func (d *document) decode() {
	text := d.text
	at := &position{text: d.text, first: d.Line}
	d.text = nil

	duplicates := map[int]string{}
	if d.yaml {
		converted, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			duplicates = duplicateKeys(err)
		}
		if len(duplicates) > 0 {
			converted, err = yaml.YAMLToJSON(text) // the last key counts, as in kubectl
		}
		if err != nil {
			line, message := syntaxProblem(err, text)
			d.fail(d.Line+line-1, Problem{Message: message})
			return
		}
		text = converted
	}

	text = bytes.TrimSpace(text)
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return // only comments
	}

	d.decodeJSON(text, d.apiVersion, d.kind, at)
	for _, line := range slices.Sorted(maps.Keys(duplicates)) {
		d.duplicate(d.Line+line-1, duplicates[line])
	}
}

// duplicate adds a problem about a duplicate key to the object around it.
func (d *document) duplicate(line int, key string) {
	for i, f := range slices.Backward(d.found) {
		if f.object != nil && (f.line <= line || i == 0) {
			problem := Problem{Source{d.File, line}, Named(f.kind, f.object), "", "duplicate field " + key}
			d.found[i].unknown = append(f.unknown, problem)
			return
		}
	}
}

func (d *document) fail(line int, problem Problem) {
	problem.Source = Source{d.File, line}
	d.found = append(d.found, found{problem: &problem})
}

// decodeJSON reads an object, or the items of a list. apiVersion and kind are the default.
func (d *document) decodeJSON(text []byte, apiVersion, kind string, at *position) {
	head := headOf(text)
	if head.kind != "" {
		apiVersion = head.apiVersion
		kind = head.kind
	}

	if text[0] != '{' || !json.Valid(text) {
		line, err := syntaxError(text)
		problem := Problem{Object: head.kind, Message: err.Error()}
		if err == errCutShort || err == errNotObject {
			problem.Object = ""
		}
		d.fail(at.first+line, problem)
		return
	}

	element, isList := strings.CutSuffix(kind, "List")
	switch {
	case head.items != nil && isList:
		for i, item := range head.items {
			d.decodeJSON(text[item.start:item.end], apiVersion, element, at.item(i))
		}
	case kind == "":
		d.fail(at.first, Problem{Message: errNoObject.Error()})
	case makers[apiVersion+" "+kind] == nil:
		d.skip(text, apiVersion, kind, at)
	default:
		d.decodeObject(text, kind, makers[apiVersion+" "+kind](), at)
	}
}

// skip skips an object of an unsupported kind, or fails if the kind is probably misspelt.
func (d *document) skip(text []byte, apiVersion, kind string, at *position) {
	field, message := misspelt(apiVersion, kind)
	if message != "" {
		d.fail(at.line(field), Problem{Object: namedIn(kind, text), Field: field, Message: message})
	} else {
		d.found = append(d.found, found{skipped: kind})
	}
}

// decodeObject reads an object of a supported kind.
func (d *document) decodeObject(text []byte, kind string, object metav1.Object, at *position) {
	// The decoder writes out all digits of 1e-2000000000.
	if card.LongExponent(text) && d.failFields(text, kind, object, at) {
		return
	}

	strict, err := kjson.UnmarshalStrict(text, object)
	if err != nil {
		if !d.failFields(text, kind, object, at) {
			d.fail(at.first, Problem{Object: namedIn(kind, text), Message: strings.TrimPrefix(err.Error(), "json: ")})
		}
		return
	}

	start := at.first
	if at.node != nil { // an item of a list in YAML
		start = at.start()
	}
	if object.GetName() == "" {
		d.fail(start, Problem{Message: kind + " without a name: metadata.name"})
		return
	}

	f := found{line: start, kind: kind, object: object}
	isManifest := object.GetUID() == ""
	if isManifest {
		if d.failNegative(kind, object, at) {
			return
		}
		f.at = at
		f.invalid = d.invalidValues(text, kind, object, at)
	}
	// In a dump, newer releases give all objects of a kind the same unknown fields.
	if isManifest || kind == "Queue" {
		f.unknown = d.strictProblems(text, kind, object, strict, at)
	}
	d.found = append(d.found, f)
}

// failFields reports the bad values of an object.
func (d *document) failFields(text []byte, kind string, object metav1.Object, at *position) (failed bool) {
	name := namedIn(kind, text)
	for _, p := range fieldProblems(text, reflect.TypeOf(object), "") {
		if !p.unknown {
			d.fail(at.line(p.path), Problem{Object: name, Field: p.path, Message: p.message})
			failed = true
		}
	}

	return failed
}

// strictProblems describes the errors of the strict decoder: unknown and duplicate fields.
func (d *document) strictProblems(
	text []byte, kind string, object metav1.Object, strict []error, at *position,
) (all []Problem) {
	if len(strict) == 0 {
		return nil
	}

	unknown := map[string]string{}
	for _, p := range fieldProblems(text, reflect.TypeOf(object), "") {
		unknown[p.path] = p.message
	}

	for _, err := range strict {
		var field kjson.FieldError
		if !errors.As(err, &field) {
			continue
		}

		path := field.FieldPath()
		message := "duplicate field"
		if !strings.HasPrefix(err.Error(), message) {
			message = cmp.Or(unknown[path], "unknown field")
		}
		all = append(all, Problem{Source{d.File, at.line(path)}, Named(kind, object), path, message})
	}

	return all
}

// Named returns the kind and the name of an object. It includes a namespace other than default.
func Named(kind string, object metav1.Object) string {
	namespace := object.GetNamespace()
	if namespace != "" && namespace != metav1.NamespaceDefault {
		return kind + "/" + namespace + "/" + object.GetName()
	}
	return kind + "/" + object.GetName()
}

// namedIn returns the kind and the name of an object that cannot be decoded as a whole.
func namedIn(kind string, text []byte) string {
	var object metav1.PartialObjectMetadata
	_ = kjson.UnmarshalCaseSensitivePreserveInts(text, &object)
	if object.Name == "" {
		return kind
	}
	return Named(kind, &object)
}

// foreign are objects of other API groups with the name of a supported kind.
var foreign = []string{"batch/v1 Job"}

// misspelt returns the field and the problem of an apiVersion or a kind that is most likely a mistake. Otherwise, it
// returns "".
func misspelt(apiVersion, kind string) (field, message string) {
	group, _, _ := strings.Cut(apiVersion, "/")
	var kinds []string // of the same apiVersion
	for _, known := range slices.Sorted(maps.Keys(makers)) {
		wantVersion, wantKind, _ := strings.Cut(known, " ")
		wantGroup, _, _ := strings.Cut(wantVersion, "/")
		if wantVersion == apiVersion && strings.HasSuffix(group, ".volcano.sh") {
			kinds = append(kinds, wantKind)
		}
		if wantKind != kind || slices.Contains(foreign, apiVersion+" "+kind) {
			continue
		}

		switch {
		case apiVersion == "":
			return "apiVersion", "is missing; use " + wantVersion
		case group == wantGroup, !strings.Contains(group, "."), index.Nearest(group, []string{wantGroup}) != "":
			return "apiVersion", fmt.Sprintf("%q is not read; use %s", apiVersion, wantVersion)
		}
	}

	if nearest := index.Nearest(kind, kinds); nearest != "" {
		return "kind", fmt.Sprintf("%q is not read; did you mean %s?", kind, nearest)
	}

	return "", ""
}
