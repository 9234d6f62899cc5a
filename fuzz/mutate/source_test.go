package mutate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// rooms are the directories with the rules: mutants are in these.
var rooms = []string{"fastres", "index", "quota", "plugin", "cmd/cardctl/audit"}

// module has the files of the rooms, without tests.
type module struct {
	set       *token.FileSet
	sources   map[string][]byte // by file
	functions map[string]function
}

// function is a function with a body.
type function struct {
	file string
	*ast.FuncDecl
}

// readModule reads the rooms of a copy of the module.
func readModule(tree string) (*module, error) {
	m := &module{set: token.NewFileSet(), sources: map[string][]byte{}, functions: map[string]function{}}
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(tree, room), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := filepath.Rel(tree, name)
			if err != nil {
				return err
			}
			return m.read(tree, filepath.ToSlash(file))
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *module) read(tree, file string) error {
	source, err := os.ReadFile(filepath.Join(tree, file))
	if err != nil {
		return err
	}

	parsed, err := parser.ParseFile(m.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}

	m.sources[file] = source
	for _, declaration := range parsed.Decls {
		f, is := declaration.(*ast.FuncDecl)
		if is && f.Body != nil {
			m.functions[path.Dir(file)+"."+receiver(f)+f.Name.Name] = function{file, f}
		}
	}
	return nil
}

// receiver returns the type of a method and a dot, "" for a function.
func receiver(f *ast.FuncDecl) (name string) {
	if f.Recv == nil {
		return ""
	}

	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if identifier, is := n.(*ast.Ident); is && name == "" {
			name = identifier.Name + "."
		}
		return name == ""
	})
	return name
}

// edits returns the edits that an operator can make in a function, in the order of the source.
func (f function) edits(operator func(ast.Node) *edit) (all []edit) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if e := operator(n); e != nil {
			all = append(all, *e)
		}
		return true
	})
	slices.SortStableFunc(all, func(l, r edit) int { return int(l.start - r.start) })
	return all
}

// body returns the body of a function with a mutant, without its braces.
func (m *module) body(change mutant) (string, error) {
	f, found := m.functions[change.function]
	if !found {
		return "", fmt.Errorf("%s: there is no such function", change)
	}

	operator, found := operators[change.operator]
	if !found {
		return "", fmt.Errorf("%s: the operators are %v", change, slices.Sorted(maps.Keys(operators)))
	}

	edits := f.edits(operator)
	if change.place < 1 || change.place > len(edits) {
		return "", fmt.Errorf("%s: the function has %d such places", change, len(edits))
	}

	e := edits[change.place-1]
	text := func(from, to token.Pos) string {
		return string(m.sources[f.file][m.set.Position(from).Offset:m.set.Position(to).Offset])
	}
	return text(f.Body.Lbrace+1, e.start) + e.replacement(text(e.start, e.end)) + text(e.end, f.Body.Rbrace), nil
}

// merge returns the files with all mutants, by name. A function with mutants asks which one is active, and continues
// with its body:
//
//	func f() int {
//		switch active__.Mutant {
//		case 7:
//			… // as the mutant 7 has it
//		}
//		… // as it is
//	}
//
// So each package of tests is built once and not once for each mutant, which takes longer than most tests.
func (m *module) merge(mutants []mutant) (map[string][]byte, error) {
	cases := map[string]*bytes.Buffer{} // by function
	for _, change := range mutants {
		body, err := m.body(change)
		if err != nil {
			return nil, err
		}
		if cases[change.function] == nil {
			cases[change.function] = &bytes.Buffer{}
		}
		fmt.Fprintf(cases[change.function], "case %d:\n%s\n", change.number, body)
		if m.functions[change.function].Type.Results == nil {
			cases[change.function].WriteString("return\n")
		}
	}

	// The last change of a file goes first, so that offsets stay valid.
	changed := slices.SortedFunc(maps.Keys(cases), func(l, r string) int {
		return int(m.functions[r].Pos() - m.functions[l].Pos())
	})
	files := map[string][]byte{}
	for _, name := range changed {
		f := m.functions[name]
		if files[f.file] == nil {
			files[f.file] = m.sources[f.file]
		}
		at := m.set.Position(f.Body.Lbrace).Offset + 1
		selection := fmt.Appendf(nil, "\nswitch active__.Mutant {\n%s}\n", cases[name].Bytes())
		files[f.file] = slices.Concat(files[f.file][:at], selection, files[f.file][at:])
	}

	for name, source := range files {
		formatted, err := format.Source(withImport(source))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = formatted
	}
	return files, nil
}

// withImport returns a file that imports package active.
func withImport(source []byte) []byte {
	clause := append([]byte("\n"), source...)
	at := bytes.Index(clause, []byte("\npackage ")) + 1
	end := at + bytes.IndexByte(clause[at:], '\n')
	declaration := "\nimport active__ \"github.com/capacity-card/capacity-card/fuzz/mutate/active\"\n"
	return slices.Concat(clause[1:end], []byte(declaration), clause[end:])
}
