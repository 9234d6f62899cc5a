package house

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// section returns the text of a section of a page, up to the next one of its level.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(string(read(t, page)), "\n"+heading+"\n")
	require.True(t, found, "%s has no section %q", page, heading)
	level, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+level+" ")
	return text
}

// TestRunbook expects docs/operations.md to describe each alert, and no other: its meaning, how to look and the
// actions. Each alert must have the address of its section.
func TestRunbook(t *testing.T) {
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert       string
					Annotations map[string]string
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, "deploy/observability/prometheus/alerts.yaml"), &rules))
	var alerts, described []string
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			assert.True(t, strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/operations.md#"+strings.ToLower(rule.Alert)),
				"%s has the runbook %q", rule.Alert, rule.Annotations["runbook_url"])
		}
	}
	for _, each := range strings.Split(section(t, "docs/operations.md", "## Alerts"), "\n### ")[1:] {
		name, text, _ := strings.Cut(each, "\n")
		described = append(described, name)
		for _, part := range []string{"\n**What it means.** ", "\n**How to look.** ", "\n**What to do.** "} {
			assert.Contains(t, text, part, name)
		}
	}
	assert.Equal(t, alerts, described)
}

// TestSizingIsMeasured expects each amount of the table of sizes to stand in a table, or a sentence,
// of the page that its row names.
func TestSizingIsMeasured(t *testing.T) {
	rows := 0
	amount := regexp.MustCompile(`([\d.,]*\d) (MiB|GiB|ms|s)\b`)
	link := regexp.MustCompile(`\]\(([\w./-]+\.md)`)
	for line := range strings.Lines(section(t, "docs/operations.md", "## Sizing")) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || cells[0] == "| cluster" {
			continue
		}
		rows++
		source := link.FindStringSubmatch(cells[3])
		require.NotNil(t, source, line)
		page := strings.ReplaceAll(string(read(t, filepath.Join("docs", source[1]))), ",", "")
		for _, cell := range cells[1:3] {
			found := amount.FindStringSubmatch(cell)
			require.NotNil(t, found, "%q of %q is no amount", cell, cells[0])
			number := strings.ReplaceAll(found[1], ",", "")
			stands := regexp.MustCompile(`(?m)(^|[ |])` + regexp.QuoteMeta(number) + `($|[ |])`).MatchString(page)
			assert.True(t, stands, "%s does not have %s of %q", source[1], cell, cells[0])
		}
	}
	assert.GreaterOrEqual(t, rows, 8)
}

// TestSupport expects the pages to name the same releases of Volcano, and the release of the API server that is tested
// with each. These are the releases in the two go.mod files.
func TestSupport(t *testing.T) {
	versionOf := func(file, module string) string {
		found := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(string(read(t, file)))
		require.NotNil(t, found, "%s of %s", module, file)
		return found[1]
	}
	var want []string
	for _, file := range []string{"go.mod", "go.v1.15.mod"} {
		want = append(want, "v"+versionOf(file, "volcano.sh/volcano")+" with "+versionOf(file, "k8s.io/kubernetes"))
	}
	row := regexp.MustCompile(`(?m)^\| main[^|]*\| (v[\d.]+) \|[^|]*API server (\d[\d.]*\d)`)
	for _, page := range []string{"README.md", "docs/zh/README.md"} {
		var has []string
		for _, found := range row.FindAllStringSubmatch(string(read(t, page)), -1) {
			has = append(has, found[1]+" with "+found[2])
		}
		assert.Equal(t, want, has, page)
	}
	for _, page := range []string{"SECURITY.md", "docs/faq.md", "docs/dev/RELEASING.md", "docs/operations.md", "docs/install.md"} {
		text := string(read(t, page))
		for _, each := range want {
			volcano, _, _ := strings.Cut(each, " ")
			assert.True(t, strings.Contains(text, volcano), "%s does not name %s", page, volcano)
		}
	}
}

// TestGoVersions expects the pages to name the Go versions of the go.mod files.
func TestGoVersions(t *testing.T) {
	minor := func(file string) string {
		found := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(read(t, file)))
		require.NotNil(t, found, file)
		return found[1]
	}
	main, other, packaging := minor("go.mod"), minor("go.v1.15.mod"), minor("packaging/go.mod")
	contributing := flowing(t, "CONTRIBUTING.md")
	agents := minor("cmd/mcp/go.mod")
	assert.Contains(t, contributing, "`cmd/mcp` needs Go "+agents)
	assert.Contains(t, flowing(t, "docs/agents.md"), "`make mcp` needs Go "+agents)
	assert.Contains(t, contributing, "Go "+main+" or later")
	assert.Contains(t, contributing, "Volcano v1.15.1 needs Go "+other+", and `packaging` Go "+packaging)
	assert.Contains(t, flowing(t, "README.md"), "Go "+main+" or later ("+other+" with Volcano v1.15.1, and "+packaging+" to build images)")
	assert.Contains(t, flowing(t, "docs/install.md"), "Go "+packaging)
	for _, page := range []string{"docs/quickstart.md", "docs/zh/README.md", "docs/zh/quickstart.md"} {
		found := regexp.MustCompile(`Go (1\.\d+)`).FindAllStringSubmatch(string(read(t, page)), -1)
		require.NotEmpty(t, found, page)
		for _, each := range found {
			assert.True(t, slices.Contains([]string{main, other, packaging}, each[1]), "%s names Go %s", page, each[1])
		}
		assert.Equal(t, main, found[0][1], page)
	}
}
