package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/index/card"
)

func TestParseHolders(t *testing.T) {
	two := []card.Entry{{Name: "A", Cards: 2}}
	cpu := v1.ResourceList{"cpu": resource.MustParse("64")}
	for text, want := range map[string][]HolderLimits{
		`{}`:                       nil,
		`{"user": {}}`:             nil,
		`{"user": {"*": {"A":2}}}`: {{"user", []HolderLimit{{Other: true, Cards: two}}}},
		` { "group" : { "b" : {"A":2}, "a": {} } } `: {{"group", []HolderLimit{{Value: "a"}, {Value: "b", Cards: two}}}},
		`{"user": {"": {"A":2}, "*": {"A":2}}}`:      {{"user", []HolderLimit{{Cards: two}, {Other: true, Cards: two}}}},
		`{"label:x.y/team": {"b": {"A":2}}, "label:a": {"b": {"A":2}}, "group": {"b": {"A":2}}, "user": {"b": {"A":2}}}`: {
			{"user", []HolderLimit{{Value: "b", Cards: two}}}, {"group", []HolderLimit{{Value: "b", Cards: two}}},
			{"label:a", []HolderLimit{{Value: "b", Cards: two}}}, {"label:x.y/team", []HolderLimit{{Value: "b", Cards: two}}},
		},
		`{"namespace": {"a": {"cpu":"64"}, "*": {"A":2, " cpu":"64"}}, "user": {"b": {"A":2}}}`: {
			{"namespace", []HolderLimit{{Other: true, Cards: two, Resources: cpu}, {Value: "a", Resources: cpu}}}, {"user", []HolderLimit{{Value: "b", Cards: two}}}},
		`{"user": {"ü ,\n\"": {"A":2}}}`: {{"user", []HolderLimit{{Value: "ü ,\n\"", Cards: two}}}},
		`{"user": {"*": {"@hopper":1e18}}}`: {
			{"user", []HolderLimit{{Other: true, Cards: []card.Entry{{Name: "@hopper", Cards: card.MaxCards}}}}}},
	} {
		var v Value
		require.True(t, parseHolders(&v, text), text)
		assert.True(t, equality.Semantic.DeepEqual(want, v.Holders), "%s: %+v", text, v.Holders)
	}
	for _, text := range []string{
		"", "null", "8", "[]", `"user"`, `{`, `{"user"}`, `{"user": {"*": {"A":2}}`, `{"user": {"*": {"A":2}}} x`,
		`{"user": 2}`, `{"user": null}`, `{"user": {"*": 2}}`, `{"user": {"*": null}}`, `{"user": []}`,
		`{"users": {"*": {"A":2}}}`, `{"User": {"*": {"A":2}}}`, `{"": {}}`, `{" user": {}}`, `{"Namespace": {"*": {"A":2}}}`,
		`{"label": {}}`, `{"label:": {}}`, `{"label:a b": {}}`, `{"label:-a": {}}`, `{"label:x.y/": {}}`,
		`{"user": {"*": {"A":-1}}}`, `{"user": {"*": {"A":1.5}}}`,
		`{"user": {"*": {"cpu":"-1"}}}`, `{"user": {"*": {"cpu":"many"}}}`, `{"user": {"*": {"cpu":""}}}`, `{"user": {"*": {"memory":"1e30"}}}`,
		`{"user": {"*": {"memory":"1e2000000000"}}}`, `{"user": {"*": {"memory":"-1e2000000000"}}}`,
		`{"user": {"*": {"cpu":"1e-2000000000"}}}`, `{"user": {"*": {"cpu":"12345678901234567890e2000000000"}}}`,
		`{"user": {"*": {" ":"1"}}}`, `{"user": {"*": {"cpu":"1", "cpu ":"1"}}}`, `{"user": {"*": {"cpu":"1", "cpu":1}}}`, `{"user": {"*": {"cpu":["1"]}}}`,
		`{"user": {"*": {"A|B":1}}}`, `{"user": {"*": {"":1}}}`,
		`{"user": {"*": {"A":1, "A":1}}}`, `{"user": {"a": {"A":1}, "a": {"A":1}}}`, `{"user": {"a": {"A":1}}, "user": {"b": {"A":1}}}`,
		`{"user": {"a": {"A":1}, "\u0061": {"A":1}}}`,
		`{"user": {"a": {"A":1}}, "group": {"a": {"A":-1}}}`,
	} {
		assert.False(t, parseHolders(&Value{}, text), text)
	}
}

func TestHolderProblem(t *testing.T) {
	problems := Problems(map[string]string{card.HolderKey: `{"users":{}}`})
	require.Len(t, problems, 1)
	assert.Equal(t, card.HolderKey, problems[0].Key)
	assert.Contains(t, problems[0].Reason, `is not a JSON object of namespace, user, group or label:<name>`)
}

func TestCountHolderLimits(t *testing.T) {
	values, wrong := Parse(map[string]string{card.HolderKey: `{"user":{"a":{"A":1},"*":{}},"group":{"b":{"A":1, "cpu":"1"}},"namespace":{"*":{"cpu":"1"}}}`})
	require.Empty(t, wrong)
	assert.Equal(t, 3, values.CountHolderLimits(true), "a limit of nothing bounds nothing")
	assert.Equal(t, 2, values.CountHolderLimits(false), "where cards count nowhere")
	assert.Equal(t, 0, new(Values).CountHolderLimits(true))
}

// FuzzHolders expects the same values from the text and from the values written as text again, and no panic.
func FuzzHolders(f *testing.F) {
	for _, text := range []string{`{"user":{"*":{"A":2}}}`,
		`{"label:team":{"alpha":{"A":8,"@g":1},"*":{}},"group":{"":{"B":0}}}`, `{"user":{"a":{},"a":{}}}`, "{", "",
		`{"namespace":{"*":{"A":2,"cpu":"1.5","memory":"64Gi"}}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v Value
		ok := parseHolders(&v, text)
		again := map[string]map[string]map[string]any{}
		require.True(t, slices.IsSortedFunc(v.Holders, func(x, y HolderLimits) int { return CompareHolderKeys(x.Key, y.Key) }))
		if !ok {
			return
		}
		for _, of := range v.Holders {
			require.True(t, of.Key == "namespace" || of.Key == "user" || of.Key == "group" || strings.HasPrefix(of.Key, "label:"), of.Key)
			again[of.Key] = map[string]map[string]any{}
			for _, limit := range of.Limits {
				value := limit.Value
				if limit.Other {
					require.Empty(t, value)
					value = "*"
				}
				cards := map[string]any{}
				for _, entry := range limit.Cards {
					require.True(t, entry.Cards >= 0 && entry.Cards <= card.MaxCards)
					cards[entry.Name] = entry.Cards
				}
				for name, quantity := range limit.Resources {
					require.GreaterOrEqual(t, quantity.Sign(), 0)
					if _, twice := cards[string(name)]; twice {
						return // a card and a resource of one name, with other space around it
					}
					cards[string(name)] = quantity.String()
				}
				require.NotContains(t, again[of.Key], value)
				again[of.Key][value] = cards
			}
		}
		written, err := json.Marshal(again)
		require.NoError(t, err)
		var w Value
		require.True(t, parseHolders(&w, string(written)), string(written))
		require.True(t, equality.Semantic.DeepEqual(v.Holders, w.Holders), string(written))
	})
}
