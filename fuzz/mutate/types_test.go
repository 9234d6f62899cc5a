package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutantsCompile checks the types of every mutant: one that does not compile shows nothing.
func TestMutantsCompile(t *testing.T) {
	s, err := readSources("../..")
	if err != nil {
		t.Fatal(err)
	}
	packages := listPackages(t)
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(name string) (io.ReadCloser, error) { return os.Open(packages[name].Export) })
	parsed := map[string]*ast.File{}
	for _, m := range mutants {
		applied, err := m.apply(s)
		if err != nil {
			t.Fatal(err)
		}
		in := packages["github.com/capacity-card/capacity-card/"+path.Dir(applied.file)]
		var files []*ast.File
		for _, name := range in.GoFiles {
			file := path.Join(path.Dir(applied.file), name)
			switch {
			case file == applied.file:
				files = append(files, parse(t, set, file, applied.source))
			case parsed[file] == nil:
				parsed[file] = parse(t, set, file, s.files[file])
				fallthrough
			default:
				files = append(files, parsed[file])
			}
		}
		config := types.Config{Importer: imports}
		if _, err := config.Check(in.ImportPath, set, files, nil); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
}

// TestMergedCompiles checks the types of all mutants together.
func TestMergedCompiles(t *testing.T) {
	s, err := readSources("../..")
	require.NoError(t, err)
	var all []mutated
	for i, m := range mutants {
		applied, err := m.apply(s)
		require.NoError(t, err)
		applied.number = i + 1
		all = append(all, applied)
	}
	files, err := merge(s, all)
	require.NoError(t, err)
	packages := listPackages(t)
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(name string) (io.ReadCloser, error) { return os.Open(packages[name].Export) })
	byPackage := map[string]bool{}
	for file := range files {
		byPackage[path.Dir(file)] = true
	}
	for dir := range byPackage {
		in := packages["github.com/capacity-card/capacity-card/"+dir]
		var parsed []*ast.File
		for _, name := range in.GoFiles {
			file := path.Join(dir, name)
			source, merged := files[file]
			if !merged {
				source = s.files[file]
			}
			parsed = append(parsed, parse(t, set, file, source))
		}
		config := types.Config{Importer: imports}
		_, err := config.Check(in.ImportPath, set, parsed, nil)
		assert.NoError(t, err, dir)
	}
}

func parse(t *testing.T, set *token.FileSet, file string, source []byte) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Export string
	GoFiles            []string
}

// listPackages returns the packages of the rooms, and those that they import, by path.
func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./fuzz/mutate/active"}
	for _, room := range rooms {
		args = append(args, "./"+filepath.Join(room, "..."))
	}
	list := exec.Command("go", args...)
	list.Dir = "../.."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}
