package capacitycard_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
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
