package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// TestAllIsInChinese expects a translation of each text of the templates, with the same
// arguments.
func TestAllIsInChinese(t *testing.T) {
	texts := map[string]bool{}
	files, err := fs.Glob(templates, "templates/*.html")
	require.NoError(t, err)
	for _, file := range files {
		content, err := templates.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?:\{\{|\(| )t(?:imed)? "([^"]+)"|count [^"{}]* "(\w+)"`).FindAllStringSubmatch(string(content), -1) {
			texts[found[1]+found[2]] = true
		}
	}
	for _, v := range (&Frame{}).Views() {
		texts[v.Title] = true
	}
	for _, found := range regexp.MustCompile(`say\(lang, "([^"]+)"`).FindAllStringSubmatch(string(read(t, "reasons.go")), -1) {
		texts[found[1]] = true
	}
	for _, found := range regexp.MustCompile(`(?m)^\tchange\w+ += "([^"]+)"`).FindAllStringSubmatch(string(read(t, "../overview.go")), -1) {
		texts[found[1]] = true // of the table of changes
	}
	constant := regexp.MustCompile(`(?m)^\t\w+Text +=\s+"([^"]+)"(?: \+\s+"([^"]+)")?`)
	for _, file := range []string{"use.go", "groups.go", "never.go"} {
		for _, found := range constant.FindAllStringSubmatch(string(read(t, "../../audit/"+file)), -1) {
			texts[found[1]+found[2]] = true
		}
	}
	for _, found := range regexp.MustCompile(`Basis = "(\w+)"`).FindAllStringSubmatch(string(read(t, "../../audit/audit.go")), -1) {
		texts[found[1]] = true
	}
	for _, words := range checks {
		texts[words] = true
	}
	for _, text := range unread {
		texts[text] = true
	}
	texts[withoutPods] = true
	for _, words := range rules {
		texts[words] = true
	}
	for _, found := range regexp.MustCompile(`return "(\w+)`).FindAllStringSubmatch(string(read(t, "../../engine/unusable.go")), -1) {
		texts[found[1]] = true // states of nodes
	}
	require.Greater(t, len(texts), 100)
	verbs := regexp.MustCompile(`%\w`)
	for text := range texts {
		own, known := chinese[text]
		assert.True(t, known, "%q", text)
		assert.Equal(t, verbs.FindAllString(text, -1), verbs.FindAllString(own, -1), "%q", text)
	}
}

