package settings

// first is the release in which all settings began.
const first = "0.1.0"

var (
	flag = Text{English: "`true` or `false`"}
	none = Default{Text: Text{"none", "无"}}
	off  = Default{Text: Text{"off", "关闭"}}
)

// arguments are the arguments of the plugins.
var arguments = []Setting{
	{
		Name: "admitReclaimable", Place: Argument, Values: flag, Example: "true",
		Default: Default{Value: "false", CapacityCard: "true"},
		Effect: Text{
			"Resources that reclaim and preempt can take back do not count against the admission of a job.",
			"reclaim 和 preempt 能够收回的资源，在作业准入时不算作已占用。",
		},
		Page: "lending.md#admission", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "ancestorReclaimLevel", Place: Argument, Values: Text{"a whole number from 0", "0 或更大的整数"},
		Example: "1", Default: Default{Value: "0"},
		Effect: Text{
			"Volcano's argument: reclaim also compares what this many ancestors deserve. It is read under the name " +
				"`capacity` alone; `reclaimCompares: ancestors=N` has the same effect, also under `capacity-card`.",
			"Volcano 自己的参数：reclaim 还比较这么多级上级队列的应得量。只在名字 `capacity` 下读取；" +
				"`reclaimCompares: ancestors=N` 效果相同，在 `capacity-card` 下也可用。",
		},
		Page: "spec/weights.md#reclaimcompares", Level: Reference, Since: "Volcano v1.15",
	},
	{
		Name: "capacity.DRAConsumableCapacityEnable", Place: Argument, Values: flag, Example: "true",
		Default: Default{Text: Text{"the feature gate `DRAConsumableCapacity`", "特性门控 `DRAConsumableCapacity`"}},
		Effect: Text{
			"Volcano's argument: capacities of devices have quotas, too. It has no effect under `proportion`.",
			"Volcano 自己的参数：设备的容量也有配额。在 `proportion` 下没有作用。",
		},
		Page: "concepts.md#devices-of-resource-claims-dra", Level: Reference, Since: "Volcano v1.15",
	},
	{
		Name: "capacity.DynamicResourceAllocationEnable", Place: Argument, Values: flag, Example: "true",
		Default: Default{Text: Text{
			"the feature gate `DynamicResourceAllocation`", "特性门控 `DynamicResourceAllocation`"}},
		Effect: Text{
			"Volcano's argument: the capability of queues bounds devices of resource claims. " +
				"It has no effect under `proportion`.",
			"Volcano 自己的参数：队列的 capability 限制资源声明（resource claim）的设备。在 `proportion` 下没有作用。",
		},
		Page: "concepts.md#devices-of-resource-claims-dra", Level: Reference, Since: "Volcano v1.15",
	},
	{
		Name: "cardAttributes", Place: Argument, Example: "{gpu.example.com: model}", Default: none,
		Values: Text{"a map from drivers of devices to attributes", "从设备驱动到设备属性的映射"},
		Effect: Text{
			"The attribute that names the cards of a driver of resource claims.",
			"资源声明的某个驱动的设备中，给出卡名字的属性。",
		},
		Page: "advanced-cards.md#resource-claims-dra", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "cardGroups", Place: Argument, Example: "{hopper: {NVIDIA-H100-80GB-HBM3: 1, NVIDIA-H200: 1}}",
		Values: Text{"a map from groups to maps from cards to weights", "从分组到（卡到权重的映射）的映射"}, Default: none,
		Effect: Text{
			"Groups of cards, which quotas name with `@`, such as `@hopper`.",
			"卡的分组，配额用 `@` 引用，例如 `@hopper`。",
		},
		Page: "advanced-cards.md#groups-of-cards", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "cardLabels", Place: Argument, Example: "{cambricon.com/mlu: example.com/mlu-model}", Default: none,
		Values: Text{"a map from resources of cards to labels of nodes", "从卡的资源名到节点标签的映射"},
		Effect: Text{
			"The label that names the cards of a resource, in place of the vendor's label.",
			"给出某种资源的卡名字的节点标签，取代厂商的标签。",
		},
		Page: "cards.md#names-of-cards", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "cardStatus", Place: Argument,
		Values: Text{"a duration from `1m`", "不小于 `1m` 的时长"}, Example: "1m", Default: none,
		Effect: Text{
			"The time between two writes of `volcano.sh/card.status`, the cards of a queue, " +
				"on queues that have changed. The scheduler needs the right to patch queues. " +
				"It has no effect under `proportion`.",
			"两次写入 `volcano.sh/card.status`（队列的卡）之间的时间，只写有变化的队列。调度器需要 patch 队列的权限。" +
				"在 `proportion` 下没有作用。",
		},
		Page: "observability.md#cards-on-the-queue", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "cardUnlimitedCpuMemory", Place: Argument, Values: flag, Example: "true",
		Default: Default{Value: "false", CapacityCard: "true"},
		Effect: Text{
			"Pods with cards are neither checked nor counted for cpu and memory.",
			"有卡的 Pod 不检查也不统计 cpu 和内存。",
		},
		Page: "settings.md#3-cpu-and-memory-of-pods-with-cards", Level: Team, Stability: Stable, Since: first,
	},
	{
		Name: "deservedFrom", Place: Argument, Values: Text{English: "`spec` or `weight`"}, Example: "weight",
		Default: Default{Value: "spec"},
		Effect: Text{
			"A queue deserves what its spec and annotations state, or the part of its parent that its weight gives. " +
				"It has no effect under `proportion`.",
			"队列的应得量来自 spec 和注解，或者按权重从上级队列分得。在 `proportion` 下没有作用。",
		},
		Page: "spec/weights.md#deservedfrom-weight", Level: Reference, Stability: Stable, Since: first,
	},
	{
		Name: "fairShare", Place: Argument, Example: "{by: weight, counts: borrowed, of: [cards, cpu]}",
		Values: Text{
			"a map of `by`, `counts`, `horizon`, `of` and `weights`", "由 `by`、`counts`、`horizon`、`of`、`weights` 组成的映射"},
		Default: Default{Value: "{by: deserved, counts: all, of: [cards]}", Text: Text{
			"`horizon` is `fairShareHalfLife`, each weight is 1", "`horizon` 等于 `fairShareHalfLife`，权重都是 1"}},
		Effect: Text{
			"How usage over time is measured and compared. It has an effect with `fairShareHalfLife`.",
			"如何度量和比较历史用量。设置 `fairShareHalfLife` 后才有作用。",
		},
		Page: "spec/fairness.md#arguments", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "fairShareHalfLife", Place: Argument, Example: "24h", Default: off,
		Values: Text{"a duration above 0, such as `24h`", "大于 0 的时长，例如 `24h`"},
		Effect: Text{
			"Queues that had less over time go first. Usage counts half after this time.",
			"过去用得少的队列优先。经过这段时间，用量只算一半。",
		},
		Page: "time.md#fairness-over-time", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "fairShareReclaim", Place: Argument, Example: "1.5", Default: off,
		Values: Text{"a number above 1", "大于 1 的数"},
		Effect: Text{
			"A queue takes what another queue borrows if the level of the other queue is this many times its own, " +
				"or more. It has an effect with `fairShareHalfLife`, against queues with `min-runtime: reclaim=1m` " +
				"or more, and none under `proportion` or with `damped=N`.",
			"如果另一个队列的水平达到自己的这么多倍，就收回它借用的资源。设置 `fairShareHalfLife` 后，" +
				"对 `min-runtime` 中 `reclaim` 不小于 `1m` 的队列才有作用，" +
				"在 `proportion` 下或使用 `damped=N` 时没有作用。",
		},
		Page: "spec/fairness.md#borrowed-cards-that-are-taken", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "fractions", Place: Argument, Values: Text{English: "`dominant` or `memory`"}, Example: "memory",
		Default: Default{Value: "dominant"},
		Effect: Text{
			"A fraction of a card counts as the larger part of memory and cores, or as the part of memory.",
			"卡的一部分按显存和算力中较大的比例计算，或者只按显存的比例计算。",
		},
		Page: "advanced-cards.md#parts-of-a-card", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "hierarchyFrom", Place: Argument, Values: Text{English: "`parent` or `annotation`"},
		Example: "annotation", Default: Default{Value: "parent"},
		Effect: Text{
			"The tree of queues comes from `spec.parent`, or from the annotation `volcano.sh/hierarchy`.",
			"队列树来自 `spec.parent`，或者来自注解 `volcano.sh/hierarchy`。",
		},
		Page: "spec/weights.md#hierarchyfrom-annotation", Level: Recipe, Stability: Stable, Since: first,
	},
	{
		Name: "nodeOrderWeight", Place: Argument, Values: Text{"a number above 0", "大于 0 的数"}, Example: "1",
		Default: Default{Value: "2000"},
		Effect: Text{
			"The weight of the order of a card list in the scores of nodes. " +
				"The first card scores 100 times this, and each next card half of the card before.",
			"卡列表的顺序在节点打分中的权重。第一种卡的分数是它的 100 倍，之后每种卡是前一种的一半。",
		},
		Page: "cards.md#the-card-of-a-pod", Level: Reference, Stability: Stable, Since: first,
	},
	{
		Name: "podOwnerReferenceToServiceType", Place: Argument, Default: none,
		Values: Text{
			"a map from kinds of owners, such as `ReplicaSet`, to service classes",
			"从属主类型（例如 `ReplicaSet`）到服务类别的映射",
		},
		Example: "{ReplicaSet: inference, Job: training}",
		Effect: Text{
			"The service class of pods, by the kind of their owner. It has an effect with `reclaimByServiceType`.",
			"按属主类型给出 Pod 的服务类别。设置 `reclaimByServiceType` 后才有作用。",
		},
		Page: "eviction.md#inference-by-day-training-by-night", Level: Recipe, Stability: Alpha, Since: first,
	},
	{
		Name: "reclaimBeyondMinimum", Place: Argument, Values: flag, Example: "true",
		Default: Default{Value: "false"},
		Effect: Text{
			"A job that has its minimum of pods takes back what its queue deserves for its other pods. " +
				"It needs `enableJobStarving: false` for the plugin gang, and has no effect under `proportion`.",
			"已达到最小 Pod 数的作业，也为其余 Pod 收回队列应得的资源。插件 gang 要设 `enableJobStarving: false`，" +
				"在 `proportion` 下没有作用。",
		},
		Page: "lending.md#jobs-that-have-their-minimum", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "reclaimByServiceType", Place: Argument, Values: flag, Example: "true",
		Default: Default{Value: "false"},
		Effect: Text{
			"Inference takes from training, and training takes from no other queue. " +
				"It has no effect under `proportion`.",
			"推理从训练收回资源，训练不从其他队列收回。在 `proportion` 下没有作用。",
		},
		Page: "eviction.md#inference-by-day-training-by-night", Level: Recipe, Stability: Alpha, Since: first,
	},
	{
		Name: "reclaimCompares", Place: Argument, Values: Text{English: "`queue`, `ancestors=N` or `damped=N`"},
		Example: "ancestors=1", Default: Default{Value: "queue"},
		Effect: Text{
			"Reclaim compares what the two queues deserve, or also what N ancestors deserve. " +
				"With `damped=N`, two queues do not take the same cards from one another without end. " +
				"It has no effect under `proportion`.",
			"reclaim 比较两个队列的应得量，或者还比较 N 级上级队列的应得量。设为 `damped=N` 时，两个队列不会没完没了地互相收回同样的卡。" +
				"在 `proportion` 下没有作用。",
		},
		Page: "spec/weights.md#reclaimcompares", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "reclaimGangs", Place: Argument, Values: Text{English: "`keep` or `whole`"}, Example: "whole",
		Default: Default{Value: "keep"},
		Effect: Text{
			"Whether reclaim and preempt may evict a job as a whole. " +
				"With `keep`, a job keeps its minimum as long as the plugin gang votes. It has no effect " +
				"under `proportion`.",
			"reclaim 和 preempt 能否驱逐整个作业。设为 `keep` 时，只要插件 gang 参与表决，作业就保留最小 Pod 数。" +
				"在 `proportion` 下没有作用。",
		},
		Page: "lending.md#what-has-to-be-configured", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "rootCapability", Place: Argument, Values: Text{English: "`total`, `own` or `unlimited`"},
		Example: "unlimited",
		Default: Default{Text: Text{
			"`total` with Volcano v1.14.1, `own` from v1.14.2 on", "Volcano v1.14.1 为 `total`，v1.14.2 起为 `own`"}},
		Effect: Text{
			"What bounds the root: the whole cluster, the capability of the queue `root`, or nothing. " +
				"With `unlimited`, for clusters with an autoscaler, all guarantees are kept free, " +
				"as guarantees of cards always are.",
			"根队列的上限：整个集群、队列 `root` 的 capability，或者没有上限。`unlimited` 用于有自动扩缩容的集群，" +
				"这时所有资源的保证量都会留出来，与卡一样。",
		},
		Page: "spec/weights.md", Level: Reference, Stability: Stable, Since: first,
	},
	{
		Name: "semantics", Place: Argument, Example: "v1.14.4",
		Values: Text{English: "`v1.14.1`, `v1.14.4`, `v1.15` or `v1.16`"},
		Default: Default{Text: Text{
			"the release that the scheduler is built with", "构建调度器所用的版本"}},
		Effect: Text{
			"The release of Volcano that decides. It is an argument only of a build that cannot tell its " +
				"release, such as a fork.",
			"按 Volcano 的哪个版本判定。只用于无法得知自身版本的构建，例如分支（fork）。",
		},
		Page: "spec/differences.md#by-release", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "stateSave", Place: Argument, Values: Text{"a duration from `1s`", "不小于 `1s` 的时长"}, Example: "5m",
		Default: Default{Value: "1m"},
		Effect: Text{
			"The time between two saves of usage and budgets. Evictions that a budget counts are saved in the " +
				"next cycle.",
			"两次保存用量和预算之间的时间。计入驱逐预算的驱逐在下一个周期保存。",
		},
		Page: "time.md#what-is-stored", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "stateStore", Place: Argument, Values: Text{English: "`namespace/name` or `none`"}, Example: "none",
		Default: Default{Value: "volcano-system/capacity-card-usage"},
		Effect: Text{
			"The ConfigMap in which the scheduler saves usage, budgets, evictions, " +
				"and what it remembers of wrong annotations, lost nodes and evicted pods.",
			"保存用量、预算、驱逐记录，以及调度器对错误注解、丢失节点和被驱逐 Pod 的记忆的 ConfigMap。",
		},
		Page: "time.md#what-is-stored", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "terminatingCards", Place: Argument, Values: Text{English: "`hold` or `release`"}, Example: "release",
		Default: Default{Value: "release", CapacityCard: "hold"},
		Effect: Text{
			"Whether the cards of a pod that is being deleted count against the quotas until it is gone.",
			"正在删除的 Pod 的卡，在它消失之前是否计入配额。",
		},
		Page: "spec/cards.md#what-happens-when", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "unsetCapability", Place: Argument, Values: Text{English: "`unlimited` or `zero`"}, Example: "zero",
		Default: Default{Value: "unlimited"},
		Effect: Text{
			"The bound of a leaf queue on cpu or memory that its capability does not set.",
			"叶队列的 capability 没有设置 cpu 或内存时的上限。",
		},
		Page: "cards.md#cpu-and-memory", Level: Reference, Stability: Stable, Since: first,
	},
	{
		Name: "untypedCards", Place: Argument, Values: Text{English: "`charge`, `reject` or `ignore`"},
		Example: "reject", Default: Default{Value: "charge"},
		Effect: Text{
			"Pods that name no card count against the quota of the card of their node, are refused, or do not count.",
			"没有写卡名字的 Pod：计入所在节点的卡的配额、拒绝，或者不计入。",
		},
		Page: "cards.md#the-card-of-a-pod", Level: Reference, Stability: Stable, Since: first,
	},
	{
		Name: "victimOrder", Place: Argument, Values: Text{English: "`volcano` or `leastWork`"}, Example: "leastWork",
		Default: Default{Value: "volcano"},
		Effect: Text{
			"Which pods are evicted first: by queue and priority, or the pods that lose the least work. " +
				"It has no effect under `proportion`.",
			"先驱逐哪些 Pod：按队列和优先级，或者按损失的工作量从少到多。在 `proportion` 下没有作用。",
		},
		Page: "eviction.md#which-pods-go-first", Level: Reference, Stability: Beta, Since: first,
	},
}
