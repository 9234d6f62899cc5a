package upstreamtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generate writes the suite's package below the module root.
func (s suite) generate(root, volcano string) error {
	sources, err := filepath.Glob(filepath.Join(volcano, schedulerDir, s.dir, "*.go"))
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	missing := slices.Clone(s.leftOut)
	for _, source := range sources {
		if s.constructor != "" && !strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		text, removed, err := rewrite(text, s.leftOut)
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		files[filepath.Base(source)] = text
		missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(removed, name) })
	}
	if len(missing) > 0 {
		return fmt.Errorf("left out but not in upstream's files: %v", missing)
	}
	if s.constructor != "" {
		files["shim.go"] = s.shim()
	}
	return writeDir(filepath.Join(root, generatedDir, s.dir), files)
}

// shim returns the package that upstream's tests see in place of the plugin.
func (s suite) shim() []byte {
	name := path.Base(s.dir)
	shim := fmt.Appendf(nil, "package %s\n\nimport %q\n\nconst PluginName = %q\n\nvar New = plugin.%s\n",
		name, ourModule+"/plugin", name, s.constructor)
	for _, constant := range slices.Sorted(maps.Keys(s.constants)) {
		shim = fmt.Appendf(shim, "\nconst %s = %q\n", constant, s.constants[constant])
	}
	return shim
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// rewrite removes the named functions and redirects the imports of the plugins that this module replaces. Line
// numbers stay the same as in upstream's file. rewrite returns the names of the functions that it removed.
func rewrite(src []byte, leftOut []string) ([]byte, []string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }

	var edits []edit
	var removed []string
	usedByRemoved, usedByKept := map[string]bool{}, map[string]bool{}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !slices.Contains(leftOut, fn.Name.Name) {
			addQualifiers(usedByKept, decl)
			continue
		}
		addQualifiers(usedByRemoved, decl)
		removed = append(removed, fn.Name.Name)
		start, end := offset(fn.Pos()), offset(fn.End())
		edits = append(edits, edit{start, end, strings.Repeat("\n", bytes.Count(src[start:end], []byte("\n")))})
	}
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, nil, err
		}
		if redirected, ok := redirect(target); ok {
			edits = append(edits, edit{offset(spec.Path.Pos()), offset(spec.Path.End()), strconv.Quote(redirected)})
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if usedByRemoved[name] && !usedByKept[name] {
			edits = append(edits, edit{offset(spec.Pos()), offset(spec.End()), "_ " + spec.Path.Value})
		}
	}
	return apply(src, edits), removed, nil
}

// addQualifiers collects the qualifiers of selectors below the node: the names of
// packages in use, and of some variables, which do no harm.
func addQualifiers(names map[string]bool, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if ident, ok := selector.X.(*ast.Ident); ok {
				names[ident.Name] = true
			}
		}
		return true
	})
}

// redirect maps the import path of a replaced plugin to the import path of its shim.
func redirect(target string) (string, bool) {
	for _, s := range suites {
		if s.constructor != "" && target == path.Join(volcanoModule, schedulerDir, s.dir) {
			return s.importPath(), true
		}
	}
	return "", false
}

func apply(src []byte, edits []edit) []byte {
	// From the end, so that the offsets of the remaining edits stay valid.
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		src = slices.Concat(src[:e.start], []byte(e.text), src[e.end:])
	}
	return src
}

// writeDir makes files the only Go files of the directory. It does not write files that are already equal, so that a
// second run hits the test cache of go.
func writeDir(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	present, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range present {
		if _, ok := files[filepath.Base(file)]; !ok {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
			continue
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func TestRewriteKeepsLinesAndDropsWhatIsLeftOut(t *testing.T) {
	const src = `package p

import (
	"os"
	k8s "strings"
	"volcano.sh/volcano/pkg/scheduler/plugins/capacity"
)

func TestOut() {
	k8s.ToUpper(os.Args[0])
}

var New, arg = capacity.New, os.Args
`
	const want = `package p

import (
	"os"
	_ "strings"
	"github.com/capacity-card/capacity-card/build/_upstream/plugins/capacity"
)





var New, arg = capacity.New, os.Args
`
	got, removed, err := rewrite([]byte(src), []string{"TestOut", "TestElsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !slices.Equal(removed, []string{"TestOut"}) {
		t.Errorf("removed %v", removed)
	}
}
