package input

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	schema "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dns "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// bounds are the schemas of Volcano's CRDs by kind, without types, descriptions and pod templates. TestSchemas
// generates the file.
//
//go:embed schemas.json
var bounds []byte

// validators check values against the CRDs, by kind.
var validators = sync.OnceValue(func() map[string]schema.SchemaValidator {
	var versioned map[string]*apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(bounds, &versioned); err != nil {
		panic(err) // the file is a part of the program
	}

	all := map[string]schema.SchemaValidator{}
	for kind, props := range versioned {
		var internal apiextensions.JSONSchemaProps
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil)
		if err != nil {
			panic(err)
		}

		validator, _, err := schema.NewSchemaValidator(&internal)
		if err != nil {
			panic(err)
		}
		all[kind] = validator
	}

	return all
})

// invalidValues returns the values for which the API server refuses a manifest: a bad name, and values that the CRD
// does not allow.
func (d *document) invalidValues(text []byte, kind string, object metav1.Object, at *position) (all []Problem) {
	add := func(path, message string) {
		all = append(all, Problem{Source{d.File, at.line(path)}, Named(kind, object), path, message})
	}
	for _, problem := range dns.IsDNS1123Subdomain(object.GetName()) {
		add("metadata.name", fmt.Sprintf("%q: %s", object.GetName(), problem))
	}

	validator, known := validators()[kind]
	if !known {
		return all
	}

	var content map[string]any
	if json.Unmarshal(text, &content) != nil {
		return all // the decoder has reported it
	}
	for _, problem := range schema.ValidateCustomResource(nil, content, validator) {
		if problem.Type != field.ErrorTypeTypeInvalid {
			text := strings.TrimPrefix(problem.ErrorBody(), "Invalid value: ")
			add(problem.Field, strings.Replace(text, problem.Field+" in body ", "", 1))
		}
	}

	return all
}
