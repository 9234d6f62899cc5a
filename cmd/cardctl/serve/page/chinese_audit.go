package page

import "maps"

// auditInChinese has the texts of the page Audit, and those of the findings of package audit.
var auditInChinese = map[string]string{
	"Audit":                                 "审计",
	"All findings":                          "所有发现",
	"Check":                                 "检查",
	"Days":                                  "天数",
	"Finding":                               "发现",
	"Known from":                            "依据",
	"Nothing is found.":                     "没有发现。",
	"Quotas and policies that nobody needs": "无人需要的配额和策略",
	"The record was saved at %s.":           "记录保存于 %s。",
	"The use of %d is not: the record covers less, at most %s of it, or is of a release that did not keep when it began.": "另有 %d 项未知：记录覆盖的时间不够，最多 %s，或由未保存起始时间的版本写入。",
	"There is no record of use over time:": "没有历史占用的记录：",
	"Unused quotas are not looked for, and guarantees and borrowing are judged by what queues have now.":                                                                        "因此不查找未使用的配额，保障量和借用按队列当前的占用判断。",
	"Use is known from averages with a half-life of %s, which tell what a queue has used on average at most. The use of %d quotas and guarantees in the last %d days is known.": "使用情况来自半衰期为 %s 的平均值，它给出队列平均使用量的上限。已知 %d 项配额和保障量在最近 %d 天的使用情况。",
	"configuration": "配置",
	"record":        "记录",

	"a quota of which hardly anything was used":                             "几乎没有使用过的配额",
	"a guarantee of which more than half idles, and nobody else can use it": "一半以上闲置的保障量，其他队列无法使用",
	"a queue that has a card and deserves none":                             "占用卡但没有应得量的队列",
	"quotas that add up to more than there is":                              "总和超过实际数量的配额",
	"groups of cards that have cards in common":                             "包含相同卡的卡组",
	"policies and values that decide nothing":                               "不起任何作用的策略和值",

	"used none of its quota of %s in the last %d days":                                                                            "配额 %s 在最近 %d 天未使用",
	"used less than %s of its quota of %s on average in the last %d days":                                                         "平均使用不到 %s（配额 %s），最近 %d 天",
	"at least %s of its guarantee of %s idled on average in the last %d days":                                                     "平均至少闲置 %s（保障量 %s），最近 %d 天",
	"%s of its guarantee of %s idles now; the time before is not known":                                                           "当前闲置 %s（保障量 %s）；此前的情况未知",
	"deserves none, has %s now, and has had %s on average (half-life %s)":                                                         "没有应得量，当前占用 %s，平均占用 %s（半衰期 %s）",
	"deserves none, and has %s now; the time before is not known":                                                                 "没有应得量，当前占用 %s；此前的情况未知",
	"the quotas of %d queues below it add up to %s, more than its quota of %s":                                                    "其下 %d 个队列的配额之和为 %s，超过它的配额 %s",
	"the quotas of %d queues below it add up to %s, more than the %s of the nodes":                                                "其下 %d 个队列的配额之和为 %s，超过节点的 %s",
	"the quotas of %d queues below it add up to %s, more than its quota of %s and the %s of the nodes":                            "其下 %d 个队列的配额之和为 %s，超过它的配额 %s 和节点的 %s",
	"the quotas of all %d leaf queues add up to %s, more than the %s of the nodes":                                                "所有 %d 个叶子队列的配额之和为 %s，超过节点的 %s",
	"the groups %s and %s have cards in common (%s): they bound, and what queues deserve or are guaranteed of them has no effect": "卡组 %s 和 %s 包含相同的卡（%s）：它们只能作为上限，对它们设置的应得量和保障量无效",
	"the groups %s and %s can have cards in common: they bound, and what queues deserve or are guaranteed of them has no effect":  "卡组 %s 和 %s 可能包含相同的卡：它们只能作为上限，对它们设置的应得量和保障量无效",
	"the window %s is over": "时间窗口 %s 已结束",
	"its limit of %s jobs never decides: %s allows %s for all queues below it together":           "作业数上限 %s 不起作用：%s 及其下所有队列共允许 %s 个",
	"%s has no effect: the scheduler's configuration has no action %s":                            "%s 无效：调度器配置中没有动作 %s",
	"its budget of %s h in %s never decides: with a quota of %s the queue can use %s h":           "预算 %s 卡时（%s）不起作用：配额为 %s 时最多使用 %s 卡时",
	"its limit of %s for a namespace never decides: its quota is %s":                              "每个命名空间的上限 %s 不起作用：队列的配额为 %s",
	"its limit of %s for %s never decides: its quota is %s":                                       "上限 %s（%s）不起作用：队列的配额为 %s",
	"its budget of %s h in %s never decides: %s has %s h for all queues below it together":        "预算 %s 卡时（%s）不起作用：%s 及其下所有队列共有 %s 卡时",
	"its eviction-budget of %s never decides: %s allows %s for all queues below it together":      "eviction-budget %s 不起作用：%s 及其下所有队列共允许 %s",
	"its eviction-grace of %s never decides: %s grants no more than %s":                           "eviction-grace %s 不起作用：%s 最多给予 %s",
	"its order %s never decides: the leaf queues below it have their own":                         "order %s 不起作用：其下的叶子队列各有自己的顺序",
	"enforce-quota names budgets, and neither it nor a queue below it has a budget of card-hours": "enforce-quota 包含 budgets，但该队列及其下队列均没有卡时预算",
}

func init() { maps.Copy(chinese, auditInChinese) }
