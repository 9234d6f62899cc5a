package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestCrossings expects docs/spec/crossings.md to have each hook of Volcano for each feature that is part of several
// packages, to say why where there is nothing, and to name functions that the files of the feature declare.
func TestCrossings(t *testing.T) {
	sections := strings.Split(string(read(t, "docs/spec/crossings.md")), "\n## ")
	hooks := rows(sections[0])
	if len(hooks) < 11 || len(sections) < 13 {
		t.Fatalf("docs/spec/crossings.md has %d hooks and %d features", len(hooks), len(sections)-1)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, section := range sections[1:] {
		feature, text, _ := strings.Cut(section, "\n")
		_, files, _ := strings.Cut(text, "Files: ")
		files, _, _ = strings.Cut(files, "\n")
		declared := map[string]bool{}
		for _, file := range quoted.FindAllStringSubmatch(files, -1) {
			for _, name := range functions(t, file[1]) {
				declared[name] = true
			}
		}
		cells := rows(text)
		for i, cell := range cells {
			if i >= len(hooks) || cell[0] != hooks[i][0] {
				t.Errorf("%s: %q is not the hook %d", feature, cell[0], i+1)
				break
			}
			names := quoted.FindAllStringSubmatch(cell[1], -1)
			if len(names) == 0 && !strings.HasPrefix(cell[1], "not here, ") {
				t.Errorf("%s, %s: neither a function nor a reason", feature, cell[0])
			}
			for _, name := range names {
				if !declared[name[1]] && !strings.ContainsAny(name[1], "./") {
					t.Errorf("%s, %s: its files do not declare %s", feature, cell[0], name[1])
				}
			}
		}
		if len(cells) != len(hooks) {
			t.Errorf("%s has %d hooks of %d", feature, len(cells), len(hooks))
		}
	}
}

// rows returns the cells of the rows of a table with two columns, without its head.
func rows(text string) (all [][2]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || cells[0] == "| hook" {
			continue
		}
		all = append(all, [2]string{strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[1], " |")})
	}
	return all
}

// functions returns the names of the functions and methods that a file declares.
func functions(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names = append(names, f.Name.Name)
		}
	}
	return names
}
