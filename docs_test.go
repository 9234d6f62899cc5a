package capacitycard_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// TestDocsNameWhatExists looks for every test that these pages name.
func TestDocsNameWhatExists(t *testing.T) {
	var source []byte
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
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
	for path, least := range map[string]int{"docs/RELIABILITY.md": 30, "docs/neighbours.md": 20, "docs/observability.md": 2} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("(Test|Fuzz)[A-Z][A-Za-z]+").FindAllString(string(page), -1)
		if len(named) < least {
			t.Errorf("%s names %d tests", path, len(named))
		}
		for _, name := range named {
			if !bytes.Contains(source, []byte("func "+name+"(")) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

// TestObservabilityIsDocumented looks for each alert and each panel, and for each
// series that these ask for and Volcano does not have, in docs/observability.md.
func TestObservabilityIsDocumented(t *testing.T) {
	page, err := os.ReadFile("docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("deploy/observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := os.ReadFile("deploy/observability/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	want := func(found [][][]byte, format string) {
		t.Helper()
		if len(found) == 0 {
			t.Errorf("nothing is found for %q", format)
		}
		for _, each := range found {
			if text := fmt.Sprintf(format, each[1]); !bytes.Contains(page, []byte(text)) {
				t.Errorf("docs/observability.md does not have %q", text)
			}
		}
	}
	want(regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(alerts, -1), "### %s\n")
	want(regexp.MustCompile(`"type": "timeseries",\s+"title": "(.+)"`).FindAllSubmatch(dashboard, -1), "%s")
	both := append(bytes.Clone(alerts), dashboard...)
	want(regexp.MustCompile(`(volcano_(?:cluster|queue_inqueue|queue_leaf|queue_card)[a-z_]*?)(?:_memory_bytes|_scalar_resources)?\b`).
		FindAllSubmatch(both, -1), "`%s")
}

// TestNeighboursAreAll looks for a row for each of Volcano's plugins, and for the
// tests of package neighbours, in docs/neighbours.md.
func TestNeighboursAreAll(t *testing.T) {
	page, err := os.ReadFile("docs/neighbours.md")
	if err != nil {
		t.Fatal(err)
	}
	volcano, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	if err != nil {
		t.Fatal(err)
	}
	plugins, err := os.ReadDir(filepath.Join(strings.TrimSpace(string(volcano)), "pkg/scheduler/plugins"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range plugins {
		row := regexp.MustCompile(`(?m)^\|.*` + "`" + regexp.QuoteMeta(plugin.Name()) + "`" + `.* \|`)
		if plugin.IsDir() && plugin.Name() != "util" && !row.Match(page) {
			t.Errorf("no row for %s", plugin.Name())
		}
	}
	files, err := filepath.Glob("plugin/neighbours/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(t `).FindAllSubmatch(source, -1) {
			if !bytes.Contains(page, append(append([]byte("`"), test[1]...), '`')) {
				t.Errorf("docs/neighbours.md does not name %s", test[1])
			}
		}
	}
}

// TestReferenceIsComplete expects docs/reference.md to have every argument, each
// of their values, and every annotation that the code knows.
func TestReferenceIsComplete(t *testing.T) {
	page, err := os.ReadFile("docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(source, pattern string, least int) {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
		if len(found) < least {
			t.Errorf("%s has %d of %s", source, len(found), pattern)
		}
		for _, name := range found {
			if !bytes.Contains(page, slices.Concat([]byte("`"), name[1], []byte("`"))) {
				t.Errorf("docs/reference.md does not have %s of %s", name[1], source)
			}
		}
	}
	expect("plugin/arguments.go", `(?m)^\t\w+ += "(\w+)"$`, 11)
	expect("index/card/quota.go", `"(volcano\.sh/[a-z./-]+)"`, 3)
	expect("index/card/list.go", `"(volcano\.sh/[a-z./-]+)"`, 2)
}

// TestLinks follows every link from one file of the repository to another.
func TestLinks(t *testing.T) {
	listed, err := exec.Command("git", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for page := range strings.Lines(string(listed)) {
		page = strings.TrimSpace(page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(found[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
