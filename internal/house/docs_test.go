package house

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

// read returns the content of a file.
func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestDifferencesAreDocumented expects docs/spec/differences.md to name exactly the files
// that mark a difference from upstream.
func TestDifferencesAreDocumented(t *testing.T) {
	page := read(t, "docs/spec/differences.md")
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
			t.Errorf("%s marks a difference: %t; docs/spec/differences.md names it: %t", path, is, named)
		}
	}
}

// pages are files that may name only tests and files that exist. All other pages are checked in the same way. The value
// is the minimum number of tests that the file names.
var pages = map[string]int{
	"docs/spec/guarantees.md": 30, "docs/dev/SEEDS.md": 1, "docs/dev/ARCHITECTURE.md": 3, "docs/spec/deploy.md": 10,
	"docs/dev/requirements/capacity.tsv": 150, "docs/dev/requirements/cards.tsv": 220, "docs/dev/requirements/proportion.tsv": 80,
	"docs/dev/requirements/plugins.tsv": 60, "docs/dev/requirements/weights.tsv": 60, "docs/observability.md": 0, "docs/spec/differences.md": 10, "CONTRIBUTING.md": 0, "SECURITY.md": 0,
}

// TestDocsNameWhatExists looks up every test, subtest and file that the pages name.
// The name of a subtest must be a string in a file that declares its test, or a file of scenes.
func TestDocsNameWhatExists(t *testing.T) {
	tests, volcano := declaredTests(t), volcanoSources(t)
	testName := regexp.MustCompile("((?:Test|Fuzz|Benchmark)[A-Z]\\w+)(?:/([^`\n]+)`)?")
	fileName := regexp.MustCompile("`((?:[\\w.-]+/[\\w./-]+|[A-Z]+)\\.(?:go|md|yaml|json))`")
	for _, path := range allPages(t) {
		if _, listed := pages[path]; !listed && !isGenerated(read(t, path)) && path != "CHANGELOG.md" {
			pages[path] = 0
		}
	}
	for path, least := range pages {
		page := read(t, path)
		named := testName.FindAllStringSubmatch(string(page), -1)
		if len(named) < least {
			t.Errorf("%s names %d tests", path, len(named))
		}
		for _, name := range named {
			sources, found := tests[name[1]]
			_, scenes := os.Stat(filepath.Join("plugin", "internal", "chaos", "testdata", "scenes", name[2]))
			if !found || name[2] != "" && !strings.Contains(sources, `"`+name[2]+`"`) && scenes != nil {
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

// allPages returns the pages of the repository.
func allPages(t *testing.T) []string {
	t.Helper()
	listed, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(listed))
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

// requirementFiles have the requirements of the design documents, with the minimum number of lines
// of each.
var requirementFiles = map[string]int{
	"docs/dev/requirements/capacity.tsv": 112, "docs/dev/requirements/cards.tsv": 145, "docs/dev/requirements/proportion.tsv": 62,
	"docs/dev/requirements/plugins.tsv": 65, "docs/dev/requirements/weights.tsv": 51,
}

// TestSeedsAreWhole reads the requirements. Each line has a section, a requirement, the files that
// implement it, and its tests or the reason why there are none. docs/dev/SEEDS.md names each file,
// and no file may lose lines.
func TestSeedsAreWhole(t *testing.T) {
	file, test := regexp.MustCompile("`[\\w./-]+\\.\\w+`"), regexp.MustCompile("^`(Test|Fuzz|Benchmark)[A-Z]")
	reason := regexp.MustCompile(`^Not (adopted|shown|reached)\b.*: `)
	page := read(t, "docs/dev/SEEDS.md")
	for path, least := range requirementFiles {
		if !bytes.Contains(page, []byte("(requirements/"+filepath.Base(path)+")")) {
			t.Errorf("docs/dev/SEEDS.md does not name %s", path)
		}
		lines := strings.Split(strings.TrimSuffix(string(read(t, path)), "\n"), "\n")
		if lines[0] != "section\trequirement\timplemented in\ttested by" {
			t.Errorf("%s begins with %q", path, lines[0])
		}
		for _, line := range lines[1:] {
			columns := strings.Split(line, "\t")
			if len(columns) != 4 || columns[0] == "" || columns[1] == "" || !file.MatchString(columns[2]) {
				t.Errorf("this line of %s lacks something: %s", path, line)
				continue
			}
			if !test.MatchString(columns[3]) && !reason.MatchString(columns[3]) {
				t.Errorf("this line of %s names neither a test nor a reason: %s", path, line)
			}
		}
		if len(lines)-1 < least {
			t.Errorf("%s has %d lines, and had %d", path, len(lines)-1, least)
		}
	}
}

// TestRequirementsNameCardTests expects the requirements of cards to name all tests of cards on the control plane, and
// no others.
func TestRequirementsNameCardTests(t *testing.T) {
	_, table, _ := bytes.Cut(read(t, "e2e/cards_test.go"), []byte("\nvar cardTests = "))
	table, _, _ = bytes.Cut(table, []byte("\n}\n"))
	names := func(pattern string, text []byte) []string {
		var all []string
		for _, each := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			all = append(all, string(each[1]))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	exist := names(`(?m)^\t\{"(\w+)", `, table)
	named := names("`TestCards/(\\w+)`", read(t, "docs/dev/requirements/cards.tsv"))
	if len(exist) == 0 || !slices.Equal(exist, named) {
		t.Errorf("the tests of cards are %v, and docs/dev/requirements/cards.tsv names %v", exist, named)
	}
}

// TestObservabilityIsDocumented expects docs/observability.md to have each panel, and each series
// in queries of panels and alerts that Volcano does not have.
func TestObservabilityIsDocumented(t *testing.T) {
	page := read(t, "docs/observability.md")
	alerts := read(t, "deploy/observability/prometheus/alerts.yaml")
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
	want(regexp.MustCompile(`"type": "(?:timeseries|table|stat)",\s+"title": "(.+)"`).FindAllSubmatch(dashboard, -1), "%s")
	both := append(bytes.Clone(alerts), dashboard...)
	want(regexp.MustCompile(`(volcano_(?:cluster|queue_inqueue|queue_leaf|queue_card|queue_waiting|queue_admission)[a-z_]*?)(?:_memory_bytes|_scalar_resources|_bucket|_sum|_count)?\b`).
		FindAllSubmatch(both, -1), "`%s")
}

// TestWordsAreExplained expects a link to docs/concepts.md before or in the paragraph in
// which a page first uses a word of the scheduler.
func TestWordsAreExplained(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	word := regexp.MustCompile(`(?i)\b(sessions?|(?:scheduling )?cycles?|tiers?|victims?|realCapability)\b`)
	for _, page := range pages {
		if slices.Contains([]string{"docs/concepts.md", "docs/quickstart.md", "docs/cardctl.md"}, page) {
			continue // the first is the explanation; the others run on the demo step by step
		}
		for paragraph := range strings.SplitSeq(withoutCode(string(read(t, page))), "\n\n") {
			if strings.Contains(paragraph, "concepts.md") {
				break
			}
			if used := word.FindString(paragraph); used != "" {
				t.Errorf("%s uses %q before a link to docs/concepts.md", page, used)
				break
			}
		}
	}
}

// TestComparisonNamesSources expects a link in each cell of the tables that compare this project with others.
func TestComparisonNamesSources(t *testing.T) {
	used := regexp.MustCompile(`\]\[([^]]+)\]`)
	for _, path := range []string{"docs/comparison.md", "docs/zh/README.md"} {
		page, cells := string(read(t, path)), 0
		_, table, _ := strings.Cut(page, "| KAI Scheduler | YuniKorn |\n")
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") {
				break
			}
			if strings.HasPrefix(line, "|---") {
				continue
			}
			for _, cell := range strings.Split(strings.Trim(line, "|\n"), "|")[1:] {
				cells++
				if !strings.Contains(cell, "](") && !strings.Contains(cell, "][") {
					t.Errorf("%s has a claim without a source: %s in %s", path, cell, line)
				}
			}
		}
		if cells < 50 {
			t.Errorf("%s compares in %d cells", path, cells)
		}
		for _, name := range used.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, "\n["+name[1]+"]: https://") {
				t.Errorf("%s does not define the link %s", path, name[1])
			}
		}
	}
}

// TestLinks follows every link from a page of the repository to a file, and to a
// heading of a page.
func TestLinks(t *testing.T) {
	listed, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	links := 0
	for page := range strings.Lines(string(listed)) {
		page = strings.TrimSpace(page)
		text := withoutCode(string(read(t, page)))
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			links++
			target := page
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if found[2] != "" && !slices.Contains(anchors(string(read(t, target))), found[2]) {
				t.Errorf("%s: %s has no heading #%s", page, target, found[2])
			}
		}
	}
	if links < 100 {
		t.Errorf("there are %d links", links)
	}
}

