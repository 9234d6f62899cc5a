package capacitycard_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesAreDocumented finds every file that marks a difference from
// upstream, and expects docs/differences.md to name it; and the reverse.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	marked := map[string]bool{}
	for _, room := range []string{"fastres", "index", "quota", "plugin"} {
		err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			marked[path] = bytes.Contains(source, []byte("DIVERGES:"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, is := range marked {
		if named := bytes.Contains(page, []byte("`"+path+"`")); named != is {
			t.Errorf("%s marks a difference: %t; docs/differences.md names it: %t", path, is, named)
		}
	}
}

// TestReliabilityNamesWhatExists looks for every test that docs/RELIABILITY.md
// names.
func TestReliabilityNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/RELIABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		source = append(source, content...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(Test|Fuzz)[A-Z][A-Za-z]+").FindAllString(string(page), -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		if !bytes.Contains(source, []byte("func "+name+"(")) {
			t.Errorf("docs/RELIABILITY.md names %s, which does not exist", name)
		}
	}
}
