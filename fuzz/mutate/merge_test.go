package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMerge merges mutants of functions, and leaves out those that need a build of their own.
func TestMerge(t *testing.T) {
	tree := t.TempDir()
	for _, room := range rooms {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, room), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(tree, "quota", "a.go"), []byte(`// Package quota has rules.
package quota

const most = 3

type t struct{ n int }

func (x *t) add(n int) int {
	x.n += n
	return min(x.n, most)
}

func (x *t) reset() { x.n = 0 }

func labels() {
outer:
	for {
		break outer
	}
}
`), 0o644))
	s, err := readSources(tree)
	require.NoError(t, err)
	all, err := s.applyAll([]mutant{
		{"add", "x.n += n", "x.n -= n"}, {"most", "3", "4"}, {"reset", "x.n = 0", ""}, {"add", "min(", "max("}, {"labels", "break outer", "return"},
		{"add", "(n int) int", "(n int) (m int)"},
	})
	require.NoError(t, err)
	files, err := merge(s, all)
	require.NoError(t, err)
	assert.Equal(t, `// Package quota has rules.
package quota

import active__ "github.com/capacity-card/capacity-card/fuzz/mutate/active"

const most = 3

type t struct{ n int }

func (x *t) add(n int) int {
	switch active__.Mutant(1) {
	case 1:

		x.n -= n
		return min(x.n, most)

	case 4:

		x.n += n
		return max(x.n, most)

	}

	x.n += n
	return min(x.n, most)
}

func (x *t) reset() {
	switch active__.Mutant(3) {
	case 3:

		return
	}
	x.n = 0
}

func labels() {
outer:
	for {
		break outer
	}
}
`, string(files["quota/a.go"]))
	var functions []int
	for _, m := range all {
		functions = append(functions, m.function)
	}
	assert.Equal(t, []int{1, 0, 3, 1, 0, 0}, functions)
}

// TestCandidates expects the tests that reach a function, shorter ones first unless others killed mutants of the file,
// and then random ones with their own arguments.
func TestCandidates(t *testing.T) {
	long := &test{dir: "plugin/internal/session", name: "TestRandomCards", args: few["plugin/internal/session"], took: time.Minute, reaches: map[int]bool{3: true}}
	short := &test{dir: "quota", name: "TestTake", took: time.Second, reaches: map[int]bool{3: true}}
	other := &test{dir: "quota", name: "TestOther", reaches: map[int]bool{4: true}}
	again := &test{dir: "plugin/internal/session", name: "TestRandomCards", took: 10 * time.Minute}
	all := []*test{long, short, other}
	assert.Equal(t, []*test{short, long, again}, mutated{function: 3, body: []byte{}}.candidates(all, nil))
	assert.Equal(t, []*test{long, short, again}, mutated{function: 3, body: []byte{}}.candidates(all, map[string]int{"plugin/internal/session TestRandomCards": 1}))
	assert.Equal(t, []*test{other, short, long, again}, mutated{}.candidates(all, nil), "any test may reach a constant")
}

// TestBatches expects tests of one directory, or cases of one test, in a process, as long as they take no longer than
// is said.
func TestBatches(t *testing.T) {
	one, two := &test{dir: "quota", name: "TestOne", took: time.Second}, &test{dir: "quota", name: "TestTwo", took: time.Second}
	of, other := &test{dir: "quota", name: "TestTwo/case"}, &test{dir: "index", name: "TestTree"}
	assert.Len(t, batchOf([]*test{one, two, other}, 2*time.Second), 2)
	assert.Len(t, batchOf([]*test{one, two, other}, time.Second), 1)
	assert.Len(t, batchOf([]*test{one, other}, time.Minute), 1)
	assert.Len(t, batchOf([]*test{of, one}, time.Minute), 1)
	assert.Len(t, batchOf([]*test{one, of}, time.Minute), 1)
	assert.Len(t, batchOf([]*test{of, {dir: "quota", name: "TestTwo/other"}, {dir: "quota", name: "TestOne/case"}}, time.Minute), 2)
	assert.Equal(t, "^(TestOne|TestTwo)$", patternOf([]*test{one, two}))
	assert.Equal(t, "^TestTwo$/^(case|other)$", patternOf([]*test{of, {name: "TestTwo/other"}}))
}

// TestLasting counts the tests that end in time.
func TestLasting(t *testing.T) {
	tests := []*test{{took: time.Second}, {took: time.Second}, {took: time.Minute}}
	assert.Equal(t, 0, lasting(tests, 0))
	assert.Equal(t, 2, lasting(tests, 3*time.Second))
	assert.Equal(t, 3, lasting(tests, time.Hour))
}

// TestTestsAreKept reads the tests of a commit from the file.
func TestTestsAreKept(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("build", 0o755))
	require.NoError(t, os.WriteFile(testsFile, []byte(`{"Commit": "one", "Tests": [{"Dir": "plugin/internal/session", "Name": "TestTake", "Took": 5, "Reaches": [3]}]}`), 0o644))
	b := &bench{}
	all, err := b.listAll(t.Context(), "one", 1)
	require.NoError(t, err)
	assert.Equal(t, []*test{{dir: "plugin/internal/session", name: "TestTake", args: few["plugin/internal/session"], took: 5, reaches: map[int]bool{3: true}}}, all)
}

// TestOutcomes expects the test that failed, as deep as it is known.
func TestOutcomes(t *testing.T) {
	batch := []*test{{dir: "quota", name: "TestOne"}, {dir: "quota", name: "TestTwo"}}
	assert.Equal(t, "quota TestTwo/case", outcomeOf(batch, []byte("--- FAIL: TestTwo (0.00s)\n    --- FAIL: TestTwo/case (0.00s)\n")))
	assert.Equal(t, "quota: ended", outcomeOf(batch, nil))
	assert.Equal(t, "quota TestOne", outcomeOf(batch[:1], nil))
	assert.Equal(t, []string{"TestTwo/a", "TestTwo/b"}, casesOf("TestTwo",
		[]byte("--- PASS: TestTwo (0.00s)\n    --- PASS: TestTwo/a (0.00s)\n        --- PASS: TestTwo/a/deep (0.00s)\n    --- PASS: TestTwo/b (0.00s)\n")))
}