// withoutCode returns a page without its fenced blocks.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
}

// anchors returns the names by which a link reaches the headings of a page: lower
// case, without punctuation, hyphens for spaces.
func anchors(page string) (names []string) {
	punctuation := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		name := punctuation.ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestTranslations expects the same commands in a page and its translation, and links from a translation to other
// translations.
func TestTranslations(t *testing.T) {
	commands := regexp.MustCompile("(?s)```(?:sh|diff)?\n.*?```")
	original := commands.FindAllString(string(read(t, "docs/install.md")), -1)
	translated := commands.FindAllString(string(read(t, "docs/zh/install.md")), -1)
	if !slices.Equal(original, translated) {
		t.Error("docs/zh/install.md does not have the commands of docs/install.md")
	}

	pages, err := filepath.Glob("docs/zh/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages in docs/zh: %v", len(pages), err)
	}
	english := regexp.MustCompile(`\[English\]\([^)]*\)`)
	for _, page := range pages {
		text := english.ReplaceAllString(string(read(t, page)), "")
		for _, other := range pages {
			name := filepath.Base(other)
			if name != "README.md" && strings.Contains(text, "](../"+name+")") {
				t.Errorf("%s links to docs/%s, and docs/zh/%[2]s exists", page, name)
			}
		}
	}
}
