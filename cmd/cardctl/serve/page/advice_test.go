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

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// sentences are the texts of a file with more than some words.
func sentences(t *testing.T, path string, words int) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, _ := strconv.Unquote(literal.Value); len(strings.Fields(text)) > words {
				all = append(all, regexp.MustCompile(`%(\[\d\])?[dvqsTw]`).ReplaceAllString(text, "%s"))
			}
		}
		return true
	})
	return all
}

// TestAdviceIsInChinese has a translation of each text that cardctl explain puts together, and no other.
func TestAdviceIsInChinese(t *testing.T) {
	var source []string
	for _, file := range []string{"advice", "borrowed", "spared", "reclaimers", "order", "windows", "verdict"} {
		source = append(source, sentences(t, "../../explain/"+file+".go", 3)...)
	}
	source = append(source, sentences(t, "../../whatif/remedy.go", 1)...)
	for _, file := range []string{"../../explain/finding.go", "../../explain/explain.go", "../../../../plugin/report/reason.go", "../../../../plugin/inspect/protection.go"} {
		source = append(source, sentences(t, file, 3)...)
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
	for _, file := range []string{"advice", "borrowed", "order", "windows", "verdict"} {
		for _, text := range sentences(t, "../../explain/"+file+".go", 3) {
			assert.Contains(t, all, strings.TrimSpace(text), file)
		}
	}
}

// message is the text of an issue without the annotation, which is its field, and without the name that is meant.
func message(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "annotation %s: ")
	if before, found := strings.CutSuffix(text, "%s"); found && !strings.HasSuffix(before, " ") {
		return before
	}
	return text
}

// TestIssuesAreInChinese has a translation of each text that cardctl validate puts together. It also has translations
// of the texts from packages of objects and of the plugin, and no other translation.
func TestIssuesAreInChinese(t *testing.T) {
	all := ""
	for _, p := range issues {
		all += p.english + "\n"
		assert.Equal(t, strings.Count(p.english, "%s"), len(regexp.MustCompile(`%(\[\d\])?s`).FindAllString(p.chinese, -1)), p.english)
		assert.NotContains(t, advise("zh", strings.ReplaceAll(p.english, "%s", "x")), " is ", p.english)
	}
	for _, file := range []string{"tree", "keys", "workloads", "classes", "validate", "sums", "lending", "stability"} {
		for _, text := range sentences(t, "../../validate/"+file+".go", 3) {
			assert.True(t, strings.Contains(all, message(text)), "%s: no translation of %q", file, text)
		}
	}
	for _, text := range sentences(t, "../../command/remembered.go", 3) {
		assert.Contains(t, all, text)
	}
	var source []string
	for _, file := range []string{"cmd/cardctl/validate/tree", "cmd/cardctl/validate/keys", "cmd/cardctl/validate/workloads", "cmd/cardctl/validate/classes",
		"cmd/cardctl/validate/validate", "cmd/cardctl/validate/sums", "cmd/cardctl/validate/lending", "cmd/cardctl/validate/stability", "cmd/cardctl/audit/audit",
		"index/policy/service", "cmd/cardctl/engine/load", "cmd/cardctl/input/decode", "cmd/cardctl/input/fields", "cmd/cardctl/input/objects",
		"cmd/cardctl/input/replace", "cmd/cardctl/input/evicted", "cmd/cardctl/input/configuration", "cmd/cardctl/input/negative", "cmd/cardctl/command/source",
		"cmd/cardctl/command/remembered", "cmd/cardctl/command/usage", "cmd/cardctl/command/serve", "cmd/cardctl/input/live",
		"index/paths", "index/tree", "index/card/keys", "index/card/quota", "index/card/share", "index/policy/policy", "index/policy/parse",
		"index/override/override", "plugin/intake/devices", "plugin/intake/problems", "plugin/guard/check", "plugin/guard/tiers", "plugin/arguments/parser"} {
		source = append(source, sentences(t, "../../../../"+file+".go", 1)...)
	}
	for _, p := range issues {
		known := false
		for _, text := range source {
			known = known || strings.Contains(p.english, message(text))
		}
		known = known || strings.HasPrefix(p.english, "it cannot run") || strings.Contains(p.english, "queues are flat") || strings.HasPrefix(p.english, "Pod is evicted") || strings.HasPrefix(p.english, `%s: sh`) || p.english == `"%s": %s` // Volcano, schemas, keys
		assert.True(t, known, "no text is %q", p.english)
	}
}

