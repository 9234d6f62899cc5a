package page

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// phrase is a text in two languages.
type phrase struct{ english, chinese string }

// advice has what cardctl explain says beside the reason of a job, in Chinese: what would let the job in, and who can
// take pods back. A %s stands for a name, a number or a field. Commands and JSON have the English text, from which the
// pages translate it.
var advice = []phrase{
	{"wait: the queue borrows again once %s has nodes, or its time (%s) is over", "等待：%s 获得节点，或其时限（%s）结束后，该队列即可再次借用"},
	{"create the queue %s, or name another one in spec.queue", "创建队列 %s，或在 spec.queue 中指定其他队列"},
	{"correct the annotations %s and %s of the queue that is named", "更正上述队列的注解 %s 和 %s"},
	{"correct spec.parent of the queue that is named: the path of each queue must end at the root", "更正上述队列的 spec.parent：每个队列的路径都必须到达根队列"},
	{"submit it to a queue without children: %s", "提交到没有子队列的队列：%s"},
	{"submit it to a queue without children", "提交到没有子队列的队列"},
	{"open the queue: vcctl queue operate -a open -n %s", "打开该队列：vcctl queue operate -a open -n %s"},
	{"name cards of one resource only, or submit a job for each", "只指定同一种资源的卡，或为每种资源各提交一个作业"},
	{"request the resource of the cards in limits, or name a card of %s", "在 limits 中申请这些卡的资源，或指定属于 %s 的卡"},
	{"set the annotation %s of its pods, or the plugin's argument untypedCards to charge", "给它的 Pod 设置注解 %s，或把插件参数 untypedCards 设为 charge"},
	{"wait until the pods whose queue allocation gate is removed have a node", "等待已移除队列分配门的 Pod 获得节点"},
	{"wait until the pods that others were evicted for have a node", "等待驱逐的受益 Pod 获得节点"},
	{"wait for pods of the queue to end, or use fewer sizes of pods or shorter lists of cards", "等待该队列的 Pod 结束，或减少 Pod 的规格种类，或缩短卡的列表"},
	{"wait until other queues do not want the cards any more, or raise the annotation %s of queue %s", "等待其他队列不再需要这些卡，或提高注解 %s（队列 %s）"},
	{"wait until the job that goes first is admitted, or its time is over; or change the annotation %s of queue %s", "等待排在前面的作业被准入，或其时限结束；或更改注解 %s（队列 %s）"},
	{"wait for jobs of queue %s to end, or raise its annotation %s", "等待队列 %s 的作业结束，或提高其注解 %s"},
	{"wait for jobs of the namespace %s in queue %s to end, or raise the annotation %s of the queue", "等待命名空间 %s 在队列 %s 中的作业结束，或提高该队列的注解 %s"},
	{"wait for jobs of %s in queue %s to end, or raise its limit in the annotation %s of the queue", "等待 %s 在队列 %s 中的作业结束，或提高该队列注解 %s 中的限制"},
	{"look at the job's controller: kubectl describe its Job", "检查作业的控制器：对其 Job 运行 kubectl describe"},
	{"the controller that set the scheduling gates must remove them", "设置调度门的控制器必须移除它们"},
	{"look at the other plugins of the scheduler's configuration: the quota has room", "检查调度器配置中的其他插件：配额有余量"},
	{"wait until pods of the queue end, or raise its weight", "等待该队列的 Pod 结束，或提高其权重"},
	{"set the label %s of the nodes", "设置节点的标签 %s"},
	{"create the ResourceClaim, or wait until Kubernetes makes it of its template; kubectl describe the pod", "创建该 ResourceClaim，或等待 Kubernetes 由模板创建；对该 Pod 运行 kubectl describe"},
	{"correct the ResourceClaim or its DeviceClass", "更正该 ResourceClaim 或其 DeviceClass"},
	{"request devices that some node has: kubectl get resourceslices lists them", "申请节点上有的设备：kubectl get resourceslices 会列出它们"},
	{"have the driver publish the attribute %s, or name another one in the argument cardAttributes", "让驱动发布属性 %s，或在参数 cardAttributes 中指定其他属性"},
	{"let the selectors of the claim admit the named cards alone, or name all that it admits", "让声明的选择器只接受所指定的卡，或指定它接受的所有卡"},
	{"have the device plugin register the cards of the nodes: the annotation %s is missing or not valid", "让设备插件登记节点的卡：注解 %s 缺失或无效"},
	{"name a card that some node has; cardctl cards lists them", "指定节点上有的卡；cardctl cards 会列出它们"},
	{"no node is that large: request less for each pod, and run more pods", "没有这么大的节点：每个 Pod 少申请一些，多运行几个 Pod"},
	{"the quota has room but the nodes have none: wait for pods to end, or add nodes with such cards", "配额有余量，但节点没有空间：等待 Pod 结束，或增加有此类卡的节点"},
	{"nodes whose cards have no name, and which may be such nodes: %s; cardctl cards names the label that they lack", "卡没有名称、可能属于此类的节点：%s 个；cardctl cards 会列出它们缺少的标签"},
	{"the quota has room: look at the pod's node selector, affinity and tolerations", "配额有余量：检查 Pod 的节点选择器、亲和性和容忍"},
	{"wait for pods to end, or lower what is guaranteed to queues that do not use it: spec.guarantee, or %s", "等待 Pod 结束，或降低未使用的队列保障量：spec.guarantee 或 %s"},
	{"queue %s is guaranteed %s %s and has %s", "队列 %s 的保障量为 %s %s，已有 %s"},
	{"queue %s has %s %s and deserves %s", "队列 %s 已有 %s %s，应得 %s"},
	{"wait until %s, submit a shorter job, or raise the annotation %s of queue %s", "等到 %s，提交更短的作业，或提高注解 %s（队列 %s）"},
	{"wait, submit a shorter job, or raise the annotation %s of queue %s", "等待，提交更短的作业，或提高注解 %s（队列 %s）"},
	{"a window of queue %s sets %s to %s until %s (%s)", "队列 %s 的时间窗口把 %s 设为 %s，直到 %s（%s）"},
	{"a window of queue %s sets %s to %s from %s (%s)", "队列 %s 的时间窗口把 %s 设为 %s，从 %s 开始（%s）"},
	{"pods with such cards that %s of queue %s spares until %s: %s", "因 %s（队列 %s）而在 %s 之前受保护的、有此类卡的 Pod：%s 个"},
	{"pods with such cards that %s of queue %s spares: %s", "因 %s（队列 %s）而受保护的、有此类卡的 Pod：%s 个"},
	{"name a card: set the annotation %s of its pods, and give queue %s a quota of it (%s)", "指定卡：给它的 Pod 设置注解 %s，并给队列 %s 该卡的配额（%s）"},
	{"name a card: set the annotation %s of its pods; queue %s has a quota of %s", "指定卡：给它的 Pod 设置注解 %s；队列 %s 有以下卡的配额：%s"},
	{"no node has the card %s: name one that cardctl cards lists", "没有节点有卡 %s：请指定 cardctl cards 列出的卡"},
	{"wait until jobs of %s end: they are admitted up to %s %s; or raise what it deserves, or its annotation %s", "等待 %s 的作业结束：最多准入 %s %s；或提高其应得量，或提高其注解 %s"},
	{"%s %s are missing: the cluster's total less the guarantees of other queues bounds %s", "缺少 %s %s：集群总量减去其他队列的保障量限制了 %s"},
	{"%s %s are missing in %s: the guarantees of other queues, or the cluster's total, lower its bound", "缺少 %s %s（%s）：其他队列的保障量或集群总量降低了其上限"},
	{"raising %s does not help while the nodes have %s free: free %s in it", "节点只空闲 %[2]s 时，提高%[1]s没有帮助：请在其中释放 %[3]s"},
	{"raise %s to %s, or free %s in it", "把%s提高到 %s，或在其中释放 %s"},
	{"it can never run in %s as it is: raise %s to %s, or to %s and free %s in it, or request less", "按现状它永远无法在 %s 中运行：把%s提高到 %s，或提高到 %s 并在其中释放 %s，或减少申请"},
	{"it can never run in %s as it is: raise %s to %s, or request less", "按现状它永远无法在 %s 中运行：把%s提高到 %s，或减少申请"},
	{"a job of its queue with a higher priority is admitted in its place (displacePromises)", "同队列中优先级更高的作业取代它被准入（displacePromises）"},
	{"its minimum is not reserved any more, since it was Inqueue for too long (%s): other jobs may go first", "因处于 Inqueue 太久（%s），不再为它预留最小需求：其他作业可能先行"},
	{"nothing is taken back for it: the scheduler's configuration has no action reclaim", "不会为它收回任何资源：调度器配置中没有动作 reclaim"},
	{"nothing is taken back for it: reclaim skips jobs that have their minimum, and it has %s of %s pods; set the argument %s of the plugin %s, and enableJobStarving: false of the plugin gang",
		"不会为它收回任何资源：reclaim 跳过已达到最小需求的作业，它已有 %s / %s 个 Pod；请设置参数 %s（插件 %s），并给插件 gang 设置 enableJobStarving: false"},
	{"nothing is taken back for it: reclaim skips jobs that have their minimum, and it has %s of %s pods; set enableJobStarving: false of the plugin gang",
		"不会为它收回任何资源：reclaim 跳过已达到最小需求的作业，它已有 %s / %s 个 Pod；请给插件 gang 设置 enableJobStarving: false"},
	{"nothing is taken back for it: the plugins spare all pods of these queues, such as those of reclaimable: false, with volcano.sh/preemptable: \"false\", or that are the minimum of their job",
		"不会为它收回任何资源：插件保护这些队列的所有 Pod，例如 reclaimable: false 的、带 volcano.sh/preemptable: \"false\" 的，或属于作业最小需求的"},
	{"nothing is evicted for it: Queue <%s> takes nothing from other queues for the pod yet: the pod waits for less than %s", "不会为它驱逐任何 Pod：队列 %s 暂不为它从其他队列收回资源，等待时间不足 %s"},
	{"nothing is evicted for it: Queue <%s> takes nothing from other queues for the pod: its service class is %s", "不会为它驱逐任何 Pod：队列 %s 不为它从其他队列收回资源，其服务类别为 %s"},
	{"nothing is evicted for it: Queue <%s> takes nothing from other queues %s", "不会为它驱逐任何 Pod：队列 %s 不从其他队列收回资源：%s"},
	{"nothing is taken back for it: reclaim spares queues that do not reach the root; cardctl validate says what is wrong with their place",
		"不会为它收回任何资源：reclaim 不动无法到达根队列的队列；cardctl validate 会说明其位置有什么问题"},
	{"no job can reclaim it: queue %s does not reach the root", "没有作业可以收回它：队列 %s 无法到达根队列"},
	{"no job can reclaim it: queue %s has reclaimable: false", "没有作业可以收回它：队列 %s 设置了 reclaimable: false"},
	{"no job can reclaim it: its pods have volcano.sh/preemptable: \"false\"", "没有作业可以收回它：其 Pod 带有 volcano.sh/preemptable: \"false\""},
	{"no job can reclaim it: queue %s has no more than it deserves", "没有作业可以收回它：队列 %s 没有超出其应得量"},
	{"no job can reclaim it: it has the service class %s", "没有作业可以收回它：其服务类别为 %s"},
	{"no job can reclaim it: it runs for less than %s, its queue's %s", "没有作业可以收回它：运行时间不足 %s（其队列的 %s）"},
	{"jobs of inference in other queues can reclaim it, down to what is guaranteed to queue %s", "其他队列的推理作业可以收回它，直到队列 %s 的保障量"},
	{"jobs of inference in queues inside of the reclaim fence %s can reclaim it, down to what is guaranteed to queue %s", "回收隔离 %s 内各队列的推理作业可以收回它，直到队列 %s 的保障量"},
	{"queue %s has more than it deserves, and other queues that have less can reclaim it: %s", "队列 %s 超出其应得量，未达到应得量的其他队列可以收回：%s"},
	{"queue %s has more than it deserves, and queues inside of the reclaim fence %s that have less can reclaim it: %s", "队列 %s 超出其应得量，回收隔离 %s 内未达到应得量的队列可以收回：%s"},
	{"%s of its pods have notice, and may be evicted from %s on", "其 %s 个 Pod 已收到驱逐预告，自 %s 起可被驱逐"},
	{"the eviction of all its pods would lose %s of work, since their checkpoints", "若驱逐其全部 Pod，将丢失自检查点以来 %s 的工作"},
	{"queue %s is %s for %s: averaged %s of %s deserved; %s goes first", "队列 %[1]s 对 %[3]s 排在第 %[2]s：平均占用 %[4]s，应得 %[5]s；%[6]s 先行"},
	{"queue %s is %s for %s: averaged %s of %s deserved; %s go first", "队列 %[1]s 对 %[3]s 排在第 %[2]s：平均占用 %[4]s，应得 %[5]s；%[6]s 先行"},
	{"queue %s is %s for %s: averaged %s and deserves none; %s goes first", "队列 %[1]s 对 %[3]s 排在第 %[2]s：平均占用 %[4]s，没有应得量；%[5]s 先行"},
	{"queue %s is %s for %s: averaged %s and deserves none; %s go first", "队列 %[1]s 对 %[3]s 排在第 %[2]s：平均占用 %[4]s，没有应得量；%[5]s 先行"},
}

