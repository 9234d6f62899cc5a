package upstreamtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keepDeclared drops the names of left out functions that a checkout does not have.
func (s *suite) keepDeclared(t *testing.T, volcano string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(volcano, schedulerDir, s.dir, "*_test.go"))
	require.NoError(t, err)
	var declared []string
	for _, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		names, err := functionsAt(text, nil)
		require.NoError(t, err)
		declared = append(declared, names...)
	}
	s.leftOut = slices.DeleteFunc(slices.Clone(s.leftOut), func(name string) bool { return !slices.Contains(declared, name) })
}

// leaveOutBroken leaves out the functions of a checkout's tests that do not compile without its
// plugin, and then those that call them.
func (s *suite) leaveOutBroken(t *testing.T, root, volcano string) {
	t.Helper()
	for {
		require.NoError(t, s.generate(root, volcano))
		// -e: all errors of the compiler, not the first ten.
		out, err := s.compile(root)
		if err == nil {
			break
		}
		broken, err := brokenFunctions(root, out)
		require.NoError(t, err)
		broken = slices.DeleteFunc(broken, func(name string) bool { return slices.Contains(s.leftOut, name) })
		require.NotEmpty(t, broken, "%s does not compile:\n%s", s.dir, out)
		s.leftOut = append(s.leftOut, broken...)
	}
	if len(s.leftOut) > 0 {
		t.Logf("%s: left out, because they need upstream's own plugin: %v", s.dir, s.leftOut)
	}
}

// compile builds the generated tests, and returns the output of the compiler.
func (s *suite) compile(root string) (string, error) {
	build := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-o", os.DevNull, "./"+filepath.Join(generatedDir, s.dir))
	build.Dir = root
	out, err := build.CombinedOutput()
	return string(out), err
}

var position = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// brokenFunctions returns the names of the functions in which the compiler finds errors.
func brokenFunctions(root, out string) (names []string, err error) {
	lines := map[string][]int{}
	for _, match := range position.FindAllStringSubmatch(out, -1) {
		line, err := strconv.Atoi(match[2])
		if err != nil {
			return nil, err
		}
		lines[match[1]] = append(lines[match[1]], line)
	}
	for file, at := range lines {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("the compiler names a file that cannot be read: %w", err)
		}
		found, err := functionsAt(text, at)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// functionsAt returns the names of the functions of a file that have one of the lines, of all
// functions if lines is nil.
func functionsAt(text []byte, lines []int) (names []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line
		if lines == nil || slices.ContainsFunc(lines, func(line int) bool { return from <= line && line <= to }) {
			names = append(names, fn.Name.Name)
		}
	}
	return names, nil
}

// TestKeepDeclared expects the functions of a checkout to stay left out, and the functions of another release to be
// dropped.
func TestKeepDeclared(t *testing.T) {
	checkout := t.TempDir()
	directory := filepath.Join(checkout, schedulerDir, "plugins/capacity")
	require.NoError(t, os.MkdirAll(directory, 0o755))
	text := []byte("package capacity\n\nfunc Test_here() {}\n")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "capacity_test.go"), text, 0o600))

	s := suite{dir: "plugins/capacity", leftOut: []string{"Test_here", "Test_later"}}
	s.keepDeclared(t, checkout)
	assert.Equal(t, []string{"Test_here"}, s.leftOut)
	assert.NoError(t, s.generate(t.TempDir(), checkout))
}

func TestBrokenFunctions(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a_test.go"), []byte(`package p

func TestGood() {}

func TestBad() {
	missing()
}

func helper() { missing() }
`), 0o644))
	names, err := brokenFunctions(root, "# p\na_test.go:6:2: undefined: missing\na_test.go:9:17: undefined: missing\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"TestBad", "helper"}, names)
}
