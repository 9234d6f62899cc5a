package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"

	"github.com/capacity-card/capacity-card/fuzz/mutate/active"
)

// merge puts the mutants that are in bodies of functions into one set of files. A function with
// mutants asks which one is active, and continues with the body of that one:
//
//	func f() int {
//		switch active.Mutant(1) {
//		case 7:
//			… // as the mutant 7 has it
//		}
//		… // as it is
//	}
//
// So each package of tests is built once and not once for each mutant, which takes longer than most tests.
// A function has the number of its first mutant.
func merge(s *sources, all []mutated) (map[string][]byte, error) {
	type function struct {
		declaration
		number int
		cases  bytes.Buffer
	}
	var found []*function
	for i, m := range all {
		if m.body == nil {
			continue
		}
		n := slices.IndexFunc(found, func(f *function) bool { return f.name == m.name })
		if n < 0 {
			n, found = len(found), append(found, &function{declaration: m.declaration, number: m.number})
		}
		all[i].function = found[n].number
		fmt.Fprintf(&found[n].cases, "case %d:\n%s\n", m.number, m.body)
		if !m.results {
			found[n].cases.WriteString("return\n")
		}
	}
	if len(all) >= active.Functions {
		return nil, fmt.Errorf("there are %d mutants, and at most %d can be", len(all), active.Functions-1)
	}
	slices.SortFunc(found, func(a, b *function) int { return b.start - a.start }) // later ones first: offsets stay valid
	files := map[string][]byte{}
	for _, f := range found {
		source, ok := files[f.file]
		if !ok {
			source = s.files[f.file]
		}
		at := f.declaration.body.start
		asked := fmt.Appendf(nil, "\nswitch active__.Mutant(%d) {\n%s}\n", f.number, f.cases.Bytes())
		files[f.file] = slices.Concat(source[:at], asked, source[at:])
	}
	for file, source := range files {
		formatted, err := format.Source(imported(source))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		files[file] = formatted
	}
	return files, nil
}

// imported returns a file that imports package active.
func imported(source []byte) []byte {
	clause := append([]byte("\n"), source...)
	at := bytes.Index(clause, []byte("\npackage ")) + 1
	end := at + bytes.IndexByte(clause[at:], '\n')
	return slices.Concat(source[:end-1], []byte("\nimport active__ \"github.com/capacity-card/capacity-card/fuzz/mutate/active\"\n"), source[end-1:])
}

func writeFiles(tree string, files map[string][]byte) error {
	for file, source := range files {
		if err := os.WriteFile(filepath.Join(tree, file), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