// TestTablesFitATelephone expects the rows of tables with three columns or more to become blocks in a narrow window.
// Tables with bars, and tables with numbers in all columns except one, need not.
func TestTablesFitATelephone(t *testing.T) {
	files, err := fs.Glob(templates, "templates/*.html")
	require.NoError(t, err)
	tables := 0
	for _, file := range files {
		content, err := templates.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?s)<table([^>]*)>\s*<thead>(.*?)</thead>`).FindAllStringSubmatch(string(content), -1) {
			columns, numbers := strings.Count(found[2], "<th "), strings.Count(found[2], `class="number"`)
			if tables++; columns > 2 && numbers < columns-1 {
				assert.Regexp(t, `"stack\b|"queues"|stack"`, found[1], "%s: %s", file, found[2])
			}
		}
	}
	assert.Greater(t, tables, 10)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// TestAllRulesHaveWords finds words for each reason of package quota, and for each rule of the plugin, of cardctl explain
// and of the pages, and no other words.
func TestAllRulesHaveWords(t *testing.T) {
	known := map[report.Rule]bool{}
	for r := quota.Admitted + 1; !strings.HasPrefix(r.String(), "Reason("); r++ {
		known[report.Rule(r.String())] = true
	}
	for _, file := range []string{"../../../../plugin/report/reason.go", "../../explain/finding.go", "../model/cause.go"} {
		for _, constant := range regexp.MustCompile(`(?m)^(?:const|\t)\s*\w+ +(?:report\.)?Rule += "(\w+)"`).FindAllStringSubmatch(string(read(t, file)), -1) {
			known[report.Rule(constant[1])] = true
		}
	}
	for rule := range known {
		assert.NotEmpty(t, rules[rule], rule)
	}
	assert.Len(t, rules, len(known))
}

func TestPreferred(t *testing.T) {
	for accept, want := range map[string]string{"": "en", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "de": "en", "en-GB,zh;q=0.5": "en", "zh-TW": "zh", ";;": "en"} {
		assert.Equal(t, want, preferred(accept), accept)
	}
}

func TestCount(t *testing.T) {
	assert.Equal(t, "1 job", count("en", 1, "jobs"))
	assert.Equal(t, "0 jobs", count("en", 0, "jobs"))
	assert.Equal(t, "1 个作业", count("zh", 1, "jobs"))
}

// TestLibraries expects the committed libraries to match the lock file: "make assets" writes their sums.
func TestLibraries(t *testing.T) {
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	text, err := os.ReadFile("../assets/package-lock.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lock))
	sums, err := os.ReadFile("../assets/sums.txt")
	require.NoError(t, err)
	found := 0
	for line := range strings.Lines(string(sums)) {
		words := strings.Fields(line)
		require.Len(t, words, 4, line)
		sum, name, version, integrity := words[0], words[1], words[2], words[3]
		content, err := static.ReadFile("static/" + name)
		require.NoError(t, err)
		own := sha256.Sum256(content)
		assert.Equal(t, sum, hex.EncodeToString(own[:]), name)
		module, number, _ := strings.Cut(version, "@")
		locked := lock.Packages["node_modules/"+module]
		assert.Equal(t, locked.Version, number, name)
		assert.Equal(t, locked.Integrity, integrity, name)
		found++
	}
	assert.Equal(t, 2*(len(lock.Packages)-1), found, "a library and its license each")
}

func TestNiceStep(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 1: 1, 5: 1, 6: 2, 23: 5, 100: 20, 4000: 1000} {
		assert.InDelta(t, want, niceStep(most), 0, "%v", most)
	}
}

// TestChart stacks two layers, the second one on the first.
func TestChart(t *testing.T) {
	c := NewChart([]Layer{{Name: "a", Values: []float64{1, 2}}, {Values: []float64{1, 0}}}, nil)
	assert.InDelta(t, 2, c.Most, 0)
	assert.Equal(t, "M0 120L1000 0L1000 240L0 240Z", c.Layers[0].Path)
	assert.Equal(t, "M0 0L1000 0L1000 0L0 120Z", c.Layers[1].Path)
	c = NewChart([]Layer{{Name: "a", Values: []float64{0}}}, []float64{0})
	assert.Equal(t, "M0 240L1000 240L1000 240L0 240Z", c.Layers[0].Path)
	assert.Empty(t, c.Bound, "0 is no bound")
	c = NewChart([]Layer{{Name: "a", Values: []float64{1, 1, 1, 1}}}, []float64{2, 4, 0, 4})
	assert.InDelta(t, 4, c.Most, 0, "the bound has room")
	assert.Equal(t, "M0 180L1000 180L1000 240L0 240Z", c.Layers[0].Path, "a flat curve has two points")
	assert.Equal(t, "M0 120L333.33 0M1000 0", c.Bound, "a line that ends where there is no bound")
	assert.InDelta(t, 4, c.LastBound, 0)
	c = NewChart([]Layer{{Name: "a", Values: []float64{1}}}, []float64{2})
	assert.Equal(t, "M0 0L1000 0", c.Bound)
}

func TestPagesOf(t *testing.T) {
	assert.Equal(t, Pages{Page: 2, Last: 2, From: 200, To: 250, All: 250}, PagesOf(250, 100, 7))
	assert.Equal(t, Pages{To: 100, All: 100}, PagesOf(100, 100, 0))
	assert.Equal(t, Pages{}, PagesOf(0, 100, 3))
}
