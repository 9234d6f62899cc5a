package house

import (
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestDifferencesAreMeasured expects the table of docs/spec/differences.md with the numbers of
// differing answers to have a row for each difference that the differential test accepts.
func TestDifferencesAreMeasured(t *testing.T) {
	_, table, found := strings.Cut(string(read(t, "docs/spec/differences.md")), "\n| answers compared |")
	if !found {
		t.Fatal("docs/spec/differences.md has no table of answers")
	}
	_, table, _ = strings.Cut(table, "\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var measured, accepted []string
	for row := range strings.Lines(table) {
		measured = append(measured, strings.ToLower(strings.Split(row, " | ")[0][2:]))
	}
	_, list, _ := strings.Cut(string(read(t, "plugin/internal/differential/differential_test.go")), "// The intended differences")
	list, _, _ = strings.Cut(list, "\n)\n")
	for _, name := range regexp.MustCompile(`(?m)^\t\w+ += "(.*)"$`).FindAllStringSubmatch(list, -1) {
		accepted = append(accepted, strings.ToLower(name[1]))
	}
	slices.Sort(measured)
	slices.Sort(accepted)
	if len(accepted) < 20 || !slices.Equal(measured, accepted) {
		t.Errorf("docs/spec/differences.md has %q, and plugin/internal/differential/differential_test.go accepts %q", measured, accepted)
	}
}

// TestFuzzTargetsAreNamed expects docs/spec/guarantees.md to name each fuzz target, and
// make fuzz to run it.
func TestFuzzTargetsAreNamed(t *testing.T) {
	page, makefile := read(t, "docs/spec/guarantees.md"), read(t, "Makefile")
	fuzzed := regexp.MustCompile(`(?m)^FUZZED ?\?= (.*)$`).FindSubmatch(makefile)
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
				t.Errorf("docs/spec/guarantees.md does not name %s of %s", target[1], path)
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

// names returns the first group of each match in files.
func names(t *testing.T, pattern string, files ...string) (found []string) {
	t.Helper()
	for _, file := range files {
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(read(t, file)), -1) {
			found = append(found, match[1])
		}
	}
	return found
}

// same reports names that only one of two lists has.
func same(t *testing.T, page string, documented []string, source string, declared []string) {
	t.Helper()
	for _, name := range declared {
		if !slices.Contains(documented, name) {
			t.Errorf("%s does not have %s of %s", page, name, source)
		}
	}
	for _, name := range documented {
		if !slices.Contains(declared, name) {
			t.Errorf("%s has %s, and %s does not", page, name, source)
		}
	}
}

// TestSeriesAreDocumented expects docs/observability.md and docs/reference.md to have each series
// that the plugins write, and no other of queues.
func TestSeriesAreDocumented(t *testing.T) {
	source := []string{"plugin/report/series.go", "plugin/report/usage.go", "plugin/report/family.go", "plugin/report/holders.go"}
	var declared []string
	for _, name := range names(t, `queue(?:Vec|Family)\("(\w+)"`, source...) {
		declared = append(declared, "volcano_queue_"+name)
	}
	for _, name := range names(t, `queueAccount\("(\w+)"`, source...) {
		declared = append(declared, "volcano_queue_"+name+"_")
	}
	for _, name := range names(t, `(?:histogramVec|counterVec|gaugeVec|newFamily)\("(\w+)"[,)]`, source...) {
		declared = append(declared, "volcano_"+name)
	}
	for _, name := range names(t, `\w+: +family\("(\w+)"`, "plugin/report/family.go") {
		if !strings.HasPrefix(name, "_") { // a unit
			declared = append(declared, "volcano_cluster_"+name)
		}
	}
	if len(declared) < 15 {
		t.Errorf("%s has %q", source, declared)
	}
	text := strings.Join([]string{string(read(t, "docs/observability.md")), string(read(t, "docs/reference.md"))}, "\n")
	for _, name := range declared {
		// The page shortens the names of one quantity in several units.
		if !strings.Contains(text, "`"+name) && !(strings.HasPrefix(name, "volcano_cluster_") && strings.Contains(text, "`"+strings.TrimPrefix(name, "volcano_cluster")+"`")) {
			t.Errorf("neither docs/observability.md nor docs/reference.md has %s", name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(volcano_(?:queue|cluster)_[a-z_]+)").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(declared, func(name string) bool {
			return name == row[1] || strings.HasPrefix(row[1], name) && strings.HasSuffix(name, "_")
		}) {
			t.Errorf("the pages have %s, and %s does not", row[1], source)
		}
	}
}

// TestReasonsOfEventsAreDocumented expects docs/reference.md to have each reason of an event and of
// a condition that the plugins write.
func TestReasonsOfEventsAreDocumented(t *testing.T) {
	text := section(t, "docs/reference.md", "## Events, conditions and logs")
	declared := names(t, `(?m)^\t(\w+) += "\w+"`, "plugin/record/recorder.go", "plugin/report/condition.go")
	declared = append(declared, names(t, `(?m)^\t(InqueueTimeout|PromiseDisplaced) +=`, "plugin/reserve/promise.go")...)
	if len(declared) < 8 {
		t.Errorf("there are the reasons %q", declared)
	}
	for _, reason := range declared {
		if !strings.Contains(text, "`"+reason+"`") {
			t.Errorf("docs/reference.md does not have the reason %s", reason)
		}
	}
}

// TestDependenciesAreExplained expects docs/dev/DEPENDENCIES.md to have each module that go.mod
// requires directly, and no other.
func TestDependenciesAreExplained(t *testing.T) {
	page := string(read(t, "docs/dev/DEPENDENCIES.md"))
	required := names(t, `(?m)^\t([\w./-]+) v\S+$`, "go.mod")
	patterns := map[string]bool{} // and whether a module has it
	for _, heading := range []string{"## What the programs depend on", "## What only tests and measurements depend on"} {
		for line := range strings.Lines(section(t, "docs/dev/DEPENDENCIES.md", heading)) {
			if cell, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " | "); found && strings.HasPrefix(line, "| `") && !strings.Contains(cell, "npm") {
				for _, name := range strings.Split(strings.Trim(cell, "`"), "`, `") {
					patterns[name] = patterns[name] || !strings.ContainsAny(name, "./")
				}
			}
		}
	}
	for _, module := range required {
		covered := false
		for pattern := range patterns {
			if prefix, is := strings.CutSuffix(pattern, "*"); pattern == module || is && strings.HasPrefix(module, prefix) {
				covered, patterns[pattern] = true, true
			}
		}
		if !covered {
			t.Errorf("docs/dev/DEPENDENCIES.md does not have %s", module)
		}
	}
	for _, module := range names(t, `(?m)^\t([\w./-]+) v\S+ // indirect$`, "go.mod") { // of tools
		if _, found := patterns[module]; found {
			patterns[module] = true
		}
	}
	licences := regexp.MustCompile(`^(0BSD|BSD-\d|MIT|ISC|MPL|Apache)`)
	for pattern, used := range patterns {
		if !used && !licences.MatchString(pattern) {
			t.Errorf("docs/dev/DEPENDENCIES.md has %s, and go.mod does not", pattern)
		}
	}
	for _, module := range names(t, `(?m)^\t([\w./-]+) v\S+$`, "packaging/go.mod", "cmd/mcp/go.mod") {
		parent, _, _ := strings.Cut(strings.TrimPrefix(module, "sigs.k8s.io/"), "/")
		if !strings.Contains(page, "`"+module+"`") && !strings.Contains(page, "`sigs.k8s.io/"+parent+"/*`") && !strings.Contains(page, module+"/") {
			t.Errorf("docs/dev/DEPENDENCIES.md does not have %s of packaging or cmd/mcp", module)
		}
	}
}

// TestNeighboursAreListed expects docs/neighbours.md to have each plugin of Volcano's scheduler.
func TestNeighboursAreListed(t *testing.T) {
	directories, err := filepath.Glob(filepath.Join(volcanoSources(t), "pkg/scheduler/plugins/*"))
	if err != nil {
		t.Fatal(err)
	}
	var plugins []string
	for _, directory := range directories {
		name := filepath.Base(directory)
		if filepath.Ext(name) == "" && name != "OWNERS" && name != "util" {
			plugins = append(plugins, name)
		}
	}
	var listed []string
	for _, cell := range names(t, "(?m)^\\| (`[^|]*`) \\|", "docs/neighbours.md") {
		for _, name := range regexp.MustCompile("`([\\w-]+)`").FindAllStringSubmatch(cell, -1) {
			if name[1] != "enableHierarchy" {
				listed = append(listed, name[1])
			}
		}
	}
	if len(plugins) < 20 {
		t.Errorf("Volcano has the plugins %q", plugins)
	}
	same(t, "docs/neighbours.md", listed, "Volcano", plugins)
}

// TestPermissionsAreListed compares the table of SECURITY.md with the role of the scheduler, rule by
// rule.
func TestPermissionsAreListed(t *testing.T) {
	var want []string
	for _, role := range manifests[rbac.ClusterRole](t, "ClusterRole", "deploy/drop-in/rbac.yaml") {
		for _, rule := range role.Rules {
			groups := strings.Join(rule.APIGroups, ", ")
			want = append(want, fmt.Sprintf("| %s | %s | %s |", cmp.Or(groups, "core"), strings.Join(rule.Resources, ", "), strings.Join(rule.Verbs, ", ")))
		}
	}
	_, table, _ := strings.Cut(section(t, "SECURITY.md", "## Permissions of the scheduler"), "|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if got := strings.Split(strings.TrimSpace(table), "\n"); !slices.Equal(got, want) {
		t.Errorf("SECURITY.md has\n%s\nand deploy/drop-in/rbac.yaml\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHooksAreOnThePath expects the path of a pod in docs/dev/ARCHITECTURE.md to have each hook that
// the plugins register, and no other.
func TestHooksAreOnThePath(t *testing.T) {
	declared := names(t, `(?:ssn|release)\.Add(\w+?)Fns?\(`, "plugin/internal/session/hooks.go")
	declared = append(declared, names(t, `(AllocateFunc|DeallocateFunc):`, "plugin/internal/session/hooks.go")...)
	declared = append(declared, "AllocateFunc", "OnSessionOpen", "OnSessionClose")
	if len(declared) < 20 {
		t.Errorf("plugin/internal/session/hooks.go registers %q", declared)
	}
	var documented []string
	for row := range strings.Lines(section(t, "docs/dev/ARCHITECTURE.md", "## The path of a pod")) {
		if cells := strings.Split(row, " | "); strings.HasPrefix(row, "| ") && len(cells) == 3 {
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				documented = append(documented, name[1])
			}
		}
	}
	same(t, "docs/dev/ARCHITECTURE.md", documented, "plugin/internal/session/hooks.go", declared)
}

// TestChartIsDocumented expects the table of docs/deploy.md to have each part of the chart, with
// its default, and the page to have each value of the pages.
func TestChartIsDocumented(t *testing.T) {
	var values map[string]map[string]any
	if err := yaml.Unmarshal(read(t, "deploy/charts/capacity-card/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	page := section(t, "docs/deploy.md", "## Around the scheduler") + section(t, "docs/operations.md", "## Metrics of the pages")
	var has, documented []string
	for part, of := range values {
		if on, found := of["enabled"]; found {
			has = append(has, part+".enabled "+map[bool]string{true: "on", false: "off"}[on == true])
		}
	}
	for row := range strings.Lines(page) {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| ") || len(cells) != 3 {
			continue
		}
		state := regexp.MustCompile(`, (on|off)\b`).FindStringSubmatch(cells[1])
		for _, name := range regexp.MustCompile("`(\\w+\\.enabled)`").FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, name[1]+" "+state[1])
		}
	}
	same(t, "docs/deploy.md", documented, "the chart", has)
	text := string(read(t, "docs/deploy.md")) + string(read(t, "docs/operations.md"))
	for value := range values["view"] {
		if value != "enabled" && value != "certificateSecret" && value != "imagePullSecrets" && !strings.Contains(text, "`view."+value+"`") {
			t.Errorf("neither docs/deploy.md nor docs/operations.md has view.%s", value)
		}
	}
}
