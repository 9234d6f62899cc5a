package mutate

import (
	"go/ast"
	"go/token"
)

// edit replaces the bytes of a file from start to end.
type edit struct {
	start, end  token.Pos
	replacement func(text string) string // of the bytes that are there
}

// operators are the kinds of mutations. Each returns its edit of a node, nil for a node of another kind.
var operators = map[string]func(ast.Node) *edit{
	"always":   func(n ast.Node) *edit { return wrap(condition(n), "(", ") || true") },
	"never":    func(n ast.Node) *edit { return wrap(condition(n), "(", ") && false") },
	"left":     func(n ast.Node) *edit { return operand(n, func(e *ast.BinaryExpr) ast.Expr { return e.Y }) },
	"right":    func(n ast.Node) *edit { return operand(n, func(e *ast.BinaryExpr) ast.Expr { return e.X }) },
	"boundary": func(n ast.Node) *edit { return exchange(n, boundaries) },
	"sign":     func(n ast.Node) *edit { return exchange(n, signs) },
	"minmax":   minmax,
	"own":      own,
	"drop":     drop,
}

// boundaries maps each comparison to the one that differs for equal values.
var boundaries = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
}

var signs = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=",
}

// condition returns the condition of an if, of a loop, or of a case of a switch without a tag, nil for another node.
func condition(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.IfStmt:
		return n.Cond
	case *ast.ForStmt:
		return n.Cond
	case *ast.CaseClause:
		if len(n.List) != 1 {
			return nil
		}
		switch e := n.List[0].(type) {
		case *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr: // the values of a switch with a tag are names and literals
			return e
		}
	}
	return nil
}

func wrap(e ast.Expr, before, after string) *edit {
	if e == nil {
		return nil
	}
	return &edit{e.Pos(), e.End(), func(text string) string { return before + text + after }}
}

// operand makes one operand of && or || neutral, so the other one decides. It stays in the code, since Go refuses
// variables that nothing uses.
func operand(n ast.Node, neutral func(*ast.BinaryExpr) ast.Expr) *edit {
	e, binary := n.(*ast.BinaryExpr)
	switch {
	case binary && e.Op == token.LAND:
		return wrap(neutral(e), "((", ") || true)")
	case binary && e.Op == token.LOR:
		return wrap(neutral(e), "((", ") && false)")
	}
	return nil
}

// exchange replaces the operator of an expression or an assignment.
func exchange(n ast.Node, by map[token.Token]string) *edit {
	var at token.Pos
	var operator token.Token
	switch n := n.(type) {
	case *ast.BinaryExpr:
		at, operator = n.OpPos, n.Op
	case *ast.AssignStmt:
		at, operator = n.TokPos, n.Tok
	}

	replacement, found := by[operator]
	if !found {
		return nil
	}
	return &edit{at, at + token.Pos(len(operator.String())), func(string) string { return replacement }}
}

// minmax exchanges the builtin functions min and max.
func minmax(n ast.Node) *edit {
	call, is := n.(*ast.CallExpr)
	if !is {
		return nil
	}

	name, is := call.Fun.(*ast.Ident)
	if !is {
		return nil
	}

	other := map[string]string{"min": "max", "max": "min"}[name.Name]
	if other == "" {
		return nil
	}
	return &edit{name.Pos(), name.End(), func(string) string { return other }}
}

// own leaves out the ancestors of a queue: a loop over its path stops after the queue.
func own(n ast.Node) *edit {
	loop, is := n.(*ast.RangeStmt)
	if !is {
		return nil
	}

	call, is := loop.X.(*ast.CallExpr)
	if !is {
		return nil
	}

	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || method.Sel.Name != "Path" {
		return nil
	}
	return wrap(call, "", "[:1]")
}

// drop leaves out a statement that is a call, an assignment to something that exists, or a step by one.
func drop(n ast.Node) *edit {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return nil // what follows needs it
		}
	case *ast.ExprStmt, *ast.IncDecStmt:
	default:
		return nil
	}
	return &edit{n.Pos(), n.End(), func(text string) string { return "if false { " + text + " }" }}
}