// phrases are all that have a translation of their own.
var phrases = slices.Concat(advice, issues)

// patterns match the texts of phrases.
var patterns = compile()

// constant is a number or a name in quotes in the pattern of a phrase. The page Health leaves it out where it differs
// between issues that are alike.
var constant = regexp.MustCompile(`"[^"]*"|\b\d(?:\w|\\\.)*`)

func compile() (all []*regexp.Regexp) {
	for _, p := range phrases {
		pattern := constant.ReplaceAllString(regexp.QuoteMeta(p.english), `(?:$0|"?…"?)`)
		all = append(all, regexp.MustCompile("(?s)^"+strings.ReplaceAll(pattern, "%s", "(.+?)")+"$"))
	}
	return all
}

// meant is the end of a text about a name that is misspelt.
var meant = regexp.MustCompile(`(?s)^(.+); did you mean "?(.+?)"?\?$`)

// field is a setting of a queue in advice, and over what a queue has beyond what it deserves.
var (
	field = regexp.MustCompile(`^(\S+)(?: of "(.+)")? of queue (\S+)$`)
	over  = regexp.MustCompile(`\((\S+) of (\S+) deserved\)`)
)

// queueList translates a list of queues. Names of queues have no spaces.
var queueList = strings.NewReplacer(" and ", "、", ", ", "、", " "+explain.BelowDeserved, "（未达应得量）")

