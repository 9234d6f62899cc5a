package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// rooms are the directories whose declarations a mutant can name.
var rooms = []string{"fastres", "index", "quota", "plugin", "cmd/cardctl/audit"}

// forTests are the names of directories with code for tests alone.
var forTests = []string{"testdata", "offline", "world", "testbed"}

// declaration is a function, type, constant or variable, and where it is.
type declaration struct {
	name       string // in full, such as quota/assign.loads.Add
	file       string
	start, end int // in the file, without the comment before it
	// body lies between the braces of a function, and results reports whether it returns something.
	// A function with labels has no body here, since a copy of it would declare them again.
	body    struct{ start, end int }
	results bool
}

// sources are the files without tests, and their declarations.
type sources struct {
	files map[string][]byte
	named map[string][]declaration // by each name of a declaration, see names
}

// names returns the names of a declaration from the shortest on. Those of quota/assign.loads.Add
// are Add, loads.Add, assign.loads.Add, and quota/assign.loads.Add.
func names(full string) []string {
	var all []string
	for i := len(full) - 1; i >= 0; i-- {
		if full[i] == '.' || full[i] == '/' {
			all = append(all, full[i+1:])
		}
	}
	return append(all, full)
}

// readSources reads the rooms of a tree.
func readSources(tree string) (*sources, error) {
	s := &sources{files: map[string][]byte{}, named: map[string][]declaration{}}
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(tree, room), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains(forTests, entry.Name()):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := filepath.Rel(tree, name)
			if err != nil {
				return err
			}
			return s.read(tree, filepath.ToSlash(file))
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sources) read(tree, file string) error {
	source, err := os.ReadFile(filepath.Join(tree, file))
	if err != nil {
		return err
	}
	s.files[file] = source
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	offset := func(pos token.Pos) int { return set.Position(pos).Offset }
	add := func(node ast.Node, name string) {
		d := declaration{name: path.Dir(file) + "." + name, file: file, start: offset(node.Pos()), end: offset(node.End())}
		if f, ok := node.(*ast.FuncDecl); ok && f.Body != nil && !hasLabels(f) {
			d.body.start, d.body.end = offset(f.Body.Lbrace)+1, offset(f.Body.Rbrace)
			d.results = f.Type.Results != nil
		}
		for _, name := range names(d.name) {
			s.named[name] = append(s.named[name], d)
		}
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d, receiver(d)+d.Name.Name)
		case *ast.GenDecl:
			addSpecs(d, add)
		}
	}
	return nil
}

func hasLabels(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return !found
	})
	return found
}

// addSpecs adds types, constants and variables.
func addSpecs(d *ast.GenDecl, add func(node ast.Node, name string)) {
	for _, spec := range d.Specs {
		var node ast.Node = spec
		if !d.Lparen.IsValid() {
			node = d
		}
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			add(node, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				add(node, name.Name)
			}
		}
	}
}

// receiver returns the type of a method and a dot, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return fmt.Sprintf("%T.", t)
		}
	}
}

// find returns the declaration of a name. The name must be the shortest that no other has, so
// that a declaration has one name, and few names change when declarations move.
func (s *sources) find(name string) (declaration, error) {
	found := s.named[name]
	switch len(found) {
	case 0:
		return declaration{}, fmt.Errorf("nothing has the name %s", name)
	case 1:
		for _, shorter := range names(found[0].name) {
			if len(shorter) < len(name) && len(s.named[shorter]) == 1 {
				return declaration{}, fmt.Errorf("the shortest name of %s is %s", name, shorter)
			}
		}
		return found[0], nil
	default:
		return declaration{}, fmt.Errorf("%s and %s have the name %s", found[0].name, found[1].name, name)
	}
}
