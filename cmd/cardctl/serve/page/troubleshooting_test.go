package page

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

var update = flag.Bool("update", false, "write the pages that are made from tables")

// troubleshooting is the beginning of the page in a language, and its headings.
type troubleshooting struct {
	lang  string
	path  string
	begin string
}

var troubleshootingPages = []troubleshooting{
	{
		lang: "en",
		path: "docs/troubleshooting.md",
		begin: `# Troubleshooting

<!-- Made from the rules of the pages by "go test ./cmd/cardctl/serve/page -update". DO NOT EDIT. -->

For everybody whose job waits. After this page you know why, and what to change.

` + "`cardctl explain job NAME`" + ` names the rule and the numbers. Without cardctl, read the condition of the PodGroup and the
events of the pods: they have the same texts. The rules from NodesTooSmall on are of cardctl alone.

| you see | look at |
|---|---|
| a Volcano job without pods | its PodGroup: the job is not admitted |
| a pod that is Pending | the condition PodScheduled of the pod: its queue has no room, or no node fits |
| free cards, and pods that wait | the rule NodesFull or NodesUnfit, and ` + "`cardctl cards`" + ` for cordoned or lost nodes |
| a queue with less than it deserves | ` + "`cardctl explain job`" + `: who borrows, and what spares the pods |
| a quota without effect | the events of the Queue: BadCardAnnotation, BadPolicyAnnotation, BadDeviceQuota; and ` + "`cardctl validate`" + ` |

| rule | the job waits because | what to do |
|---|---|---|
`,
	},
	{
		lang: "zh",
		path: "docs/zh/troubleshooting.md",
		begin: `# 故障排查

<!-- Made from the rules of the pages by "go test ./cmd/cardctl/serve/page -update". DO NOT EDIT. -->

适用于作业在等待的用户。读完本页，您会知道作业为什么等待，以及应更改什么。

` + "`cardctl explain job NAME`" + ` 给出规则和数字。没有 cardctl 时，请查看 PodGroup 的状况和 Pod 的事件，其中有相同的原因。

| 现象 | 查看 |
|---|---|
| Volcano 作业没有 Pod | 它的 PodGroup：作业未被准入 |
| Pod 处于 Pending | Pod 的状况 PodScheduled：队列没有空间，或没有合适的节点 |
| 有空闲的卡，但 Pod 在等待 | 规则 NodesFull 或 NodesUnfit；用 ` + "`cardctl cards`" + ` 查看被封锁或失联的节点 |
| 队列得到的少于应得的 | ` + "`cardctl explain job`" + `：谁借用了资源，哪些 Pod 不会被驱逐 |
| 配额没有生效 | Queue 的事件：BadCardAnnotation、BadPolicyAnnotation、BadDeviceQuota；以及 ` + "`cardctl validate`" + ` |

| 规则 | 作业等待的原因 | 怎么办 |
|---|---|---|
`,
	},
}

// TestTroubleshooting compares the pages about the rules with the table.
func TestTroubleshooting(t *testing.T) {
	root := "../../../.."
	texts := make([]string, len(troubleshootingPages))
	for _, r := range explain.Rules {
		for i, page := range troubleshootingPages {
			because, do := r.Because.English, r.Do.English
			if page.lang == "zh" {
				because, do = r.Because.Chinese, r.Do.Chinese
			}
			require.NotEmpty(t, because, r.Rule)
			require.NotEmpty(t, do, r.Rule)
			texts[i] += fmt.Sprintf("| `%s` | %s | %s |\n", r.Rule, because, do)
		}
	}

	for i, page := range troubleshootingPages {
		path := filepath.Join(root, page.path)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(page.begin+texts[i]), 0o644))
		}
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(written), page.begin+texts[i], "%s is not up to date: run this test with -update", page.path)
	}
}