// placeOf is a place in words as a number.
func placeOf(word string) string {
	for place := range 11 {
		if explain.Ordinal(place) == word {
			return strconv.Itoa(place)
		}
	}
	return strings.TrimPrefix(word, "number ")
}

// advise is a text of cardctl explain or validate in a language, in English if it is not known.
func advise(lang, text string) string {
	if lang != "zh" {
		return text
	}
	if found := meant.FindStringSubmatch(text); found != nil {
		return advise(lang, found[1]) + "；是否指 " + found[2] + "？"
	}
	for i, p := range patterns {
		found := p.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		var arguments []any
		ordered := strings.HasSuffix(phrases[i].english, " first") // a queue, its place, …, and a list of queues
		for n, word := range found[1:] {
			if ordered && n == 1 {
				word = placeOf(word)
			} else if ordered && n == len(found)-2 {
				word = queueList.Replace(word)
			}
			arguments = append(arguments, argument(lang, word))
		}
		if len(arguments) == 0 {
			return phrases[i].chinese
		}
		return fmt.Sprintf(phrases[i].chinese, arguments...)
	}
	return text
}

// argument is a part of a text in a language: a setting, a rule, or a text with a translation of its own.
func argument(lang, word string) string {
	if f := field.FindStringSubmatch(word); f != nil {
		return fmt.Sprintf("队列 %s 的 %s ", f[3], strings.Trim(f[1]+" "+f[2], " "))
	}
	if words, known := rules[report.Rule(word)]; known {
		return translate(lang, words)
	}
	return advise(lang, over.ReplaceAllString(word, "（$1，应得 $2）"))
}
