package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"
)

// mostStatements bounds the length of a function. Tables of tests may be longer.
const mostStatements = 55

// TestFunctionsRead checks the functions that are no tests: they are short, the initialiser of an if or a switch changes
// nothing, and no line assigns three or more independent values.
func TestFunctionsRead(t *testing.T) {
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
		if statement, is := n.(ast.Stmt); is {
			if _, block := statement.(*ast.BlockStmt); !block {
				statements++
			}
		}
		return true
	})
	if statements > mostStatements {
		t.Errorf("%s: %s has %d statements, at most %d are allowed", fset.Position(function.Pos()), function.Name.Name, statements, mostStatements)
	}
}

// checkInitialiser checks that an initialiser only defines what its condition reads.
func checkInitialiser(t *testing.T, fset *token.FileSet, s ast.Stmt) {
	assignment, is := s.(*ast.AssignStmt)
	if s != nil && (!is || assignment.Tok != token.DEFINE) {
		t.Errorf("%s: an initialiser changes something", fset.Position(s.Pos()))
	}
}
