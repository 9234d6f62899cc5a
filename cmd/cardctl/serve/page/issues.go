package page

import "github.com/capacity-card/capacity-card/cmd/cardctl/explain"

// issues are the texts of cardctl validate, notes about the input, and what Volcano says of an eviction, in Chinese, in the form of
// advice. The first one that fits counts.
var issues = []phrase{
	{"Pod is evicted, because of %s", "Pod 被驱逐，动作：%s"},

	{"it cannot run, even alone: %s (%s)", "即使单独运行也无法启动：%s（%s）"},
	{"it cannot run, even alone (%s)", "即使单独运行也无法启动（%s）"},
	{"%s does not name %s, and defaults to the quota: inference takes none %s", "%s 未指定 %s，默认等于配额：推理作业不能%s收回"},
	{"from the queue, if its jobs are of training", "从该队列（若其作业属于训练）"},
	{"from the jobs of training in the queue", "从该队列的训练作业"},
	{"its %s pods are left out: cardctl makes at most %s pods of workloads that have none yet, of %s MiB with their templates, and leaves out the largest workloads first",
		"未计入它的 %s 个 Pod：cardctl 为尚无 Pod 的工作负载最多生成 %s 个 Pod（连同模板 %s MiB），先舍弃最大的工作负载"},
	{"is missing: Volcano never opens the queue, which takes no jobs; set weight: 1, for example", "缺失：Volcano 不会开放该队列，它不接收作业；例如设置 weight: 1"},
	{"is not read on pods: set it on the %s", "不从 Pod 读取：请设置在 %s 上"},
	{"is an annotation of queues and has no effect here", "是队列的注解，在此无效"},
	{"is an annotation of jobs and has no effect here", "是作业的注解，在此无效"},
	{"is an annotation of pods and has no effect here", "是 Pod 的注解，在此无效"},
	{"is unknown and has no effect", "是未知的键，没有作用"},

	{"the root has no parent", "根队列没有父队列"},
	{"there is no queue %s", "没有队列 %s"},
	{"its path does not reach the root: %s", "它的路径无法到达根队列：%s"},
	{"queue %s: the parent queue does not exist: %s", "队列 %s 的父队列 %s 不存在"},
	{"queue %s: the parents form a cycle: its parent is %s", "队列 %s 的父队列形成环：其父队列为 %s"},
	{"the parents form a cycle: %s", "父队列形成环：%s"},
	{"%s: this queue is the root itself", "%s：该队列就是根队列"},
	{"%s is the path of queue %s", "%s 是队列 %s 的路径"},
	{"there is no %s", "没有 %s"},
	{"%s does not start with %s", "%s 没有以 %s 开头"},
	{"%s has an empty name", "%s 中有空名称"},
	{"%s has %s weights, but %s has %s names", "%s 有 %s 个权重，但 %s 有 %s 个名称"},
	{"%s has %s names, more than %s", "%s 有 %s 个名称，超过 %s 个"},
	{"the weight of %s is %s, not %s", "%s 的权重是 %s，不是 %s"},

	{"%s is %s, and its children are guaranteed %s (%s is the quota where it is not set)", "%s 为 %s，其子队列的保障量共 %s（未设置 %s 时等于配额）"},
	{"%s is %s, and its children deserve %s", "%s 为 %s，其子队列的应得量共 %s"},
	{"%s, and its children are guaranteed %s", "为 %s，其子队列的保障量共 %s"},
	{"%s is %s, more than the %s of its parent %s", "%s 为 %s，超过父队列 %[4]s 的 %[3]s"},
	{"%s is more than the %s of its parent %s", "%s 超过父队列 %[3]s 的 %[2]s"},
	{"%s is %s, more than its quota of %s", "%s 为 %s，超过其配额 %s"},
	{"%s is more than the %s replicas of its tasks", "%s 超过其各任务的副本总数 %s"},
	{"%s is more than its %s replicas", "%s 超过其副本数 %s"},
	{"%s has no quota, so it counts for nothing", "%s 没有配额，因此不起作用"},
	{"the quotas of %s add up to %s, and the nodes have %s", "%s 的配额之和为 %s，节点共有 %s"},
	{"no node has the card %s", "没有节点有卡 %s"},
	{"%s has no card name: the label %s is missing or bad", "%s 没有卡名称：标签 %s 缺失或无效"},
	{"%s is not a group of cards of the argument cardGroups", "%s 不是参数 cardGroups 中的卡组"},
	{"%s has no effect: the group shares cards with another one, so it can only bound", "%s 无效：该组与其他组有相同的卡，因此只能作为上限"},

	{"%s has no effect: %s", "%s 无效：%s"},
	{"capacity-card counts cpu, memory and cards; %s limits cards", "capacity-card 只计 cpu、内存和卡；%s 限制卡"},
	{"has no effect: capacity-card counts cpu, memory and cards; %s bounds cards", "无效：capacity-card 只计 cpu、内存和卡；%s 限定卡"},
	{"devices of resource claims have no limits of namespaces", "资源申领的设备没有命名空间限制"},
	{"Volcano does not count it", "Volcano 不计入它"},
	{"has no effect: of devices, only the capability counts", "无效：对于设备只计 capability"},
	{"bounds no devices: %s", "不限定任何设备：%s"},
	{"bounds nothing: capacities of devices have no quotas unless capacity.DRAConsumableCapacityEnable is true",
		"不限定任何资源：仅当 capacity.DRAConsumableCapacityEnable 为 true 时，设备的容量才有配额"},
	{"bounds nothing: a count of 0 is no bound, as in Volcano", "不限定任何资源：与 Volcano 相同，数量 0 不是上限"},

	{"no such plugin is registered: %s", "没有注册这样的插件：%s"},
	{"only one quota plugin can be in force: %s", "只能有一个配额插件生效：%s"},
	{"the plugin has an invalid argument: %s: %s", "插件 %s 的参数无效：%s"},
	{"Volcano ignores an unknown key: %s", "Volcano 忽略未知的键：%s"},
	{"%s: argument %s is unknown and ignored; known are %s", "%s：参数 %s 未知，已忽略；已知的有 %s"},
	{"%s: argument %s has no effect: the plugin %s evicts as Volcano's does", "%s：参数 %s 无效：插件 %s 的驱逐与 Volcano 的相同"},
	{"%s: argument %s: %s is not %s, using %s", "%s：参数 %s：%s 不是 %s，使用 %s"},
	{"%s: argument %s: %s: %s, ignored", "%s：参数 %s 中的 %s：%s，已忽略"},
	{"%s may select victims that %s does not, so queues can lose resources that they deserve or that are guaranteed: put %s into the same tier, after %s",
		"%s 可能选择 %s 不会选择的牺牲者，队列可能失去应得或有保障的资源：把 %s 放在同一层（tier），位于 %s 之后"},
	{"%s may admit jobs that %s refuses, and their pods wait: put %s into the same tier", "%s 可能准入 %s 拒绝的作业，其 Pod 会等待：把 %s 放在同一层（tier）"},
	{"%s does not check jobs that %s admits: put it into the same tier as %s", "%s 不检查 %s 准入的作业：把它与 %s 放在同一层（tier）"},

	{`"%s": %s`, `"%s"：%s`}, // a key and what is wrong with it
	{"%s is a choice of cards, and a quota is for one card", "%s 是可选的多种卡，而配额只针对一种卡"},
	{"%s names no card", "%s 没有指定卡"},
	{"%s is given more than once", "%s 给出了多次"},
	{"%s is negative", "%s 是负数"},
	{"it is empty", "它是空的"},
	{"it is not a JSON object: it ends too early", "它不是 JSON 对象：过早结束"},
	{"it is not a JSON object: %s", "它不是 JSON 对象：%s"},
	{"it is not a JSON object", "它不是 JSON 对象"},
	{"it goes on after the JSON object", "JSON 对象之后还有内容"},
	{"a string is not a number of cards", "字符串不是卡的数量"},
	{"an object is not a number of cards", "对象不是卡的数量"},
	{"an array is not a number of cards", "数组不是卡的数量"},
	{"%s is not a number of cards", "%s 不是卡的数量"},
	{"%s is not a whole number of cards", "%s 不是卡的整数数量"},
	{"%s is not a whole number above 0", "%s 不是大于 0 的整数"},
	{"%s is not a number above 0 with at most 3 decimals, such as 1.5", "%s 不是大于 0 且最多 3 位小数的数，例如 1.5"},
	{"%s is not a number above 0, and at most %s", "%s 不是大于 0 且不超过 %s 的数"},
	{"%s is not true or false", "%s 不是 true 或 false"},
	{"%s is not a duration of 0 or more, such as 30m", "%s 不是不小于 0 的时长，例如 30m"},
	{`%s is not a JSON object of cards and whole numbers, such as {"NVIDIA-H200": 8}`, `%s 不是由卡和整数组成的 JSON 对象，例如 {"NVIDIA-H200": 8}`},
	{`%s is not a JSON object of resources and quantities of 0 or more, such as {"cpu": "64"}`,
		`%s 不是由资源和不小于 0 的数量组成的 JSON 对象，例如 {"cpu": "64"}`},
	{"%s is not %s or %s", "%s 不是 %s 或 %s"},

	{"unknown field", "未知字段"},
	{"duplicate field %s", "重复的字段 %s"},
	{"duplicate field", "重复的字段"},
	{"%s is not read; use %s", "不读取 %s；请使用 %s"},
	{"was read at %s already; this one counts", "已在 %s 读取过；以这一个为准"},
	{"replaces the one of the cluster, with its PodGroup and %s pods", "替换集群中的同名对象及其 PodGroup 和 %s 个 Pod"},
	{"%s: should be greater than or equal to %s", "%s：应大于或等于 %s"},

	{"scheduler configuration: assumed for --plugin: plugin %s, queues are a tree", "调度器配置：按 --plugin 假定：插件 %s，队列为树形"},
	{"scheduler configuration: assumed for --plugin: plugin %s, queues are flat", "调度器配置：按 --plugin 假定：插件 %s，队列为扁平"},
	{"scheduler configuration: %s: plugin %s, queues are a tree", "调度器配置：%s：插件 %s，队列为树形"},
	{"scheduler configuration: %s: plugin %s, queues are flat", "调度器配置：%s：插件 %s，队列为扁平"},
	{"no scheduler configuration: %s. Assumed: %s. The scheduler may decide otherwise: add the ConfigMap to the input, or name the configuration with --scheduler-conf or --plugin",
		"没有调度器配置：%s。假定：%s。调度器的决定可能不同：请把该 ConfigMap 加入输入，或用 --scheduler-conf 或 --plugin 指定配置"},
	{"the input has no ConfigMap with one", "输入中没有包含它的 ConfigMap"},
	{"plugins that need more than objects, or are not known, are left out: %s", "未使用需要对象以外信息的或未知的插件：%s"},
	{"%s pods belong to PodGroups that are not in the input, and no queue is charged for them", "%s 个 Pod 属于输入中没有的 PodGroup，不计入任何队列"},
	{"plugin %s, queues are a tree", "插件 %s，队列为树形"},
	{"plugin %s, queues are flat", "插件 %s，队列为扁平"},
	{"evictions from before the start of this server are not known: %s", "不知道本服务启动之前的驱逐：%s"},
	{"no permission to list events in all namespaces of %s", "没有权限列出 %s 所有命名空间的事件"},
}

// issue is what is wrong with an object, in a language. f is the finding of a job that cannot run: its reason is that of the page of
// the job. It is nil for other issues.
func issue(lang, text string, f *explain.Finding) string {
	if f != nil && lang != languages[0] {
		return say(lang, "it cannot run, even alone: %s", refusal(lang, f))
	}
	return advise(lang, text)
}
