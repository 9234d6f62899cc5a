package settings

import (
	"slices"
	"strings"
)

// draft is the dialect of the schema.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON schema, with the keywords that the annotations need.
type Schema struct {
	Dialect       string             `json:"$schema,omitempty"`
	Title         string             `json:"title,omitempty"`
	Reference     string             `json:"$ref,omitempty"`
	Description   string             `json:"description,omitempty"`
	Type          string             `json:"type,omitempty"`
	Const         string             `json:"const,omitempty"`
	Enum          []string           `json:"enum,omitempty"`
	Pattern       string             `json:"pattern,omitempty"`
	Examples      []string           `json:"examples,omitempty"`
	Minimum       *int               `json:"minimum,omitempty"`
	MaxItems      int                `json:"maxItems,omitempty"`
	Required      []string           `json:"required,omitempty"`
	PropertyNames *Schema            `json:"propertyNames,omitempty"`
	Properties    map[string]*Schema `json:"properties,omitempty"`
	Additional    *Schema            `json:"additionalProperties,omitempty"`
	Items         *Schema            `json:"items,omitempty"`
	AnyOf         []*Schema          `json:"anyOf,omitempty"`
	AllOf         []*Schema          `json:"allOf,omitempty"`
	If            *Schema            `json:"if,omitempty"`
	Then          *Schema            `json:"then,omitempty"`
	MediaType     string             `json:"contentMediaType,omitempty"`
	Content       *Schema            `json:"contentSchema,omitempty"`
	Definitions   map[string]*Schema `json:"$defs,omitempty"`
}

// The schemas of values in JSON.
var (
	zero         = 0
	wholeCards   = &Schema{Type: "integer", Minimum: &zero}
	quantities   = &Schema{Type: "string", Pattern: `^` + strings.Trim(quantity, `"`) + `$`}
	cardsContent = &Schema{
		Type: "object", PropertyNames: &Schema{Pattern: `^\s*[^\s|][^|]*$`}, Additional: wholeCards,
	}
	amountsContent = &Schema{
		Type: "object", PropertyNames: cardsContent.PropertyNames,
		Additional: &Schema{AnyOf: []*Schema{wholeCards, {Type: "string", Pattern: `^` + share + `$`}}},
	}
	requestContent = &Schema{Type: "object", PropertyNames: &Schema{Pattern: `[^\s|]`}, Additional: wholeCards}
	budgetsContent = &Schema{
		Type: "object", PropertyNames: cardsContent.PropertyNames,
		Additional: &Schema{Type: "string", Pattern: `^` + cardHours + window + `$`},
	}
	holdersContent = &Schema{
		Type: "object", PropertyNames: &Schema{Pattern: `^(namespace|user|group|` + label + `)$`},
		Additional: &Schema{Type: "object", Additional: &Schema{
			Type: "object", PropertyNames: cardsContent.PropertyNames,
			Additional: &Schema{AnyOf: []*Schema{wholeCards, quantities}},
		}},
	}
	windowsContent = &Schema{Type: "array", MaxItems: 50, Items: &Schema{
		Type: "object", Required: []string{"from", "until"},
		Properties: map[string]*Schema{
			"from": {Type: "string"}, "until": {Type: "string"}, "days": {Type: "string"}, "zone": {Type: "string"},
		},
	}}
)

// written are the annotations that the scheduler writes, by the kind of the object. An object that was read from a
// cluster can have them.
var written = map[string][]string{
	"Queue":    {"volcano.sh/card.status"},
	"PodGroup": {"volcano.sh/card.reason"},
}

// JSONSchema returns the schema of manifests of queues and workloads, as far as the table describes them. It accepts
// everything else.
func JSONSchema() *Schema {
	root := &Schema{
		Dialect: draft, Title: "Annotations of capacity-card on queues, jobs and pods", Type: "object",
		Definitions: map[string]*Schema{},
	}

	// The templates of jobs and Deployments have the annotations of pods. Jobs of Volcano have tasks with templates.
	spec := property("template", metadata("Pod"))
	spec.Properties["tasks"] = &Schema{Items: property("template", metadata("Pod"))}

	for _, kind := range []string{"Queue", "Job", "Deployment", "PodGroup", "Pod"} {
		root.Definitions[kind] = annotationsOf(kind)
		condition := property("kind", &Schema{Const: kind})
		condition.Required = []string{"kind"}

		object := metadata(kind)
		if kind == "Job" || kind == "Deployment" {
			object.Properties["spec"] = spec
		}
		root.AllOf = append(root.AllOf, &Schema{If: condition, Then: object})
	}

	return root
}

// metadata returns a schema of an object with the annotations of a kind.
func metadata(kind string) *Schema {
	return property("metadata", property("annotations", &Schema{Reference: "#/$defs/" + kind}))
}

// property returns a schema of an object with one property.
func property(name string, schema *Schema) *Schema {
	return &Schema{Properties: map[string]*Schema{name: schema}}
}

// annotationsOf returns a schema of the annotations of a kind. Other annotations that begin like the names of cards and
// trees have no effect, and so are not valid.
func annotationsOf(kind string) *Schema {
	annotations := map[string]*Schema{}
	var known []string
	for _, s := range append(In(Queue), In(Workload)...) {
		if s.Place == Queue && kind != "Queue" || s.Place == Workload && !slices.Contains(s.Objects, kind) {
			continue
		}

		annotations[s.Name] = s.schema()
		known = append(known, s.Name)
	}

	slices.Sort(known)
	known = append(known, written[kind]...)
	return &Schema{
		Properties: annotations,
		PropertyNames: &Schema{
			If:   &Schema{Pattern: `^volcano\.sh/(card|hierarchy)`},
			Then: &Schema{Enum: known},
		},
	}
}

// schema returns the schema of the text of an annotation.
func (s Setting) schema() *Schema {
	text := &Schema{Type: "string", Description: s.Effect.English, Pattern: s.Pattern, Examples: []string{s.Example}}
	if s.Content != nil {
		text.MediaType = "application/json"
		text.Content = s.Content
	}
	return text
}
