package settings_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// TestTable expects that each setting has all that pages and commands show of it.
func TestTable(t *testing.T) {
	places := map[string]int{}
	for _, s := range settings.All() {
		assert.NotEmpty(t, s.Effect.Chinese, s.Name)
		assert.NotEmpty(t, s.Values.English, s.Name)
		assert.NotEqual(t, settings.Default{}, s.Default, s.Name)
		assert.Contains(t, settings.Levels, s.Level, s.Name)
		assert.NotEmpty(t, s.Since, s.Name)
		assert.Contains(t, s.Page, ".md", s.Name)
		assert.Equal(t, s.Place != settings.Argument, strings.HasPrefix(s.Name, settings.Prefix), s.Name)
		assert.Equal(t, s.Place == settings.Workload, len(s.Objects) > 0, s.Name)
		assert.Equal(t, s.Stability == "", strings.HasPrefix(s.Since, "Volcano "), s.Name)
		for sentence := range strings.SplitSeq(s.Effect.English, ". ") {
			assert.LessOrEqual(t, len(strings.Fields(sentence)), 25, s.Name)
		}
		places[s.Name]++
	}
	for name, n := range places {
		assert.Len(t, settings.Named(name), n)
		assert.Len(t, settings.Named(strings.TrimPrefix(name, settings.Prefix)), n)
	}
}

// TestCount bounds the settings, since each is a promise. Three arguments are Volcano's own.
func TestCount(t *testing.T) {
	names := map[string]bool{}
	for _, s := range settings.All() {
		names[s.Name] = true
	}
	for _, name := range []string{arguments.AncestorReclaimLevel, arguments.DeviceCapacities, arguments.DeviceQuotas} {
		require.True(t, names[name], name)
		delete(names, name)
	}
	assert.LessOrEqual(t, len(names), 53)
}

// objectKeys are the kinds of objects with annotations that package card checks, and the names that it knows.
var objectKeys = map[string]card.Keys{
	"Job": card.JobKeys, "Deployment": card.JobKeys, "Pod": card.PodKeys, "PodGroup": card.PodKeys,
}

// TestObjects compares the kinds of objects that have annotations of cards with package card.
func TestObjects(t *testing.T) {
	for _, s := range settings.In(settings.Workload) {
		if !strings.HasPrefix(s.Name, card.Prefix) {
			continue
		}
		for kind, keys := range objectKeys {
			assert.Equal(t, slices.Contains(keys, s.Name), slices.Contains(s.Objects, kind), "%s of %s", s.Name, kind)
		}
	}
}

// resolve returns a schema of the table for a validator.
func resolve(t *testing.T, described *settings.Schema) *jsonschema.Resolved {
	t.Helper()
	text, err := json.Marshal(described)
	require.NoError(t, err)
	schema := &jsonschema.Schema{}
	require.NoError(t, json.Unmarshal(text, schema), string(text))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err, string(text))
	return resolved
}

// TestContents validates the examples against the schemas of their JSON, and some wrong texts.
func TestContents(t *testing.T) {
	for _, s := range settings.All() {
		if s.Content == nil {
			continue
		}

		schema := resolve(t, s.Content)
		validate := func(text string) error {
			var content any
			require.NoError(t, json.Unmarshal([]byte(text), &content), s.Name)
			return schema.Validate(content)
		}
		assert.NoError(t, validate(s.Example), s.Name)
		for _, wrong := range []string{`[1]`, `{"A": -1}`, `{"A": {"B": true}}`, `"A"`} {
			assert.Error(t, validate(wrong), "%s: %s", s.Name, wrong)
		}
	}
}

// TestDocuments validates whole manifests against the schema that editors use: every example of the table, and typing
// errors in the names and values of annotations.
func TestDocuments(t *testing.T) {
	schema := resolve(t, settings.JSONSchema())
	annotated := func(kind, name, value string) map[string]any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"annotations": map[string]any{name: value}}}
	}
	for _, s := range settings.In(settings.Queue) {
		assert.NoError(t, schema.Validate(annotated("Queue", s.Name, s.Example)), s.Name)
	}
	for _, s := range settings.In(settings.Workload) {
		for _, kind := range s.Objects {
			assert.NoError(t, schema.Validate(annotated(kind, s.Name, s.Example)), "%s of %s", s.Name, kind)
		}
	}

	template := map[string]any{"template": annotated("", policy.ExpectedRuntimeKey, "soon")}
	for name, test := range map[string]struct {
		object any
		valid  bool
	}{
		"another annotation":       {annotated("Queue", "example.com/owner", "me"), true},
		"another kind":             {annotated("Service", "volcano.sh/card.nam", "A"), true},
		"written by the scheduler": {annotated("Queue", card.StatusKey, "{}"), true},
		"written on a PodGroup":    {annotated("PodGroup", card.ReasonKey, "{}"), true},
		"written on another kind":  {annotated("Queue", card.ReasonKey, "{}"), false},
		"a typing error":           {annotated("Queue", "volcano.sh/card.qouta", `{"A": 1}`), false},
		"a name of pods":           {annotated("Queue", card.NameKey, "A"), false},
		"a word":                   {annotated("Queue", policy.OrderKey, "lifo"), false},
		"a time without a unit":    {annotated("Queue", policy.InqueueTimeoutKey, "30"), false},
		"a pod":                    {annotated("Pod", policy.ExpectedRuntimeKey, "soon"), false},
		"a template":               {map[string]any{"kind": "Deployment", "spec": template}, false},
		"a template of a task":     {map[string]any{"kind": "Job", "spec": map[string]any{"tasks": []any{template}}}, false},
		"a job without templates":  {map[string]any{"kind": "Job", "spec": map[string]any{"tasks": []any{}}}, true},
	} {
		err := schema.Validate(test.object)
		assert.Equal(t, test.valid, err == nil, "%s: %v", name, err)
	}
}
