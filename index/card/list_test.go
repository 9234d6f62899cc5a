package card

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseList(t *testing.T) {
	for text, want := range map[string]List{
		"":              nil,
		" \t\n":         nil,
		"|":             nil,
		" | | ":         nil,
		"A":             {"A"},
		" A ":           {"A"},
		"A|B":           {"A", "B"},
		"B|A":           {"B", "A"},
		"A | B |C":      {"A", "B", "C"},
		"|A||B|":        {"A", "B"},
		"A|B|A| B |C|A": {"A", "B", "C"},
		"A B|C":         {"A B", "C"},
		"NVIDIA-GeForce-RTX-4090|NVIDIA-GeForce-RTX-4090-D":     {"NVIDIA-GeForce-RTX-4090", "NVIDIA-GeForce-RTX-4090-D"},
		"NVIDIA-H20/mig-1g.24gb-mixed|NVIDIA-H800/mps-80g*1/2 ": {"NVIDIA-H20/mig-1g.24gb-mixed", "NVIDIA-H800/mps-80g*1/2"},
	} {
		assert.Equal(t, want, ParseList(text), text)
	}
	assert.Equal(t, "A|B", List{"A", "B"}.String())
	assert.Equal(t, "", List(nil).String())
}

func TestParseListOfMuch(t *testing.T) {
	long := strings.Repeat("x", 4096)
	assert.Equal(t, List{long}, ParseList(long))
	assert.Equal(t, ParseList(manyNames(64)), ParseList(manyNames(300_000)), "the first 64 names")
	assert.Len(t, ParseList(manyNames(64)), 64)
}

// manyNames returns a list of n different names.
func manyNames(n int) string {
	var text strings.Builder
	for i := range n {
		for ; i >= 0; i = i/26 - 1 {
			text.WriteByte('a' + byte(i%26))
		}
		text.WriteByte('|')
	}
	return text.String()
}

func TestNameOf(t *testing.T) {
	const alias = "volcano.sh/card.card"
	for _, c := range []struct {
		annotations map[string]string
		want        List
	}{
		{nil, nil},
		{map[string]string{"volcano.sh/card.request": "A"}, nil},
		{map[string]string{NameKey: "A|B"}, List{"A", "B"}},
		{map[string]string{alias: "A|B"}, List{"A", "B"}},
		{map[string]string{NameKey: "A", alias: "B"}, List{"A"}},
		{map[string]string{NameKey: "", alias: "B"}, List{"B"}},
		{map[string]string{NameKey: " | ", alias: "B"}, List{"B"}},
		{map[string]string{NameKey: "A", alias: ""}, List{"A"}},
		{map[string]string{NameKey: "", alias: "|"}, nil},
	} {
		assert.Equal(t, c.want, NameOf(c.annotations), c.annotations)
	}
}

func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"", "A", "A|B", " A | |B|A", "||", "H200/mig-1g.18gb-mixed|H800/mps-80g*1/2", "\x80|\u00a0|卡", "\u2003A|A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := ParseList(text)
		assert.Equal(t, list, ParseList(list.String()), "ParseList parses what String writes")
		sorted := slices.Sorted(slices.Values(list))
		assert.Len(t, slices.Compact(sorted), len(list), "no name twice")
		for _, name := range list {
			assert.NotEmpty(t, name)
			assert.Equal(t, strings.TrimSpace(name), name)
			assert.NotContains(t, name, "|")
			assert.Contains(t, text, name)
		}
	})
}
