package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated pages")

// questions groups the fields of constraint.Hooks. A feature answers at least one field of each question, or says why
// it does not. asked has the hooks of Volcano that put the question.
var questions = []struct{ name, asked, fields string }{
	{"admission", "admission", "AdmitJob PrepareCards AdmitCards"},
	{"promises", "promises", "Hold Withdraw"},
	{"allocation", "allocation, node order, reclaim, preempt, simulation", "Prepare Fit FitCard FitClaims SkipsGroups FitNode"},
	{"own bounds", "preemptive, reclaim", "FitOwn"},
	{"room", "reclaim, preempt", "Lacks"},
	{"taking", "preemptive, reclaim, preempt, gangs", "MayTake Protection Spares AllowLoan"},
	{"accounts", "simulation, reclaim, preempt", "Charge Refund"},
	{"events", "events", "Charged Refunded"},
	{"order", "queue order", "CompareQueues CompareJobs OnlyThere LosesFirst"},
}

// optional are the fields that no reason is expected for.
const optional = "Evictions Notifier EvictExcess Spent Measure Close"

// hookedFeature is a literal of constraint.Hooks.
type hookedFeature struct {
	name, file string
	answers    []answer
}

// answer is a field of the literal: a function, or nil with a reason.
type answer struct {
	field, comment string
	absent         bool
}

const crossingsPage = "docs/dev/CROSSINGS.md"

// TestHooksAreStated expects each feature below plugin/constraint to answer each question or to say why not, and
// docs/dev/CROSSINGS.md to show it.
func TestHooksAreStated(t *testing.T) {
	known := hookFields(t)
	var fields []string
	for _, q := range questions {
		fields = append(fields, strings.Fields(q.fields)...)
	}
	if fields = append(fields, strings.Fields(optional)...); !slices.Equal(known, fields) {
		t.Fatalf("constraint.Hooks has the fields %v, and the questions %v", known, fields)
	}

	features := readFeatures(t)
	for _, f := range features {
		checkFeature(t, f, known)
	}

	want := crossings(features)
	if *update {
		require.NoError(t, os.WriteFile(crossingsPage, []byte(want), 0o644))
	}
	assert.True(t, string(read(t, crossingsPage)) == want, "%s is out of date: run this test with -update", crossingsPage)
}

// hookFields returns the fields of constraint.Hooks in their order.
func hookFields(t *testing.T) (fields []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "plugin/constraint/hooks.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Hooks" {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			fields = append(fields, field.Names[0].Name)
		}
		return false
	})
	return fields
}

// readFeatures reads the literals of constraint.Hooks below plugin/constraint. Each stands in a function "hooks", and
// the comment of the function names the feature. Each package has at least one.
func readFeatures(t *testing.T) (features []hookedFeature) {
	t.Helper()
	packages := map[string]int{}
	err := filepath.WalkDir("plugin/constraint", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Dir(path) == "plugin/constraint" && !entry.IsDir() {
			return err
		}
		if entry.IsDir() {
			packages[path] += 0
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			read := featuresIn(t, path)
			packages[filepath.Dir(path)] += len(read)
			features = append(features, read...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range packages {
		if n == 0 && name != "plugin/constraint" {
			t.Errorf("%s has no hooks", name)
		}
	}
	return features
}

func featuresIn(t *testing.T, path string) (features []hookedFeature) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[int]string{} // at the end of a line
	for _, group := range file.Comments {
		comments[fset.Position(group.Pos()).Line] = strings.TrimSpace(group.Text())
	}

	named := regexp.MustCompile(`(?s)returns the hooks of (.+?)\.`)
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || !isHooks(literal) {
				return true
			}
			name := named.FindStringSubmatch(strings.ReplaceAll(function.Doc.Text(), "\n", " "))
			if name == nil {
				t.Errorf("%s: the comment of the function does not name a feature", fset.Position(literal.Pos()))
				return false
			}
			f := hookedFeature{name: title(name[1]), file: path}
			for _, element := range literal.Elts {
				pair := element.(*ast.KeyValueExpr)
				value, isName := pair.Value.(*ast.Ident)
				f.answers = append(f.answers, answer{
					field:   pair.Key.(*ast.Ident).Name,
					comment: comments[fset.Position(pair.End()).Line],
					absent:  isName && value.Name == "nil",
				})
			}
			features = append(features, f)
			return false
		})
	}
	return features
}

