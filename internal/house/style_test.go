package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// The bounds of code that is no test.
const (
	mostStatements = 40  // of a function
	mostParameters = 6   // of a function
	mostComplexity = 20  // of a function: see complexity
	mostColumns    = 120 // of a line, with tabs of 4 columns
	leastAir       = 5.0 // per cent of the lines in functions that are blank or comments, of a package with many
	manyLines      = 100 // in functions
)

// sources returns the Go files that are no tests. A file can be listed and removed.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	listed, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(listed)) {
		_, missing := os.Stat(path)
		if missing == nil && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestLinesRead checks that lines are not too wide, and that functions have paragraphs.
func TestLinesRead(t *testing.T) {
	lines := map[string]int{} // in functions, by directory
	air := map[string]int{}
	for _, path := range sources(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		inFunction := false
		for i, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			assert.LessOrEqual(t, columns, mostColumns, "%s:%d", path, i+1)

			switch plain := strings.TrimSpace(line); {
			case strings.HasPrefix(line, "func ") && strings.HasSuffix(line, "{"):
				inFunction = true
			case strings.HasPrefix(line, "}"):
				inFunction = false
			case inFunction && (plain == "" || strings.HasPrefix(plain, "//")):
				air[filepath.Dir(path)]++
				fallthrough
			case inFunction:
				lines[filepath.Dir(path)]++
			}
		}
	}
	for directory, n := range lines {
		if n >= manyLines {
			assert.GreaterOrEqual(t, 100*float64(air[directory])/float64(n), leastAir, directory)
		}
	}
}

// TestFunctionsRead checks the functions that are no tests: they are short and simple, the initialiser of an if or a
// switch changes nothing, and no line assigns three or more independent values.
func TestFunctionsRead(t *testing.T) {
	fset := token.NewFileSet()
	for _, path := range sources(t) {
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				checkFunction(t, fset, function)
			}
		}
	}
}

func checkFunction(t *testing.T, fset *token.FileSet, function *ast.FuncDecl) {
	statements := 0
	initialisers := map[ast.Stmt]bool{} // of loops: they may assign several values
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			initialisers[n.Init] = true
			initialisers[n.Post] = true
		case *ast.IfStmt:
			checkInitialiser(t, fset, n.Init)
		case *ast.SwitchStmt:
			checkInitialiser(t, fset, n.Init)
		case *ast.AssignStmt:
			if len(n.Lhs) >= 3 && len(n.Lhs) == len(n.Rhs) && !initialisers[n] {
				t.Errorf("%s: one assignment a line", fset.Position(n.Pos()))
			}
		}
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause: // they hold statements
		case ast.Stmt:
			statements++
		}
		return true
	})

	at := fset.Position(function.Pos()).String() + ": " + function.Name.Name
	assert.LessOrEqual(t, statements, mostStatements, "%s: statements", at)
	assert.LessOrEqual(t, parameters(function), mostParameters, "%s: parameters", at)
	assert.LessOrEqual(t, complexity(function), mostComplexity, "%s: complexity", at)
}

// checkInitialiser checks that an initialiser only defines variables that its condition reads.
func checkInitialiser(t *testing.T, fset *token.FileSet, s ast.Stmt) {
	assignment, is := s.(*ast.AssignStmt)
	if s != nil && (!is || assignment.Tok != token.DEFINE) {
		t.Errorf("%s: an initialiser changes something", fset.Position(s.Pos()))
	}
}
