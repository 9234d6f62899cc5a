package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
)

func TestParseHolders(t *testing.T) {
	two := []card.Entry{{Name: "A", Cards: 2}}
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
		`{"user": {"ü ,\n\"": {"A":2}}}`: {{"user", []HolderLimit{{Value: "ü ,\n\"", Cards: two}}}},
		`{"user": {"*": {"@hopper":1e18}}}`: {
			{"user", []HolderLimit{{Other: true, Cards: []card.Entry{{Name: "@hopper", Cards: card.MaxCards}}}}}},
	} {
		var v Value
		require.True(t, parseHolders(&v, text), text)
		assert.Equal(t, want, v.Holders, text)
	}
	for _, text := range []string{
		"", "null", "8", "[]", `"user"`, `{`, `{"user"}`, `{"user": {"*": {"A":2}}`, `{"user": {"*": {"A":2}}} x`,
		`{"user": 2}`, `{"user": null}`, `{"user": {"*": 2}}`, `{"user": {"*": null}}`, `{"user": []}`,
		`{"users": {"*": {"A":2}}}`, `{"User": {"*": {"A":2}}}`, `{"": {}}`, `{" user": {}}`, `{"namespace": {"*": {"A":2}}}`,
		`{"label": {}}`, `{"label:": {}}`, `{"label:a b": {}}`, `{"label:-a": {}}`, `{"label:x.y/": {}}`,
		`{"user": {"*": {"A":-1}}}`, `{"user": {"*": {"A":1.5}}}`, `{"user": {"*": {"A":"2"}}}`,
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
	assert.Contains(t, problems[0].Reason, `is not a JSON object of user, group or label:<name>`)
}

func TestCountHolderLimits(t *testing.T) {
	texts := Read(map[string]string{card.HolderKey: `{"user":{"a":{"A":1},"*":{}},"group":{"b":{"A":1}}}`, card.NamespaceKey: "{}"})
	values, problems := texts.Parse()
	require.Empty(t, problems)
	assert.Equal(t, 4, values.CountHolderLimits(true))
	assert.Equal(t, 1, values.CountHolderLimits(false), "where cards count nowhere")
	assert.Equal(t, 0, new(Values).CountHolderLimits(true))
}

// FuzzHolders expects the same values from the text and from the values written as text again, and no panic.
func FuzzHolders(f *testing.F) {
	for _, text := range []string{`{"user":{"*":{"A":2}}}`,
		`{"label:team":{"alpha":{"A":8,"@g":1},"*":{}},"group":{"":{"B":0}}}`, `{"user":{"a":{},"a":{}}}`, "{", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v Value
		ok := parseHolders(&v, text)
		again := map[string]map[string]map[string]int64{}
		require.True(t, slices.IsSortedFunc(v.Holders, func(x, y HolderLimits) int { return CompareHolderKeys(x.Key, y.Key) }))
		if !ok {
			return
		}
		for _, of := range v.Holders {
			require.True(t, of.Key == "user" || of.Key == "group" || strings.HasPrefix(of.Key, "label:"), of.Key)
			again[of.Key] = map[string]map[string]int64{}
			for _, limit := range of.Limits {
				value := limit.Value
				if limit.Other {
					require.Empty(t, value)
					value = "*"
				}
				cards := map[string]int64{}
				for _, entry := range limit.Cards {
					require.True(t, entry.Cards >= 0 && entry.Cards <= card.MaxCards)
					cards[entry.Name] = entry.Cards
				}
				require.NotContains(t, again[of.Key], value)
				again[of.Key][value] = cards
			}
		}
		written, err := json.Marshal(again)
		require.NoError(t, err)
		var w Value
		require.True(t, parseHolders(&w, string(written)), string(written))
		require.Equal(t, v.Holders, w.Holders)
	})
}