// TestIssue translates the variable parts of issues. It takes the reason of a job from the page of the job. Groups of
// issues leave out names and numbers.
func TestIssue(t *testing.T) {
	job := waits(report.OverQuota, "research", "", report.Shortage{Queue: "research", Resource: "X", Requested: 4, Total: 9, Bound: 6})
	for _, c := range []struct {
		text, zh string
		f        *explain.Finding
	}{
		{`"A" is 9, more than the 7 of its parent p`, `"A" 为 9，超过父队列 p 的 7`, nil},
		{`"…" is …, more than the … of its parent …`, `"…" 为 …，超过父队列 … 的 …`, nil},
		{`"much" is not a number above 0 with at most 3 decimals, such as 1.5`, `"much" 不是大于 0 且最多 3 位小数的数，例如 1.5`, nil},
		{`"…" is not a number above … with at most … decimals, such as …`, `"…" 不是大于 0 且最多 3 位小数的数，例如 1.5`, nil},
		{`no node has the card "B"; did you mean "A"?`, `没有节点有卡 "B"；是否指 A？`, nil},
		{`"A": a string is not a number of cards`, `"A"：字符串不是卡的数量`, nil},
		{`"A": "250%" is not a share of the cards: 0% to 100%, then min=N or max=N or both`, `"A"："250%" 不是卡的份额：0% 到 100%，之后是 min=N 或 max=N，或两者`, nil},
		{`its path does not reach the root: queue "a": the parent queue does not exist: "b"`, `它的路径无法到达根队列：队列 "a" 的父队列 "b" 不存在`, nil},
		{"it cannot run, even alone (OverQuota)", "即使单独运行也无法启动（配额已用完）", nil},
		{"it cannot run, even alone: Queue <research> has insufficient <X> quota (OverQuota)", "即使单独运行也无法启动：还需要 3 X；research 剩余 1，共 6", job},
		{"it runs, and cannot start again, even alone: Queue <research> has insufficient <X> quota (OverQuota)", "正在运行，但即使单独运行也无法再次启动：还需要 3 X；research 剩余 1，共 6", job},
		{"Pod is evicted, because of reclaim", "Pod 被驱逐，动作：reclaim", nil},
		{"it is not known to anybody", "it is not known to anybody", nil},
	} {
		assert.Equal(t, c.zh, issue("zh", c.text, c.f))
		assert.Equal(t, c.text, issue("en", c.text, c.f))
	}
}

// TestAdvise translates the names of fields, and keeps texts that it does not know.
func TestAdvise(t *testing.T) {
	for text, want := range map[string]string{
		"there is no lease volcano-system/volcano: the scheduler runs without an election, or not at all":         "没有 lease volcano-system/volcano：调度器未启用选举，或没有运行",
		"no permission to get the lease n/l of https://host, which names the leader":                              "没有权限读取 https://host 的 lease n/l，其中有 leader 的名称",
		"the duration of cycles is in the scheduler's metrics: with one cluster, --metrics names their address":   "周期的时长在调度器的指标中：只有一个集群时，用 --metrics 给出其地址",
		"the scheduler's metrics cannot be read: no route to host":                                                "无法读取调度器的指标：no route to host",
		`raise volcano.sh/card.quota of "NVIDIA-H200" of queue research to 7, or free 1 in it`:                    "把队列 research 的 volcano.sh/card.quota NVIDIA-H200 提高到 7，或在其中释放 1",
		`raise volcano.sh/card.quota of "A" (25%,max=9 = 6) of queue research to 7, or free 1 in it`:              "把队列 research 的 volcano.sh/card.quota A (25%,max=9 = 6) 提高到 7，或在其中释放 1",
		"raising spec.capability.cpu of queue q does not help while the nodes have 1 free: free 2 in it":          "节点只空闲 1 时，提高队列 q 的 spec.capability.cpu 没有帮助：请在其中释放 2",
		"the next cycles evict none of its pods; queue q has more than it deserves: 2 X (4 of 2 deserved)":        "接下来的周期不驱逐它的 Pod；队列 q 超出其应得量：2 X （4，应得 2）",
		"8 pods of a/Job/b are spared: their job needs them":                                                      "a/Job/b 的 8 个 Pod 受保护：其作业需要它们",
		"queue research is third for A: averaged 14.2 of 8 deserved; batch and serving (below deserved) go first": "队列 research 对 A 排在第 3：平均占用 14.2，应得 8；batch、serving（未达应得量） 先行",
		"queue first is number 12 for A: averaged 2 and deserves none; second goes first":                         "队列 first 对 A 排在第 12：平均占用 2，没有应得量；second 先行",
		"something new": "something new",
	} {
		assert.Equal(t, want, advise("zh", text))
		assert.Equal(t, text, advise("en", text))
	}
}
