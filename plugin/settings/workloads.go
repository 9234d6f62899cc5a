package settings

// workloads are the annotations of pods, jobs and PodGroups.
var workloads = []Setting{
	{
		Name: "volcano.sh/card.name", Place: Workload, Objects: []string{"Pod", "PodGroup"},
		Values: Text{"a card, or cards with `|` in between", "一种卡，或者用 `|` 分隔的多种卡"}, Example: "NVIDIA-H200|NVIDIA-H800",
		Default: Default{Text: Text{"see `untypedCards`", "见 `untypedCards`"}},
		Effect: Text{
			"The card that the pod takes. Of a list, the pod takes the first card that is free. " +
				"On a PodGroup it has no effect.",
			"Pod 使用的卡。写成列表时，使用第一种有空闲的卡。写在 PodGroup 上无效。",
		},
		Page: "settings.md#2-the-card-of-a-pod", Level: Team, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/card.request", Place: Workload, Objects: []string{"Job", "Deployment", "PodGroup", "Pod"},
		Values: Text{
			"a JSON object of cards or lists of cards and whole numbers, such as `{\"A|B\": 8}`",
			"卡或卡列表到整数的 JSON 对象，例如 `{\"A|B\": 8}`"},
		Example: `{"NVIDIA-H200|NVIDIA-H800": 8}`, Pattern: requestPattern, Content: requestContent,
		Default: Default{Text: Text{"the job is admitted, and its pods are checked", "作业先准入，再检查它的 Pod"}},
		Effect: Text{
			"All cards that the job requests. It is used until the job has pods.",
			"作业申请的全部卡。在作业有 Pod 之前使用。",
		},
		Page: "spec/cards.md#annotations", Level: Common, Stability: Stable, Since: first,
	},
	{
		Name: "volcano.sh/user", Place: Workload, Objects: []string{"PodGroup", "Job", "Pod"}, Example: "alice",
		Values: Text{"the name of a user", "用户名"}, Default: none,
		Effect: Text{
			"The user of the job, for `user` in `volcano.sh/card.quota.by`.",
			"作业的用户，用于 `volcano.sh/card.quota.by` 的 `user`。",
		},
		Page: "limits.md#namespaces-users-groups-and-labels", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "volcano.sh/groups", Place: Workload, Objects: []string{"PodGroup", "Job", "Pod"},
		Example: "vision,speech",
		Values:  Text{"names of groups with commas in between", "用逗号分隔的用户组名"}, Default: none,
		Effect: Text{
			"The groups of the job's user, for `group` in `volcano.sh/card.quota.by`.",
			"作业用户所属的组，用于 `volcano.sh/card.quota.by` 的 `group`。",
		},
		Page: "limits.md#namespaces-users-groups-and-labels", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "volcano.sh/expected-runtime", Place: Workload, Objects: []string{"Pod", "PodGroup", "Job"},
		Example: "4h",
		Values:  Text{"a duration above 0, such as `4h`", "大于 0 的时长，例如 `4h`"}, Pattern: whole(duration),
		Default: Default{Text: Text{"unknown", "未知"}},
		Effect: Text{
			"How long pods run. A job that would use up a budget of card-hours is not admitted.",
			"Pod 运行多久。会用完卡时预算的作业不准入。",
		},
		Page: "time.md#budgets-of-card-hours", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "volcano.sh/checkpoint-time", Place: Workload, Objects: []string{"Pod", "PodGroup"},
		Values:  Text{"a time with a zone, such as `2026-12-01T08:30:00Z`", "带时区的时间，例如 `2026-12-01T08:30:00Z`"},
		Example: "2026-12-01T08:30:00Z", Default: none,
		Pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})$`,
		Effect: Text{
			"The last checkpoint of the pod. Work before it is not lost by an eviction.",
			"Pod 上一次检查点的时间。在这之前的工作不会因驱逐而丢失。",
		},
		Page: "spec/policies.md#checkpoint-time", Level: Reference, Stability: Alpha, Since: first,
	},
	{
		Name: "volcano.sh/eviction-grace", Place: Workload, Objects: []string{"Pod", "PodGroup", "Job"}, Example: "5m",
		Values: span, Pattern: `^` + duration + `$`, Default: Default{Text: Text{"no notice", "不通知"}},
		Effect: Text{
			"The notice before an eviction that the pod asks for. Its queues bound it.",
			"Pod 申请的驱逐前通知时间。队列给出上限。",
		},
		Page: "eviction.md#notice-before-an-eviction", Level: Common, Stability: Beta, Since: first,
	},
	{
		Name: "volcano.sh/service.type", Place: Workload, Objects: []string{"Job", "Deployment", "PodGroup"},
		Values: Text{English: "`inference` or `training`"}, Example: "training", Pattern: `^(inference|training)$`,
		Default: Default{Text: Text{"by `podOwnerReferenceToServiceType`", "由 `podOwnerReferenceToServiceType` 决定"}},
		Effect: Text{
			"The service class of the pods. It has an effect with `reclaimByServiceType`.",
			"Pod 的服务类别。设置 `reclaimByServiceType` 后才有作用。",
		},
		Page: "eviction.md#inference-by-day-training-by-night", Level: Recipe, Stability: Alpha, Since: first,
	},
}
