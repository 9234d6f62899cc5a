package explain

import (
	"strings"

	"github.com/capacity-card/capacity-card/plugin/report"
)

// RuleText describes a rule for the jobs that it refuses.
type RuleText struct {
	Rule    report.Rule
	Because Words // the job waits
	Do      Words // in Markdown: the change that helps
}

// Words are a text in the two languages of the pages.
type Words struct{ English, Chinese string }

// Rules are the rules for which jobs wait, in the order of the pages. The reasons of the jobs have the details.
var Rules = []RuleText{
	{
		Rule:    report.UnknownQueue,
		Because: Words{"the queue does not exist", "队列不存在"},
		Do: Words{
			"create the queue, or use another one; only `cardctl` says this, because Volcano ignores the job",
			"创建该队列，或使用其他队列；Volcano 会忽略该作业，因此只有 `cardctl` 会报告",
		},
	},
	{
		Rule:    report.BrokenQueue,
		Because: Words{"the queue does not reach the root", "队列无法到达根队列"},
		Do: Words{
			"correct `spec.parent`, or the annotations of the path; `cardctl validate` finds it before you apply it",
			"更正 `spec.parent` 或路径注解；应用之前可用 `cardctl validate` 发现",
		},
	},
	{
		Rule:    report.InnerQueue,
		Because: Words{"the queue has child queues and takes no jobs itself", "队列有子队列，自身不接收作业"},
		Do:      Words{"submit to one of its leaf queues", "提交到它的某个叶子队列"},
	},
	{
		Rule:    report.ClosedQueue,
		Because: Words{"the queue is not open", "队列未开放"},
		Do:      Words{"open the queue", "打开该队列"},
	},
	{
		Rule:    report.OverQuota,
		Because: Words{"the quota has no room", "配额已用完"},
		Do:      Words{"raise the bound, free resources, or wait", "提高上限、释放资源，或等待"},
	},
	{
		Rule:    report.OverDeserved,
		Because: Words{"the queue has what it deserves", "队列已得到其应得量"},
		Do:      Words{"wait, or raise deserved", "等待，或提高 deserved"},
	},
	{
		Rule: report.OverNamespace,
		Because: Words{
			"the namespace has as much as the queue lets it have",
			"命名空间的用量已达到队列允许的上限",
		},
		Do: Words{
			"wait for jobs of the namespace to end, or raise its limit in `card.quota.by`",
			"等待该命名空间的作业结束，或提高 `card.quota.by` 中的限制",
		},
	},
	{
		Rule: report.OverHolder,
		Because: Words{
			"the user, the group or the value of a label has as much as the queue lets it have",
			"用户、用户组或标签值的用量已达到队列允许的上限",
		},
		Do: Words{
			"wait for its jobs to end, or raise its limit in `card.quota.by`",
			"等待其作业结束，或提高 `card.quota.by` 中的限制",
		},
	},
	{
		Rule:    report.OverBudget,
		Because: Words{"the budget of card-hours has too little left", "卡时预算剩余不足"},
		Do: Words{
			"wait for the time that the reason names, submit a shorter job, or raise the budget",
			"等待到原因中给出的时间、提交更短的作业，或提高预算",
		},
	},
	{
		Rule: report.OverSoftQuota,
		Because: Words{
			"the queue would be above its soft quota, and other queues want what is left",
			"该队列将超过其软配额，而其他队列需要剩余部分",
		},
		Do: Words{"wait, or raise `soft-quota`", "等待，或提高 `soft-quota`"},
	},
	{
		Rule:    report.TooManyJobs,
		Because: Words{"the queue has as many admitted jobs as it may have", "队列已准入的作业数达到上限"},
		Do:      Words{"wait for jobs to end, or raise `max-jobs`", "等待作业结束，或提高 `max-jobs`"},
	},
	{
		Rule: report.HeldByOrder,
		Because: Words{
			"an earlier job of the queue waits for quota, and the order of the queue holds back later ones",
			"该队列中较早的作业在等待配额，队列的顺序不允许后面的作业越过它",
		},
		Do: Words{
			"wait for the time that the reason names, or change `order`",
			"等待到原因中给出的时间，或更改 `order`",
		},
	},
	{
		Rule: report.Reserved,
		Because: Words{
			"what is left is reserved for pods that get a node soon",
			"剩余部分已为即将放置的 Pod 预留",
		},
		Do: Words{
			"wait until the pods that it is reserved for have a node",
			"等待预留所对应的 Pod 获得节点",
		},
	},
	{
		Rule: report.Earmarked,
		Because: Words{
			"what is left is earmarked for pods that others were evicted for",
			"剩余部分已留给某些 Pod，其他 Pod 是为它们驱逐的",
		},
		Do: Words{
			"wait until the pods that others were evicted for have a node",
			"等待这些 Pod 获得节点",
		},
	},
	{
		Rule: report.HeldForFairShare,
		Because: Words{
			"what is left is held for a job of a queue that goes first",
			"剩余部分已为排在前面的队列的作业保留",
		},
		Do: Words{"wait until that job has nodes, or its time is over", "等待该作业获得节点，或其时限结束"},
	},
	{
		Rule:    report.Guaranteed,
		Because: Words{"what is left is guaranteed to other queues", "剩余部分已保障给其他队列"},
		Do:      Words{"wait, or lower the guarantee of the other queues", "等待，或降低其他队列的 guarantee"},
	},
	{
		Rule:    report.MixedResources,
		Because: Words{"the cards of a list do not share one resource", "列表中的卡不属于同一种资源"},
		Do: Words{
			"name cards of one resource only, or submit a job for each",
			"只指定同一种资源的卡，或为每种资源各提交一个作业",
		},
	},
	{
		Rule:    report.ResourceMismatch,
		Because: Words{"pods request another resource than their cards have", "Pod 申请的资源与其卡不符"},
		Do:      Words{"correct the limits, or `volcano.sh/card.name`", "更正 limits 或 `volcano.sh/card.name`"},
	},
	{
		Rule:    report.UntypedPod,
		Because: Words{"pods name no card", "Pod 没有指定卡"},
		Do:      Words{"set `volcano.sh/card.name`", "设置 `volcano.sh/card.name`"},
	},
	{
		Rule:    report.SearchExhausted,
		Because: Words{"the search for an assignment of cards used up its budget", "卡分配搜索已用尽预算"},
		Do: Words{
			"wait for pods of the queue to end, or use fewer sizes of pods or shorter lists of cards",
			"等待该队列的 Pod 结束，或减少 Pod 的规格种类，或缩短卡的列表",
		},
	},
	{
		Rule: report.ReclaimDelayed,
		Because: Words{
			"nothing is evicted for them until their pods have waited for as long as their queue says",
			"在其 Pod 等待时间达到队列规定之前，不会为它们驱逐任何 Pod",
		},
		Do: Words{"wait", "等待"},
	},
	{
		Rule: report.ReclaimBudgetUsed,
		Because: Words{
			"nothing is evicted for them now: their queue, or one above it, has taken as many pods of others as " +
				"it may in a time",
			"现在不会为它们驱逐任何 Pod：其队列或上级队列在规定时间内收回的其他队列的 Pod 已达上限",
		},
		Do: Words{
			"wait for the time that the reason names, or raise `take` in `eviction-budget`",
			"等待到原因中给出的时间，或提高 `eviction-budget` 的 `take`",
		},
	},
	{
		Rule: report.TrainingJob,
		Because: Words{
			"nothing is evicted for them: their service class is training, which takes nothing from other queues",
			"不会为它们驱逐任何 Pod：其服务类别为训练，不从其他队列收回资源",
		},
		Do: Words{"wait for room", "等待空闲资源"},
	},
	{
		Rule:    report.UnlabeledNodes,
		Because: Words{"no node has the label that names the card", "没有节点带有卡名称标签"},
		Do:      Words{"label the nodes, or look at the device plugin", "给节点加标签，或检查设备插件"},
	},
	{
		Rule:    report.UnlabeledNode,
		Because: Words{"nodes lack the label that names the card", "节点缺少卡名称标签"},
		Do:      Words{"label the nodes, or look at the device plugin", "给节点加标签，或检查设备插件"},
	},
	{
		Rule:    report.NoSuchCard,
		Because: Words{"no node has the card", "没有节点有该卡"},
		Do: Words{
			"name a card that some node has; `cardctl cards` lists them",
			"指定节点上有的卡；`cardctl cards` 会列出它们",
		},
	},
	{
		Rule:    report.ClaimUnknown,
		Because: Words{"a resource claim of the pods does not exist yet", "Pod 的资源声明尚不存在"},
		Do: Words{
			"create the ResourceClaim, or wait until Kubernetes makes it from its template; `kubectl describe` the pod",
			"创建该 ResourceClaim，或等待 Kubernetes 由模板创建；对该 Pod 运行 `kubectl describe`",
		},
	},
	{
		Rule: report.ClaimRefused,
		Because: Words{
			"a resource claim of the pods can be served nowhere",
			"Pod 的资源声明在任何节点上都无法满足",
		},
		Do: Words{
			"correct the ResourceClaim or its DeviceClass",
			"更正该 ResourceClaim 或其 DeviceClass",
		},
	},
	{
		Rule: report.NoDevice,
		Because: Words{
			"no node has enough devices for a resource claim of the pods",
			"没有节点有足够的设备满足 Pod 的资源声明",
		},
		Do: Words{
			"request devices that some node has: `kubectl get resourceslices` lists them",
			"申请节点上有的设备：`kubectl get resourceslices` 会列出它们",
		},
	},
	{
		Rule:    report.UnnamedDevice,
		Because: Words{"devices lack the attribute that names the card", "设备缺少卡名称属性"},
		Do: Words{
			"have the driver publish the attribute, or set `cardAttributes`",
			"让驱动发布该属性，或设置 `cardAttributes`",
		},
	},
	{
		Rule: report.OtherDevice,
		Because: Words{
			"resource claims may get cards that the pods do not name",
			"资源声明可能得到 Pod 未指定的卡",
		},
		Do: Words{
			"let the selectors of the claim admit the named cards alone, or name all that it admits",
			"让声明的选择器只接受所指定的卡，或指定它接受的所有卡",
		},
	},
	{
		Rule:    NodesTooSmall,
		Because: Words{"the quota has room, but no node is large enough", "配额有余量，但没有足够大的节点"},
		Do: Words{
			"no node is that large: request less for each pod, and run more pods",
			"没有这么大的节点：每个 Pod 少申请一些，多运行几个 Pod",
		},
	},
	{
		Rule:    NodesFull,
		Because: Words{"the quota has room, but the nodes have none", "配额有余量，但节点没有空间"},
		Do: Words{
			"wait, or add nodes; `cardctl explain job` says which queues borrow, and why nothing is taken back",
			"等待或增加节点；`cardctl explain job` 说明哪些队列借用了资源、为何没有收回",
		},
	},
	{
		Rule:    NodesUnfit,
		Because: Words{"the quota has room, but no node suits the pods", "配额有余量，但没有合适的节点"},
		Do: Words{
			"the quota has room: look at the pod's node selector, affinity and tolerations",
			"配额有余量：检查 Pod 的节点选择器、亲和性和容忍",
		},
	},
	{
		Rule:    NotEnoughPods,
		Because: Words{"the job has fewer pods than it needs to start", "作业的 Pod 数不足以启动"},
		Do: Words{
			"look at the job's controller: `kubectl describe` its Job",
			"检查作业的控制器：对其 Job 运行 `kubectl describe`",
		},
	},
	{
		Rule:    Gated,
		Because: Words{"all pods that wait have scheduling gates", "所有等待的 Pod 都有调度门"},
		Do: Words{
			"the controller that set the scheduling gates must remove them",
			"设置调度门的控制器必须移除它们",
		},
	},
	{
		Rule:    Overused,
		Because: Words{"the queue has what it deserves", "队列已得到其应得量"},
		Do: Words{
			"wait until pods of the queue end, or raise its weight",
			"等待该队列的 Pod 结束，或提高其权重",
		},
	},
	{
		Rule:    OtherPlugin,
		Because: Words{"the quota allows it, but another plugin refuses it", "配额允许，但被其他插件拒绝"},
		Do: Words{
			"look at the other plugins of the scheduler's configuration: the quota has room",
			"检查调度器配置中的其他插件：配额有余量",
		},
	},
}

// Advice returns a text of Do without marks.
func Advice(text string) string { return strings.ReplaceAll(text, "`", "") }

// adviceOf returns the advice about a rule from the table alone, "" for an unknown rule.
func adviceOf(rule report.Rule) string {
	for _, r := range Rules {
		if r.Rule == rule {
			return Advice(r.Do.English)
		}
	}
	return ""
}
