package capacitycard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"
)

// mostLines bounds the length of a function. Tables of tests may be longer.
const mostLines = 60

// TestFunctionsAreShort bounds the functions that are no tests.
func TestFunctionsAreShort(t *testing.T) {
	listed, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, path := range strings.Fields(string(listed)) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := fset.Position(function.End()).Line - fset.Position(function.Pos()).Line + 1
			if lines > mostLines {
				t.Errorf("%s: %s has %d lines, at most %d are allowed", path, function.Name.Name, lines, mostLines)
			}
		}
	}
}
