package page

import (
	"cmp"
	"fmt"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// rules says why jobs wait, by the rule that refuses them.
var rules = func() map[report.Rule]string {
	all := map[report.Rule]string{
		budgeted: "pods with such cards that queues have beyond what they deserve may not be evicted now: a " +
			"budget of evictions is used up",
		timedOut: "nothing is reserved for them any more: they were admitted for too long without their pods " +
			"on nodes",
		fenced: "pods with such cards that queues have beyond what they deserve are on the other side of a " +
			"fence",
		tooYoung: "pods with such cards that queues have beyond what they deserve have not run for long " +
			"enough to be reclaimed",
		startable: "nothing refuses them: the next cycle places their pods, as long as there is room",
	}
	for _, r := range explain.Rules {
		all[r.Rule] = r.Because.English
	}
	return all
}()

// The rules that package model adds.
const (
	timedOut report.Rule = "InqueueTimeout"
	fenced   report.Rule = "ReclaimFence"
	tooYoung report.Rule = "MinRuntime"
	budgeted report.Rule = "EvictionBudget"

	startable report.Rule = "Startable"
)

// rule describes a rule, which is a report.Rule or a string.
func rule(r any) string {
	name := fmt.Sprint(r)
	return cmp.Or(rules[report.Rule(name)], name)
}
