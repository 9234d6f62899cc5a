package mutate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestListApplies expects a place for each mutant of the list, and at most 250 of them: a list that nobody can read
// protects nothing.
func TestListApplies(t *testing.T) {
	mutants, err := parse(list)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(mutants), 250)

	m, err := readModule("../..")
	require.NoError(t, err)
	for _, change := range mutants {
		_, err := m.body(change)
		assert.NoError(t, err)
		assert.DirExists(t, filepath.Join("../..", change.dir), "%s", change)
	}
}

// source has a function for each operator.
const source = `package quota

func conditions(a, b int) int {
	if a < b {
		return 1
	}

	for a > b && a > 0 {
		a--
	}
	switch {
	case a == b:
		return 2
	}
	return min(a+b, 3)
}

func (t *Tree[Q]) charge(q int) {
	for _, p := range t.Path(q) {
		t.count(p)
		t.sum += p
	}
}
`

func TestOperators(t *testing.T) {
	m := moduleOf(t, source)
	for _, c := range []struct {
		function, operator string
		place              int
		becomes            string
	}{
		{"quota.conditions", "always", 1, "if (a < b) || true {"},
		{"quota.conditions", "never", 2, "for (a > b && a > 0) && false {"},
		{"quota.conditions", "never", 3, "case (a == b) && false:"},
		{"quota.conditions", "left", 1, "for a > b && ((a > 0) || true) {"},
		{"quota.conditions", "right", 1, "for ((a > b) || true) && a > 0 {"},
		{"quota.conditions", "boundary", 1, "if a <= b {"},
		{"quota.conditions", "boundary", 4, "case a != b:"},
		{"quota.conditions", "drop", 1, "if false { a-- }"},
		{"quota.conditions", "sign", 1, "min(a-b, 3)"},
		{"quota.conditions", "minmax", 1, "max(a+b, 3)"},
		{"quota.Tree.charge", "own", 1, "range t.Path(q)[:1] {"},
		{"quota.Tree.charge", "drop", 1, "if false { t.count(p) }"},
		{"quota.Tree.charge", "drop", 2, "if false { t.sum += p }"},
		{"quota.Tree.charge", "sign", 1, "t.sum -= p"},
	} {
		body, err := m.body(mutant{function: c.function, operator: c.operator, place: c.place})
		require.NoError(t, err)
		assert.Contains(t, body, c.becomes)
		assert.NotContains(t, source, c.becomes)
	}
}

func TestPlacesThatAreNotThere(t *testing.T) {
	m := moduleOf(t, source)
	for says, change := range map[string]mutant{
		"no such function":                 {function: "quota.Fits", operator: "drop", place: 1},
		"the operators are [always":        {function: "quota.conditions", operator: "invert", place: 1},
		"the function has 1 such places":   {function: "quota.conditions", operator: "drop", place: 2},
		"the function has 1 such places\n": {function: "quota.conditions", operator: "minmax", place: 0},
	} {
		_, err := m.body(change)
		assert.ErrorContains(t, err, strings.TrimSpace(says))
	}
}

func TestMerge(t *testing.T) {
	m := moduleOf(t, "// Package quota.\npackage quota\n\nfunc f() {\n\tg()\n\th()\n}\n\nfunc g() int { return max(1, 2) }\n")
	files, err := m.merge([]mutant{
		{number: 1, function: "quota.f", operator: "drop", place: 1},
		{number: 2, function: "quota.f", operator: "drop", place: 2},
		{number: 3, function: "quota.g", operator: "minmax", place: 1},
	})
	require.NoError(t, err)
	assert.Equal(t, `// Package quota.
package quota

import active__ "github.com/capacity-card/capacity-card/fuzz/mutate/active"

func f() {
	switch active__.Mutant {
	case 1:

		if false {
			g()
		}
		h()

		return
	case 2:

		g()
		if false {
			h()
		}

		return
	}

	g()
	h()
}

func g() int {
	switch active__.Mutant {
	case 3:
		return min(1, 2)
	}
	return max(1, 2)
}
`, string(files["quota/quota.go"]))
}

// moduleOf returns a module with one file.
func moduleOf(t *testing.T, source string) *module {
	t.Helper()
	tree := t.TempDir()
	for _, room := range rooms {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, room), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(tree, "quota", "quota.go"), []byte(source), 0o600))
	m, err := readModule(tree)
	require.NoError(t, err)
	return m
}
