package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// complexity is the cognitive complexity of a function (https://www.sonarsource.com/resources/cognitive-complexity):
// each branch and loop counts 1, and 1 more for each one around it. An else, a jump to a label, and each sequence of
// equal logical operators count 1.
func complexity(function *ast.FuncDecl) int {
	v := &complexityVisitor{name: function.Name.Name}
	if function.Body != nil {
		ast.Walk(v, function.Body)
	}
	return v.sum
}

// complexityVisitor adds up the complexity of the nodes that it visits.
type complexityVisitor struct {
	name    string // of the function
	nesting int
	sum     int
}

// Visit counts a node, and walks below those that nest.
func (v *complexityVisitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.IfStmt:
		v.sum += 1 + v.nesting
		v.walkIf(n)
		return nil
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		v.sum += 1 + v.nesting
		v.walkBelow(n)
		return nil
	case *ast.FuncLit:
		v.walkBelow(n)
		return nil
	case *ast.BranchStmt:
		if n.Label != nil {
			v.sum++
		}
	case *ast.CallExpr:
		if callee, is := n.Fun.(*ast.Ident); is && callee.Name == v.name {
			v.sum++ // recursion
		}
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			operators := logical(n)
			v.sum++
			for i := range operators[1:] {
				if operators[i+1] != operators[i] {
					v.sum++
				}
			}
			v.walkOperands(n)
			return nil
		}
	}
	return v
}

// walkIf visits the parts of an if, and its else in the same nesting.
func (v *complexityVisitor) walkIf(n *ast.IfStmt) {
	if n.Init != nil {
		ast.Walk(v, n.Init)
	}
	ast.Walk(v, n.Cond)

	v.nesting++
	ast.Walk(v, n.Body)
	v.nesting--

	switch alternative := n.Else.(type) {
	case *ast.IfStmt:
		v.sum++
		v.walkIf(alternative)
	case *ast.BlockStmt:
		v.sum++
		v.nesting++
		ast.Walk(v, alternative)
		v.nesting--
	}
}

// walkBelow visits the children of a node one level deeper.
func (v *complexityVisitor) walkBelow(n ast.Node) {
	v.nesting++
	defer func() { v.nesting-- }()

	first := true
	ast.Inspect(n, func(child ast.Node) bool {
		if first {
			first = false
			return true
		}
		if child != nil {
			ast.Walk(v, child)
		}
		return false
	})
}

// walkOperands visits the operands of a logical expression, but not its operators again.
func (v *complexityVisitor) walkOperands(e ast.Expr) {
	if b, is := ast.Unparen(e).(*ast.BinaryExpr); is && (b.Op == token.LAND || b.Op == token.LOR) {
		v.walkOperands(b.X)
		v.walkOperands(b.Y)
		return
	}
	ast.Walk(v, e)
}

// logical returns the logical operators of an expression in their order.
func logical(e ast.Expr) []token.Token {
	b, is := ast.Unparen(e).(*ast.BinaryExpr)
	if !is || b.Op != token.LAND && b.Op != token.LOR {
		return nil
	}
	return append(append(logical(b.X), b.Op), logical(b.Y)...)
}

// parameters counts the parameters of a function.
func parameters(function *ast.FuncDecl) int { return function.Type.Params.NumFields() }

// TestComplexity counts the examples of the definition.
func TestComplexity(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"nothing":                        {"return", 0},
		"nested":                         {"for range 3 { if a { for b { } } }", 6},
		"else counts without nesting":    {"if a { } else if b { } else { }", 3},
		"in an else":                     {"if a { } else { if b { } }", 4},
		"a switch counts once":           {"switch { case a: case b: default: }", 1},
		"equal operators":                {"_ = a && b && c", 1},
		"different operators":            {"_ = a && b || c && d", 3},
		"operators in parentheses":       {"_ = a && (b || c)", 2},
		"operators in a condition":       {"if a && b { }", 2},
		"a function literal nests":       {"_ = func() { if a { } }", 2},
		"a jump to a label":              {"l: for { if a { continue l } }", 4},
		"recursion":                      {"f()", 1},
		"a condition in the initialiser": {"if x := a && b; x { }", 2},
	} {
		t.Run(name, func(t *testing.T) {
			source := "package p\nfunc f() { " + test.body + " }"
			file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
			require.NoError(t, err)
			assert.Equal(t, test.want, complexity(file.Decls[0].(*ast.FuncDecl)))
		})
	}
}
