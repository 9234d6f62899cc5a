package page

import (
	"cmp"
	"fmt"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// rules describes each rule for the jobs that it refuses. The reasons of these jobs have the
// details.
var rules = map[report.Rule]string{
	report.UnknownQueue: "the queue does not exist",
	report.BrokenQueue:  "the queue does not reach the root",
	report.InnerQueue:   "the queue has child queues and takes no jobs itself",
	report.ClosedQueue:  "the queue is not open",
	report.TooManyJobs:  "the queue has as many admitted jobs as it may have",
	report.HeldByOrder: "an earlier job of the queue waits for quota, " +
		"and the order of the queue holds back later ones",
	report.OverQuota:        "the quota has no room",
	report.OverNamespace:    "the namespace has as much as the queue lets it have",
	report.OverHolder:       "the user, the group or the value of a label has as much as the queue lets it have",
	report.OverBudget:       "the budget of card-hours has too little left",
	report.OverSoftQuota:    "the queue would be above its soft quota, and other queues want what is left",
	report.OverDeserved:     "the queue has what it deserves",
	report.Guaranteed:       "what is left is guaranteed to other queues",
	report.Reserved:         "what is left is reserved for pods that get a node soon",
	report.Earmarked:        "what is left is earmarked for pods that others were evicted for",
	report.HeldForFairShare: "what is left is held for a job of a queue that goes first",
	report.MixedResources:   "the cards of a list do not share one resource",
	report.ResourceMismatch: "pods request another resource than that of their cards",
	report.UntypedPod:       "pods name no card",
	report.SearchExhausted:  "the search for an assignment of cards used up its budget",
	report.ReclaimDelayed:   "nothing is evicted for them until their pods have waited for as long as their queue says",
	report.TrainingJob: "nothing is evicted for them: their service class is training, " +
		"which takes nothing from other queues",
	report.ReclaimBudgetUsed: "nothing is evicted for them now: their queue, or one above it, " +
		"has taken as many pods of others as it may in a time",
	budgeted: "pods with such cards that queues have beyond what they deserve " +
		"may not be evicted now: a budget of evictions is used up",
	timedOut: "nothing is reserved for them any more: they were admitted for too long without their pods on nodes",
	fenced:   "pods with such cards that queues have beyond what they deserve are on the other side of a fence",
	tooYoung: "pods with such cards that queues have beyond what they deserve " +
		"have not run for long enough to be reclaimed",
	startable:             "nothing refuses them: the next cycle places their pods, as long as there is room",
	report.UnlabeledNodes: "no node has the label that names the card",
	report.NoSuchCard:     "no node has the card",
	report.UnlabeledNode:  "nodes lack the label that names the card",
	report.ClaimUnknown:   "a resource claim of the pods does not exist yet",
	report.ClaimRefused:   "a resource claim of the pods can be served nowhere",
	report.NoDevice:       "no node has enough devices for a resource claim of the pods",
	report.UnnamedDevice:  "devices lack the attribute that names the card",
	report.OtherDevice:    "resource claims may get cards that the pods do not name",
	explain.NotEnoughPods: "the job has fewer pods than it needs to start",
	explain.Gated:         "all pods that wait have scheduling gates",
	explain.Overused:      "the queue has what it deserves",
	explain.OtherPlugin:   "the quota allows it, but another plugin refuses it",
	explain.NodesTooSmall: "the quota has room, but no node is large enough",
	explain.NodesFull:     "the quota has room, but the nodes have none",
	explain.NodesUnfit:    "the quota has room, but no node suits the pods",
}

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
