package page

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// waits is a job that a rule refuses, with the bounds that it does not fit under.
func waits(rule report.Rule, level, cards string, all ...report.Shortage) *explain.Finding {
	f := &explain.Finding{State: explain.Waiting, Rule: rule, Level: level}
	if len(all) > 0 {
		f.Reason = &report.Reason{Rule: rule, Queue: level, Cards: cards, Shortages: all}
	}
	return f
}

// TestLead says in one sentence, with words and units, which resources a job lacks. The sentence has the numbers of the
// event.
func TestLead(t *testing.T) {
	over := func(resource string, requested, total, bound float64) report.Shortage {
		return report.Shortage{Queue: "research", Resource: resource, Requested: requested, Total: total, Bound: bound, Against: "capability"}
	}
	gang := waits(report.OverQuota, "research", "", over("X", 1, 7, 6))
	gang.Bounds = []report.Shortage{over("X", 4, 9, 6)}
	half := waits(report.OverQuota, "research", "", over("X", 1, 7, 6))
	half.Pods = explain.Pods{Fit: 2, Minimum: 4}
	namespaced := over("X", 1, 2, 1)
	namespaced.Namespace = "b"
	of := func(key, value string) report.Shortage {
		s := over("X", 1, 2, 1)
		s.Holder = report.Holder{Key: key, Value: value}
		return s
	}
	untyped := waits(report.OverQuota, "research", "nvidia.com/gpu", over("X", 1, 7, 6), over("Y", 1, 1, 0))
	untyped.Reason.Requested = 1
	for _, c := range []struct {
		name   string
		f      *explain.Finding
		en, zh string
	}{
		{"a full queue", waits(report.OverQuota, "research", "", over("X", 1, 7, 6)), "needs 1 more X; research is full, 6 of 6", "还需要 1 X；research 已满，6 / 6"},
		{"some is left", waits(report.OverQuota, "research", "", over("X", 4, 9, 6)), "needs 3 more X; research has 1 of 6 left", "还需要 3 X；research 剩余 1，共 6"},
		{"all pods that it lacks", gang, "needs 3 more X; research has 1 of 6 left", "还需要 3 X；research 剩余 1，共 6"},
		{"some pods have room", half, "needs 1 more X; research is full, 6 of 6 (2 of the 4 pods that it needs to start have room)",
			"还需要 1 X；research 已满，6 / 6（有空间的 Pod：2 个，启动需要 4 个）"},
		{"no quota", waits(report.OverQuota, "research", "", over("X", 2, 2, 0)), "needs 2 X; research may have none", "需要 2 X；research 没有这种资源的配额"},
		{"memory", waits(report.OverQuota, "research", "", over("memory", 3<<30, 10<<30, 8<<30)), "needs 2Gi more memory; research has 1Gi of 8Gi left",
			"还需要 2Gi 内存；research 剩余 1Gi，共 8Gi"},
		{"cores", waits(report.OverQuota, "research", "", over("cpu", 1, 9, 8)), "needs 1 more core; research is full, 8 of 8", "还需要 1 个 CPU 核；research 已满，8 / 8"},
		{"either card", waits(report.OverQuota, "research", "X|Y", over("X", 4, 9, 6), over("Y", 4, 5, 4)), "needs 1 more Y; research has 3 of 4 left",
			"还需要 1 Y；research 剩余 3，共 4"},
		{"any card", untyped, "needs 1 of any card; no quota of research has room", "需要任意一种卡 1 张；research 的配额都没有空间"},
		{"deserved", waits(report.OverDeserved, "research", "", over("X", 1, 4, 3)), "needs 1 more X; research has its deserved amount, 3 of 3",
			"还需要 1 X；research 已得到其应得量，3 / 3"},
		{"a namespace", waits(report.OverNamespace, "research", "", namespaced), "needs 1 more X; in research, namespace b has 1 of 1",
			"还需要 1 X；在 research 中，命名空间 b 已用 1 / 1"},
		{"a label", waits(report.OverHolder, "research", "", of("label:team", "alpha")), "needs 1 more X; in research, label team=alpha has 1 of 1",
			"还需要 1 X；在 research 中，标签 team=alpha 已用 1 / 1"},
		{"a user", waits(report.OverHolder, "research", "", of("user", "ann")), "needs 1 more X; in research, user ann has 1 of 1",
			"还需要 1 X；在 research 中，用户 ann 已用 1 / 1"},
		{"no group", waits(report.OverHolder, "research", "", of("group", "")), "needs 1 more X; in research, jobs without a group has 1 of 1",
			"还需要 1 X；在 research 中，没有用户组的作业 已用 1 / 1"},
		{"max-jobs", waits(report.TooManyJobs, "research", "", over("jobs", 1, 3, 2)), "research has as many admitted jobs as it may have: 2 of 2",
			"research 已准入的作业数达到上限：2 / 2"},
		{"guaranteed", waits(report.Guaranteed, "research", "", over("X", 2, 9, 8)), "needs 2 X; research: what is left is guaranteed to other queues",
			"需要 2 X；research：剩余部分已保障给其他队列"},
		{"a closed queue", waits(report.ClosedQueue, "research", ""), "research: the queue is not open", "research：队列未开放"},
		{"full nodes", waits(explain.NodesFull, "", ""), "the quota has room, but the nodes have none", "配额有余量，但节点没有空间"},
		{"a job that runs", &explain.Finding{State: explain.Running, Pods: explain.Pods{Placed: 2, Total: 2}}, "runs, with 2 of 2 pods on nodes",
			"正在运行，2 / 2 个 Pod 已在节点上"},
		{"a job that starts", &explain.Finding{State: explain.Startable}, "nothing refuses it: the next cycle places its pods", "没有阻碍：下一个周期将放置其 Pod"},
		{"a job that ended", &explain.Finding{State: explain.Finished}, "the job has ended", "作业已结束"},
	} {
		assert.Equal(t, c.en, lead("en", c.f), c.name)
		assert.Equal(t, c.zh, lead("zh", c.f), c.name)
	}
}

// TestTimes has times for scripts and for readers, and no markup but that.
func TestTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	const want = `<time datetime="2026-01-02T02:04:05Z">2026-01-02 02:04:05 UTC</time>`
	assert.Equal(t, want, string(timeOf(at)))
	assert.Equal(t, "&lt;b&gt; "+want, string(timed("en", "<b> %s", at)))
}
