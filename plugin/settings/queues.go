package settings

var (
	cards = Text{
		"a JSON object of cards and whole numbers, such as `{\"NVIDIA-H200\": 8}`",
		"卡到整数的 JSON 对象，例如 `{\"NVIDIA-H200\": 8}`",
	}
	parts = Text{
		"a JSON object of cards and whole numbers or shares, such as `{\"NVIDIA-H200\": 8}` or " +
			"`{\"NVIDIA-H200\": \"25%\"}`",
		"卡到整数或份额的 JSON 对象，例如 `{\"NVIDIA-H200\": 8}` 或 `{\"NVIDIA-H200\": \"25%\"}`",
	}
	span     = Text{"a duration of 0 or more, such as `30m`", "0 或更长的时长，例如 `30m`"}
	factor   = Text{"a number above 0 with at most 3 decimals, such as `1.5`", "大于 0、最多 3 位小数的数，例如 `1.5`"}
	noBound  = Default{Text: Text{"no bound", "没有上限"}}
	quota    = Default{Text: Text{"the quota", "等于配额"}}
	zeroTime = Default{Value: "0s"}
)

// queues are the annotations of queues.
var queues = []Setting{
	{
		Name: "volcano.sh/card.quota", Place: Queue, Values: parts, Example: `{"NVIDIA-H200": 8}`,
		Pattern: amountsPattern, Content: amountsContent, Windows: true,
		Default: Default{Text: Text{
			"a leaf queue: 0 of every card; an inner queue: the bound of its parent", "叶队列：每种卡都是 0；内部队列：上级的上限"}},
		Effect: Text{
			"The cards, or groups of cards such as `@hopper`, that the queue and the queues below it have at most.",
			"队列及其下级最多能有的卡，或者卡的分组（例如 `@hopper`）。",
		},
		Page: "settings.md#1-the-quota-of-a-queue", Level: Team, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/card.deserved", Place: Queue, Values: parts, Example: `{"NVIDIA-H200": 4}`,
		Pattern: amountsPattern, Content: amountsContent, Windows: true, Default: quota,
		Effect: Text{
			"The cards that the queue takes back from others. What it has above can be taken from it.",
			"队列可以从其他队列收回的卡。超出的部分可以被别的队列收回。",
		},
		Page: "settings.md#4-lending-and-getting-back", Level: Team, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/card.guarantee", Place: Queue, Values: parts, Example: `{"NVIDIA-H200": 2}`,
		Pattern: amountsPattern, Content: amountsContent, Windows: true,
		Default: Default{Text: Text{
			"the quota; nothing below a queue that states a guarantee of the card", "等于配额；如果上级写了这种卡的保证量，则为 0"}},
		Effect: Text{
			"The cards that stay free for the queue. It lends the rest of its quota while it does not use it.",
			"为队列留出的卡。配额的其余部分在空闲时出借。",
		},
		Page: "lending.md#four-amounts", Level: Common, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/card.budget", Place: Queue, Example: `{"NVIDIA-H200": "5000h/30d"}`,
		Values: Text{"a JSON object of cards and hours per window, such as `{\"NVIDIA-H200\": \"5000h/30d\"}`",
			"卡到每个窗口的卡时的 JSON 对象，例如 `{\"NVIDIA-H200\": \"5000h/30d\"}`"},
		Pattern: budgetsPattern, Content: budgetsContent, Windows: true, Default: noBound,
		Effect: Text{
			"The card-hours that the queue and the queues below it use in a day, a week, a month or any other window.",
			"队列及其下级在一天、一周、一个月或其他窗口内可用的卡时。",
		},
		Page: "time.md#budgets-of-card-hours", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/card.quota.by", Place: Queue,
		Example: `{"namespace": {"*": {"NVIDIA-H200": 8, "cpu": "64"}}, "user": {"*": {"NVIDIA-H200": 4}}}`,
		Values: Text{
			"a JSON object of namespace, user, group or label:<name>, of values or *, and of cards and resources, " +
				"such as `{\"user\": {\"*\": {\"NVIDIA-H200\": 8, \"cpu\": \"64\"}}}`",
			"由 namespace、user、group 或 label:<名字>，值或 *，以及卡和资源组成的 JSON 对象，" +
				"例如 `{\"user\": {\"*\": {\"NVIDIA-H200\": 8, \"cpu\": \"64\"}}}`"},
		Pattern: holdersPattern, Content: holdersContent, Windows: true, Default: noBound,
		Effect: Text{
			"The cards that each namespace, user, group or value of a label has at most in the queue and below. " +
				"A quantity in quotes bounds a resource.",
			"每个命名空间、用户、用户组或标签值在队列及其下级最多能有的卡。带引号的数量限制资源。",
		},
		Page: "limits.md#namespaces-users-groups-and-labels", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/soft-quota", Place: Queue, Values: cards, Example: `{"NVIDIA-H200": 16}`,
		Pattern: cardsPattern, Content: cardsContent, Windows: true, Default: noBound,
		Effect: Text{
			"The queue has more cards than this only while nobody else wants them, and loses them first.",
			"只有别人不需要时，队列才能超出这个数；超出的卡最先被收回。",
		},
		Page: "lending.md#a-queue-that-makes-way-for-everybody", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/fair-share", Place: Queue, Example: "namespaces,weight=2",
		Values: Text{
			"`off` or `on`; `namespaces` or `namespaces=off`; `weight=NUMBER`",
			"`off` 或 `on`；`namespaces` 或 `namespaces=off`；`weight=NUMBER`",
		},
		Pattern: fairSharePattern,
		Default: Default{Value: "on", Text: Text{"the weight of the spec", "权重取自 spec"}}, Inherits: true, Windows: true,
		Effect: Text{
			"Whether the past of the queue counts, whether its namespaces take turns, and its weight with " +
				"`by: weight`. " +
				"It has an effect with `fairShareHalfLife`. The weight is not inherited.",
			"队列的历史用量是否计算，它的命名空间是否轮流，以及 `by: weight` 时的权重。设置 `fairShareHalfLife` 后才有作用。权重不继承。",
		},
		Page: "time.md#fairness-over-time", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "volcano.sh/hierarchy", Place: Queue, Example: "root/eng/prod",
		Values:  Text{"a path of names from the root, such as `root/eng/prod`", "从根开始的路径，例如 `root/eng/prod`"},
		Pattern: `^root(/[^/]*[^/\s][^/]*){0,63}$`,
		Default: Default{Text: Text{"the queue is a child of the root", "队列是根队列的下级"}},
		Effect: Text{
			"The place of the queue in the tree. It is read with `hierarchyFrom: annotation`.",
			"队列在树中的位置。设置 `hierarchyFrom: annotation` 后才读取。",
		},
		Page: "spec/weights.md#hierarchyfrom-annotation", Level: Recipe, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/hierarchy-weights", Place: Queue, Example: "1/6/8",
		Values:  Text{"a path of numbers above 0, such as `1/6/8`", "由大于 0 的数组成的路径，例如 `1/6/8`"},
		Pattern: `^[0-9.]*[1-9][0-9.]*(/[0-9.]*[1-9][0-9.]*){0,63}$`,
		Default: Default{Text: Text{"1 for each name", "每个名字为 1"}},
		Effect: Text{
			"A weight for each name on the path of `volcano.sh/hierarchy`.",
			"`volcano.sh/hierarchy` 的路径上每个名字的权重。",
		},
		Page: "spec/weights.md#hierarchyfrom-annotation", Level: Recipe, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/inqueue-timeout", Place: Queue, Values: span, Example: "30m",
		Pattern: whole(duration), Default: Default{Text: Text{"no timeout", "没有时限"}}, Inherits: true, Windows: true,
		Effect: Text{
			"An admitted job with less than its minimum of pods keeps others from being admitted for no longer " +
				"than this time.",
			"已准入的作业超过这段时间还没有达到最小 Pod 数，就不再阻止其他作业准入。",
		},
		Page: "settings.md#5-the-timeout-of-admitted-jobs", Level: Team, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/max-jobs", Place: Queue, Example: "20", Default: noBound, Windows: true,
		Values: Text{"a whole number above 0", "大于 0 的整数"}, Pattern: whole(`0*[1-9][0-9]{0,8}`),
		Effect: Text{
			"The jobs that are admitted at a time in the queue and below.",
			"队列及其下级同时准入的作业数。",
		},
		Page: "limits.md#number-of-jobs", Level: Common, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/overcommit-factor", Place: Queue, Values: factor, Example: "1.5",
		Pattern: whole(number), Default: noBound, Inherits: true, Windows: true,
		Effect: Text{
			"Jobs are admitted up to this times what the queue deserves.",
			"作业准入的上限是队列应得量的这么多倍。",
		},
		Page: "limits.md#admission-beyond-deserved", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/order", Place: Queue, Example: "fifo,hold=30m",
		Values: Text{
			"`fifo`, `priority-fifo` or `best-effort`; `hold=TIME`; `nodes=TIME`; `displace` or `displace=off`",
			"`fifo`、`priority-fifo` 或 `best-effort`；`hold=TIME`；`nodes=TIME`；`displace` 或 `displace=off`"},
		Pattern:  orderPattern,
		Default:  Default{Value: "best-effort", Text: Text{"`hold=1h` with the other orders", "其他顺序为 `hold=1h`"}},
		Inherits: true, Windows: true,
		Effect: Text{
			"The order of jobs in the queue. A job that waits for quota keeps later jobs back for `hold`. " +
				"One that lacks nodes for the time `nodes` holds its cards as long, with `fairShareHalfLife`. " +
				"With `displace`, a job is admitted in place of jobs of a lower priority that have not started.",
			"队列中作业的顺序。等待配额的作业让后面的作业最多等 `hold`。" +
				"缺少节点达到 `nodes` 的作业，在同样长的时间内占住它的卡（需要 `fairShareHalfLife`）。" +
				"设为 `displace` 时，作业取代优先级更低、尚未启动的作业而被准入。",
		},
		Page: "order.md#the-order-of-a-queue", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/override", Place: Queue, Default: none,
		Example: `[{"from": "20:00", "until": "06:00", "card.quota": {"NVIDIA-H200": 16}}]`,
		Values:  Text{"a JSON list of windows", "窗口的 JSON 列表"},
		Pattern: whole(`\[[\s\S]*\]`), Content: windowsContent,
		Effect: Text{
			"Times in which other values hold in the queue, such as nights, weekends or a week before a deadline.",
			"在某些时间，例如夜间、周末或截止日期前一周，队列使用其他取值。",
		},
		Page: "time.md#windows", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/reclaim-fence", Place: Queue, Values: Text{"true or false", "true 或 false"}, Example: "true",
		Pattern: whole(boolean), Default: Default{Value: "false"}, Windows: true,
		Effect: Text{
			"No queue outside takes from the queue and below, and no queue inside takes from outside.",
			"外面的队列不能从这个队列及其下级收回资源，里面的队列也不能从外面收回。",
		},
		Page: "eviction.md#teams-that-trade-among-themselves", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/min-runtime", Place: Queue, Example: "reclaim=30m,preempt=10m",
		Values:  Text{"`reclaim=TIME`; `preempt=TIME`", "`reclaim=TIME`；`preempt=TIME`"},
		Pattern: runtimePattern,
		Default: Default{Value: "reclaim=0s,preempt=0s"}, Inherits: true, Windows: true,
		Effect: Text{
			"How long a pod runs before other queues reclaim it, and before jobs of its own queue preempt it.",
			"Pod 运行多久之后，其他队列才能回收它，本队列的作业才能抢占它。",
		},
		Page: "eviction.md#pods-that-have-just-started", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/reclaim-delay", Place: Queue, Values: span, Example: "2m",
		Pattern: whole(duration), Default: zeroTime, Inherits: true, Windows: true,
		Effect: Text{
			"How long a pod waits before its queue reclaims for it.",
			"Pod 等待多久之后，队列才为它回收。",
		},
		Page: "eviction.md#a-short-wait-first", Level: Reference, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/eviction-budget", Place: Queue, Example: "lose=10/1h,take=20/1d",
		Values:  Text{"`lose=N/LENGTH`; `take=N/LENGTH`", "`lose=N/LENGTH`；`take=N/LENGTH`"},
		Pattern: evictionsPattern, Default: noBound, Windows: true,
		Effect: Text{
			"The most pods that the queue and below lose to reclaim and `enforce-quota` in any such time, " +
				"and the most that they take.",
			"在任意这么长的时间内，队列及其下级因回收和 `enforce-quota` 最多失去的 Pod 数，以及最多从别的队列收回的 Pod 数。",
		},
		Page: "eviction.md#a-bound-on-evictions", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/eviction-grace", Place: Queue, Values: span, Example: "10m",
		Pattern: whole(duration), Windows: true,
		Default: Default{Text: Text{"no notice", "不通知"}},
		Effect: Text{
			"The longest notice that pods of the queue and below get before they are evicted, if they ask for it.",
			"队列及其下级的 Pod 在被驱逐前最多能得到的通知时间，要由 Pod 自己申请。",
		},
		Page: "eviction.md#notice-before-an-eviction", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/enforce-quota", Place: Queue, Example: "after=30m,budgets",
		Values:  Text{"`off` or `after=TIME`; `budgets`", "`off` 或 `after=TIME`；`budgets`"},
		Pattern: enforcePattern,
		Default: Default{Value: "off"}, Inherits: true, Windows: true,
		Effect: Text{
			"Pods above the bounds of the queue are evicted after this time. " +
				"With `budgets`, a used-up budget of card-hours is such a bound.",
			"超出队列上限的 Pod，过了这段时间就被驱逐。写 `budgets` 时，用完的卡时预算也是这样的上限。",
		},
		Page: "eviction.md#a-quota-that-evicts", Level: Common, Stability: Beta, Since: first,
	},
}
