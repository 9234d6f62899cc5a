package input

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// makers make an empty object of each kind that is read.
var makers = map[string]func() metav1.Object{
	"v1 Node":                                func() metav1.Object { return &v1.Node{} },
	"v1 Pod":                                 func() metav1.Object { return &v1.Pod{} },
	"v1 ConfigMap":                           func() metav1.Object { return &v1.ConfigMap{} },
	"apps/v1 Deployment":                     func() metav1.Object { return &appsv1.Deployment{} },
	"scheduling.k8s.io/v1 PriorityClass":     func() metav1.Object { return &schedulingv1.PriorityClass{} },
	"scheduling.volcano.sh/v1beta1 Queue":    func() metav1.Object { return &scheduling.Queue{} },
	"scheduling.volcano.sh/v1beta1 PodGroup": func() metav1.Object { return &scheduling.PodGroup{} },
	"batch.volcano.sh/v1alpha1 Job":          func() metav1.Object { return &batch.Job{} },
}

// document is a piece of a file and the objects found in it.
type document struct {
	Source
	text []byte // nil once it was decoded
	err  error  // why text cannot be decoded, where that is known
	yaml bool

	apiVersion, kind string // of its list, for items without their own
	found            []found
}

// found is an object, or why there is none.
type found struct {
	object  metav1.Object
	skipped string // kind of an object that is not read
	problem string
}

var errNoObject = errors.New("not a Kubernetes object: it has no apiVersion and kind")

// decode reads the objects of a document.
func (d *document) decode() {
	text := d.text
	d.text = nil
	if d.yaml {
		converted, err := yaml.YAMLToJSON(text)
		if err != nil {
			d.fail(inFile(err, d.Line))
			return
		}
		text = converted
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return // only comments
	}
	d.decodeJSON(text, d.err, d.apiVersion, d.kind)
}

func (d *document) fail(message string) { d.found = append(d.found, found{problem: message}) }

func (d *document) decodeJSON(text []byte, err error, apiVersion, kind string) {
	head, headErr := newStream(text).head(false)
	if head.kind != "" {
		apiVersion, kind = head.apiVersion, head.kind
	}
	switch err := cmp.Or(err, headErr); {
	case errors.Is(err, errCutShort), errors.Is(err, errNotObject), err != nil && head.kind == "":
		d.fail(err.Error())
		return
	case err != nil:
		d.fail(head.kind + ": " + err.Error())
		return
	}
	if head.items != nil && strings.HasSuffix(kind, "List") {
		for _, item := range head.items {
			d.decodeJSON(item.text, item.err, apiVersion, strings.TrimSuffix(kind, "List"))
		}
		return
	}
	if kind == "" {
		d.fail(errNoObject.Error())
		return
	}
	make := makers[apiVersion+" "+kind]
	if make == nil {
		d.found = append(d.found, found{skipped: kind})
		return
	}
	object := make()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, object); err != nil {
		d.fail(fmt.Sprintf("%s %s: %s", kind, nameIn(text), strings.TrimPrefix(err.Error(), "json: ")))
		return
	}
	if object.GetName() == "" {
		d.fail(kind + " without a name: metadata.name")
		return
	}
	d.found = append(d.found, found{object: object})
}

// nameIn is the name of an object that could not be read as a whole.
func nameIn(text []byte) string {
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(text, &object)
	return object.Metadata.Name
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line|control characters|unmarshal errors:\s+line) (\d+):? ?`)

// inFile rewrites the line in an error of the YAML parser, which counts within
// its document, to that of the file.
func inFile(err error, first int) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if line, bad := strconv.Atoi(m[1]); bad == nil {
			return fmt.Sprintf("line %d: %s", first+line-1, strings.TrimPrefix(text, m[0]))
		}
	}
	return strings.TrimPrefix(text, "yaml: ")
}
