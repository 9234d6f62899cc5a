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

// read returns what is in a file.
func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestDifferencesAreDocumented finds every file that marks a difference from
// upstream, and expects docs/differences.md to name it; and the reverse.
func TestDifferencesAreDocumented(t *testing.T) {
	page := read(t, "docs/differences.md")
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

// pages are those of which the tests and files that they name are looked for, with
// the least number of tests that each has to name.
var pages = map[string]int{
	"docs/RELIABILITY.md": 30, "docs/SEEDS.md": 500, "docs/cards.md": 60, "docs/deploy.md": 10, "docs/neighbours.md": 20, "docs/observability.md": 2,
}

// TestDocsNameWhatExists looks for every test, subtest and file that the pages
// name. A subtest has to stand, as a text, in a file with a test of that name.
func TestDocsNameWhatExists(t *testing.T) {
	tests, volcano := declaredTests(t), volcanoSources(t)
	testName := regexp.MustCompile("((?:Test|Fuzz|Benchmark)[A-Z]\\w+)(?:/([^`\n]+)`)?")
	fileName := regexp.MustCompile("`((?:[\\w.-]+/[\\w./-]+|[A-Z]+)\\.(?:go|md|yaml|json))`")
	for path, least := range pages {
		page := read(t, path)
		named := testName.FindAllStringSubmatch(string(page), -1)
		if len(named) < least {
			t.Errorf("%s names %d tests", path, len(named))
		}
		for _, name := range named {
			sources, found := tests[name[1]]
			if !found || name[2] != "" && !strings.Contains(sources, `"`+name[2]+`"`) {
				t.Errorf("%s names %s, which does not exist", path, strings.TrimSuffix(name[0], "`"))
			}
		}
		for _, file := range fileName.FindAllStringSubmatch(string(page), -1) {
			at := file[1]
			if strings.HasPrefix(at, "pkg/") {
				at = filepath.Join(volcano, at)
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s names %s: %v", path, file[1], err)
			}
		}
	}
}

// declaredTests returns the sources of the files that declare a test, by its name.
func declaredTests(t *testing.T) map[string]string {
	t.Helper()
	found, declaration := map[string]string{}, regexp.MustCompile(`(?m)^func (\w+)\(`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range declaration.FindAllSubmatch(source, -1) {
			found[string(name[1])] += string(source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// volcanoSources is the directory of Volcano's module.
func volcanoSources(t *testing.T) string {
	t.Helper()
	directory, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(directory))
}

// TestSeedsAreWholeRows reads the tables of docs/SEEDS.md: each row says what is
// described, in which file it is coded, and which test shows it or why none does.
// No document may lose rows.
func TestSeedsAreWholeRows(t *testing.T) {
	page := read(t, "docs/SEEDS.md")
	file, test := regexp.MustCompile("`[\\w./-]+\\.\\w+`"), regexp.MustCompile("^`(Test|Fuzz|Benchmark)[A-Z]")
	reason := regexp.MustCompile(`^Not (adopted|shown|reached)\b.*: `)
	documents := strings.Split(string(page), "\n## ")[1:]
	least := []int{112, 107, 62, 65, 51} // rows of each document
	if len(documents) != len(least) {
		t.Fatalf("there are %d documents", len(documents))
	}
	for i, document := range documents {
		rows := 0
		for _, line := range strings.Split(document, "\n") {
			if !strings.HasPrefix(line, "|") || line == "| described | coded in | shown by |" || line == "|---|---|---|" {
				continue
			}
			rows++
			columns := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
			if len(columns) != 5 || strings.TrimSpace(columns[1]) == "" || !file.MatchString(columns[2]) {
				t.Errorf("this row lacks something: %s", line)
				continue
			}
			if shown := strings.TrimSpace(columns[3]); !test.MatchString(shown) && !reason.MatchString(shown) {
				t.Errorf("this row names neither a test nor a reason: %s", line)
			}
		}
		if rows < least[i] {
			t.Errorf("document %d has %d rows, and had %d", i+1, rows, least[i])
		}
	}
}

// TestObservabilityIsDocumented looks for each alert and each panel, and for each
// series that these ask for and Volcano does not have, in docs/observability.md.
func TestObservabilityIsDocumented(t *testing.T) {
	page := read(t, "docs/observability.md")
	alerts := read(t, "deploy/observability/alerts.yaml")
	dashboard := read(t, "deploy/observability/dashboard.json")
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
	page := read(t, "docs/neighbours.md")
	plugins, err := os.ReadDir(filepath.Join(volcanoSources(t), "pkg/scheduler/plugins"))
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
		source := read(t, file)
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
	page := read(t, "docs/reference.md")
	expect := func(source, pattern string, least int) {
		text := read(t, source)
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
		text := read(t, page)
		for _, found := range link.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(found[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