// title returns the name of a feature as a heading.
func title(name string) string {
	name = strings.TrimPrefix(name, "the ")
	return strings.ToUpper(name[:1]) + name[1:]
}

func isHooks(literal *ast.CompositeLit) bool {
	selector, ok := literal.Type.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Hooks"
}

// checkFeature expects an answer to each question, in the order of the fields, and a reason for each nil.
func checkFeature(t *testing.T, f hookedFeature, known []string) {
	t.Helper()
	last := -1
	for _, a := range f.answers {
		at := slices.Index(known, a.field)
		if at < last {
			t.Errorf("%s, %s: %s stands behind a later field", f.file, f.name, a.field)
		}
		last = at
		if a.absent && a.comment == "" {
			t.Errorf("%s, %s: %s is nil without a reason", f.file, f.name, a.field)
		}
	}
	for _, q := range questions {
		if len(f.to(q.fields)) == 0 {
			t.Errorf("%s, %s: no answer about %s (%s), and no reason", f.file, f.name, q.name, q.fields)
		}
	}
}

// to returns the answers of a feature to one question.
func (f hookedFeature) to(fields string) (answers []answer) {
	for _, a := range f.answers {
		if slices.Contains(strings.Fields(fields), a.field) {
			answers = append(answers, a)
		}
	}
	return answers
}

// crossings returns the page of the features.
func crossings(features []hookedFeature) string {
	var b strings.Builder
	b.WriteString(`<!-- Code generated by go test ./internal/house -run TestHooksAreStated -update. DO NOT EDIT. -->

# Features and hooks

The most frequent defect is a rule that one hook asks and another one forgets. So each feature below ` + "`plugin/constraint`" + `
answers each question of ` + "`constraint.Hooks`" + ` with a function, or with nil and a comment that says why. This page shows
these answers. [Features in several packages](../spec/crossings.md) has the other features.

The questions, and the hooks of Volcano in which the session asks them:

| question | hooks of Volcano | fields |
|---|---|---|
`)
	for _, q := range questions {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", q.name, q.asked, strings.Join(strings.Fields(q.fields), "`, `"))
	}

	b.WriteString("\nThe matrix:\n\n| feature |")
	for _, q := range questions {
		b.WriteString(" " + q.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(questions)) + "\n")
	for _, f := range features {
		b.WriteString("| " + f.name + " |")
		for _, q := range questions {
			mark := "–"
			if slices.ContainsFunc(f.to(q.fields), func(a answer) bool { return !a.absent }) {
				mark = "✓"
			}
			b.WriteString(" " + mark + " |")
		}
		b.WriteString("\n")
	}

	for _, f := range features {
		fmt.Fprintf(&b, "\n## %s\n\nFile: `%s`\n\n| question | where |\n|---|---|\n", f.name, f.file)
		for _, q := range questions {
			fmt.Fprintf(&b, "| %s | %s |\n", q.name, cell(f.to(q.fields)))
		}
		if others := f.to(optional); len(others) > 0 {
			fmt.Fprintf(&b, "| others | %s |\n", cell(others))
		}
	}
	return b.String()
}

// cell returns the text of some answers of one question.
func cell(answers []answer) string {
	var parts []string
	for _, a := range answers {
		reason := a.comment
		if !strings.HasPrefix(reason, "for ") {
			reason = "because " + reason
		}
		switch {
		case a.absent && len(answers) == 1:
			parts = append(parts, "not here, "+reason)
		case a.absent:
			parts = append(parts, fmt.Sprintf("not `%s`, %s", a.field, reason))
		case a.comment == "":
			parts = append(parts, fmt.Sprintf("`%s`", a.field))
		default:
			parts = append(parts, fmt.Sprintf("`%s`: %s", a.field, a.comment))
		}
	}
	separator := "; "
	if !slices.ContainsFunc(answers, func(a answer) bool { return a.comment != "" }) {
		separator = ", "
	}
	return strings.Join(parts, separator)
}
