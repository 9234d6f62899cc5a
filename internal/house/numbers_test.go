package house

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// counts are the numbers in pages that count something in the sources. says finds the number
// in a page. is finds it in a source, or, if it has no group, has its matches counted there.
var counts = []struct{ page, says, source, is string }{
	{"README.md", `with (\S+) plugins compiled in`, "plugin/doc.go", pluginNames},
	{"docs/faq.md", `registers (\S+) plugins`, "plugin/doc.go", pluginNames},
	{"docs/reference.md", `Configure one of (\S+) plugins`, "plugin/doc.go", pluginNames},
	{"docs/zh/README.md", `编译进了(.)个插件`, "plugin/doc.go", pluginNames},
	{"docs/spec/differences.md", `compares ([\d,]+) random clusters for each plugin`, "Makefile", `TestDifferential -v -timeout 60m -clusters (\d+)`},
	{"docs/spec/guarantees.md", "`TestDifferential`\\) \\| ([\\d,]+) \\|", "plugin/internal/testbed/random.go", `"clusters", (\d+)`},
	{"docs/spec/guarantees.md", "`TestDifferential`\\) \\| \\S+ \\| `make differential`: ([\\d,]+) \\|", "Makefile", `TestDifferential -v -timeout 60m -clusters (\d+)`},
	{"docs/spec/guarantees.md", "`TestRandomSessions`\\) \\| ([\\d,]+) \\|", "plugin/internal/oracle/random_test.go", `"sessions", (\d+)`},
	{"docs/spec/guarantees.md", "`TestRandomSessions`\\) \\| \\S+ \\| `make differential`: ([\\d,]+) \\|", "Makefile", `TestRandomSessions -timeout 60m -sessions (\d+)`},
	{"docs/spec/guarantees.md", "`TestThousandSessions`\\) \\| ([\\d,]+) \\|", "plugin/internal/session/memory_churn_test.go", `const sessions, settled = (\d+),`},
	{"docs/spec/guarantees.md", "`TestChaos`\\) \\| ([\\d,]+) \\|", "plugin/internal/chaos/chaos_test.go", `"worlds", (\d+)`},
	{"docs/spec/guarantees.md", `In each of (\d+) cycles`, "plugin/internal/chaos/draw_test.go", `const chaosCycles = (\d+)`},
	{"docs/spec/guarantees.md", "`TestNoPromiseLeaks` over ([\\d,]+) sessions", "plugin/internal/session/timeouts_test.go", `for session := range (\d+)`},
	{"docs/observability.md", `A graph has the same (\d+) lines`, "deploy/observability/dashboard.json", `"label": "Lines",\s+"type": "custom",\s+"query": "(\d+),`},
	{"docs/observability.md", `A table has (\d+) rows`, "deploy/observability/dashboard.json", `"label": "Rows",\s+"type": "custom",\s+"query": "(\d+),`},
}

const pluginNames = `(?m)^\t\w*Name +=`

// numberWords are numbers as pages write them.
var numberWords = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"两": 2, "三": 3, "四": 4, "五": 5,
}

// TestCounts compares the numbers in pages with the items that they count.
func TestCounts(t *testing.T) {
	for _, c := range counts {
		said := regexp.MustCompile(c.says).FindStringSubmatch(flowing(t, c.page))
		if said == nil {
			t.Errorf("%s does not say %s", c.page, c.says)
			continue
		}
		number, isWord := numberWords[said[1]]
		if !isWord {
			var err error
			if number, err = strconv.Atoi(strings.ReplaceAll(said[1], ",", "")); err != nil {
				t.Errorf("%s: %v", c.page, err)
			}
		}
		counted := regexp.MustCompile(c.is).FindAllStringSubmatch(string(read(t, c.source)), -1)
		want := len(counted)
		if want > 0 && len(counted[0]) > 1 {
			want, _ = strconv.Atoi(counted[0][1])
		}
		if number != want {
			t.Errorf("%s says %q; it is %d, by %s", c.page, said[0], want, c.source)
		}
	}
}

// flowing returns a page without its fenced blocks, with each paragraph in one line.
func flowing(t *testing.T, page string) string {
	t.Helper()
	return regexp.MustCompile(`([^\n])\n([^\n])`).ReplaceAllString(withoutCode(string(read(t, page))), "$1 $2")
}

// isGenerated reports whether a program writes a page. A test of the program compares them.
func isGenerated(page []byte) bool {
	return bytes.Contains(page[:min(len(page), 400)], []byte("DO NOT EDIT"))
}

// TestNoOtherCounts expects no sentence that counts items of the sources, unless TestCounts compares it. Nothing else
// would report that the sentence became wrong.
func TestNoOtherCounts(t *testing.T) {
	count := regexp.MustCompile(`(?i)\b(?:\d[\d,]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|fifty|hundred) ` +
		`(?:differences|mutants|(?:fuzz )?targets|tests|(?:random )?(?:worlds|clusters|sessions)|seeds|corpora|invariants|arguments|annotations|metrics|` +
		`(?:sub)?packages|plugins|hooks|panels|alerts|lines)\b|[\d,一二两三四五六七八九十百千]+[个项种条](?:差异|变异|测试|参数|注解|指标|包|插件)`)
	compared := map[string]string{} // pages without the text that TestCounts compares
	for _, c := range counts {
		if _, found := compared[c.page]; !found {
			compared[c.page] = flowing(t, c.page)
		}
		compared[c.page] = regexp.MustCompile(c.says).ReplaceAllString(compared[c.page], "")
	}
	pages := 0
	for _, page := range allPages(t) {
		if page == "CHANGELOG.md" || isGenerated(read(t, page)) {
			continue
		}
		pages++
		text, found := compared[page]
		if !found {
			text = flowing(t, page)
		}
		for _, uncompared := range count.FindAllString(text, -1) {
			t.Errorf("%s says %q: leave the number out, or add it to counts", page, uncompared)
		}
	}
	if pages < 30 {
		t.Errorf("there are %d pages", pages)
	}
}
