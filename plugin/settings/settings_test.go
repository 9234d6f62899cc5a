package settings_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/capacity-card/capacity-card/index/card"
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
		assert.Equal(t, s.Volcanos(), strings.HasPrefix(s.Since, "Volcano "), s.Name)
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

// objectKeys are the kinds of objects whose annotations package card checks, with the names that it knows.
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

// TestContents validates the examples against the schemas of their JSON, and some wrong texts.
func TestContents(t *testing.T) {
	for _, s := range settings.All() {
		if s.Content == nil {
			continue
		}
		text, err := json.Marshal(s.Content)
		require.NoError(t, err)
		schema := &spec.Schema{}
		require.NoError(t, json.Unmarshal(text, schema), s.Name)
		valid := func(value string) bool {
			var content any
			require.NoError(t, json.Unmarshal([]byte(value), &content), s.Name)
			return validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(content).IsValid()
		}
		assert.True(t, valid(s.Example), s.Name)
		for _, wrong := range []string{`[1]`, `{"A": -1}`, `{"A": {"B": true}}`, `"A"`} {
			assert.False(t, valid(wrong), "%s: %s", s.Name, wrong)
		}
	}
}
