package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sentences are the texts of a file with several words.
func sentences(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, _ := strconv.Unquote(literal.Value); len(strings.Fields(text)) > 3 {
				all = append(all, regexp.MustCompile(`%[dvq]`).ReplaceAllString(text, "%s"))
			}
		}
		return true
	})
	return all
}

// TestAdviceIsInChinese has a translation of each text that cardctl explain puts together, and no other.
func TestAdviceIsInChinese(t *testing.T) {
	var source []string
	for _, file := range []string{"advice", "borrowed", "spared", "reclaimers", "order"} {
		source = append(source, sentences(t, "../../explain/"+file+".go")...)
	}
	for _, file := range []string{"../../explain/finding.go", "../../explain/explain.go", "../../../../plugin/report/reason.go", "../../../../plugin/protection.go"} {
		source = append(source, sentences(t, file)...)
	}
	from := strings.NewReplacer("other queues", "%s", "queues inside of the reclaim fence %s", "%s")
	all := ""
	for _, a := range advice {
		all += a.english + "\n"
		known := false
		for _, text := range source {
			known = known || strings.Contains(a.english, text) || strings.Contains(from.Replace(a.english), text)
		}
		assert.True(t, known, "no text is %q", a.english)
		assert.Equal(t, strings.Count(a.english, "%s"), len(regexp.MustCompile(`%(\[\d\])?s`).FindAllString(a.chinese, -1)), a.english)
	}
	for _, file := range []string{"advice", "borrowed", "order"} {
		for _, text := range sentences(t, "../../explain/"+file+".go") {
			assert.Contains(t, all, strings.TrimSpace(text), file)
		}
	}
}

// TestAdvise translates the names of fields, and leaves what is not known.
func TestAdvise(t *testing.T) {
	for text, want := range map[string]string{
		`raise volcano.sh/card.quota of "NVIDIA-H200" of queue research to 7, or free 1 in it`:                     "把队列 research 的 volcano.sh/card.quota NVIDIA-H200 提高到 7，或在其中释放 1",
		"free 2 in it: raising spec.capability.cpu of queue q does not help while the nodes have 1 free":           "在其中释放 2：节点只空闲 1 时，提高队列 q 的 spec.capability.cpu 没有帮助",
		"queue q has more than it deserves, and other queues that have less can reclaim it: 2 X (4 of 2 deserved)": "队列 q 超出其应得量，未达到应得量的其他队列可以收回：2 X （4，应得 2）",
		"queue research is third for A: averaged 14.2 of 8 deserved; batch and serving (below deserved) go first":  "队列 research 对 A 排在第 3：平均占用 14.2，应得 8；batch、serving（未达应得量） 先行",
		"queue first is number 12 for A: averaged 2 and deserves none; second goes first":                          "队列 first 对 A 排在第 12：平均占用 2，没有应得量；second 先行",
		"something new": "something new",
	} {
		assert.Equal(t, want, advise("zh", text))
		assert.Equal(t, text, advise("en", text))
	}
}
