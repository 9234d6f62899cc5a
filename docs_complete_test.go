package capacitycard_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArgumentsAreDocumented expects docs/reference.md to have a row for each argument, and
// for no other, and the documentation of package plugin to say where they are.
func TestArgumentsAreDocumented(t *testing.T) {
	_, table, found := strings.Cut(string(read(t, "docs/reference.md")), "\n| argument | values | default | effect |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("docs/reference.md has no table of arguments")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	named := func(pattern, text string) (names []string) {
		for _, name := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, name[1])
		}
		slices.Sort(names)
		return names
	}
	documented := named("(?m)^\\| `([\\w.]+)` \\|", table)
	known := named(`(?m)^\t\w+ += "([\w.]+)"$`, string(read(t, "plugin/arguments/arguments.go")))
	if len(known) < 19 || !slices.Equal(documented, known) {
		t.Errorf("docs/reference.md has the arguments %s, and plugin/arguments/arguments.go %s", documented, known)
	}
	if !bytes.Contains(read(t, "plugin/doc.go"), []byte("docs/reference.md")) {
		t.Error("plugin/doc.go does not refer to docs/reference.md")
	}
}

// TestReferenceIsComplete expects docs/reference.md to have the values of arguments, and
// every annotation of the code.
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
	expect("plugin/arguments/arguments.go", `(?m)^\t\w+ +VictimsBy = "(\w+)"$`, 2)
	expect("plugin/intake/state.go", `(?m)^\t\w+ +(?:RootCapability|UnsetCapability|DeservedFrom|HierarchyFrom) += "(\w+)"`, 8)
	expect("plugin/cards/registry.go", `(?m)^\t\w+ +UntypedCards += "(\w+)"`, 3)
	expect("index/card/quota.go", `"(volcano\.sh/[a-z./-]+)"`, 3)
	expect("index/policy/policy.go", `"(volcano\.sh/[a-z./-]+[a-z])"`, 3)
	expect("index/card/list.go", `"(volcano\.sh/[a-z./-]+)"`, 2)
}

// TestDifferencesAreMeasured expects the table of docs/differences.md with the numbers of
// differing answers to have a row for each difference that the differential test accepts.
func TestDifferencesAreMeasured(t *testing.T) {
	_, table, found := strings.Cut(string(read(t, "docs/differences.md")), "\n| answers compared |")
	if !found {
		t.Fatal("docs/differences.md has no table of answers")
	}
	_, table, _ = strings.Cut(table, "\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var measured, accepted []string
	for row := range strings.Lines(table) {
		measured = append(measured, strings.ToLower(strings.Split(row, " | ")[0][2:]))
	}
	_, list, _ := strings.Cut(string(read(t, "plugin/differential_test.go")), "// The intended differences")
	list, _, _ = strings.Cut(list, "\n)\n")
	for _, name := range regexp.MustCompile(`(?m)^\t\w+ += "(.*)"$`).FindAllStringSubmatch(list, -1) {
		accepted = append(accepted, strings.ToLower(name[1]))
	}
	slices.Sort(measured)
	slices.Sort(accepted)
	if len(accepted) < 20 || !slices.Equal(measured, accepted) {
		t.Errorf("docs/differences.md has %q, and plugin/differential_test.go accepts %q", measured, accepted)
	}
}

// TestFuzzTargetsAreNamed expects docs/dev/RELIABILITY.md to name each fuzz target, and
// make fuzz to run it.
func TestFuzzTargetsAreNamed(t *testing.T) {
	page, makefile := read(t, "docs/dev/RELIABILITY.md"), read(t, "Makefile")
	fuzzed := regexp.MustCompile(`(?m)^\t@for package in (.*); do`).FindSubmatch(makefile)
	if fuzzed == nil {
		t.Fatal("the Makefile has no packages to fuzz")
	}
	listed, err := exec.Command("git", "ls-files", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	targets, declaration := 0, regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	for _, path := range strings.Fields(string(listed)) {
		for _, target := range declaration.FindAllSubmatch(read(t, path), -1) {
			targets++
			if !bytes.Contains(page, append(append([]byte("`"), target[1]...), '`')) {
				t.Errorf("docs/dev/RELIABILITY.md does not name %s of %s", target[1], path)
			}
			if !slices.Contains(strings.Fields(string(fuzzed[1])), "./"+filepath.Dir(path)) {
				t.Errorf("make fuzz does not run %s of %s", target[1], path)
			}
		}
	}
	if targets < 15 {
		t.Errorf("there are %d fuzz targets", targets)
	}
}

// TestLicensesAreExplained expects docs/dev/DEPENDENCIES.md to have a row for each license
// that a dependency may have, and for no other.
func TestLicensesAreExplained(t *testing.T) {
	page, source := string(read(t, "docs/dev/DEPENDENCIES.md")), string(read(t, "packaging/modules.go"))
	_, table, found := strings.Cut(page, "\n| license | why it is allowed |\n|---|---|\n")
	if !found {
		t.Fatal("docs/dev/DEPENDENCIES.md has no table of licenses")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	list := regexp.MustCompile(`(?m)^var allowed = \[\]string\{(.*)\}$`).FindStringSubmatch(source)
	if list == nil {
		t.Fatal("packaging/modules.go has no list of licenses")
	}
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| .+ \\|$").FindAllStringSubmatch(table, -1) {
		explained = append(explained, strings.Split(strings.ReplaceAll(row[1], "`", `"`), ", ")...)
	}
	allowed := strings.Split(list[1], ", ")
	slices.Sort(explained)
	slices.Sort(allowed)
	if !slices.Equal(explained, allowed) {
		t.Errorf("docs/dev/DEPENDENCIES.md explains %s, and packaging/modules.go allows %s", explained, allowed)
	}
}
