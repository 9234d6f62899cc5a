// Package constraint asks the optional features of the scheduler.
//
// A feature, such as limits of namespaces, is one package below this one. Its function Open returns nil where the
// feature is off, and otherwise its Hooks: one function for each question that the feature answers. Session has a
// method for each question, which asks all features that are on.
//
// Features do not import one another. The quotas of queues are asked directly, before all features. Four things do not
// fit into Hooks:
//
//   - loops over the cards of a list are outside of the hooks, because a rule decides on one card;
//   - the joint assignment of cards to jobs is in package reserve;
//   - displacement wraps admission;
//   - the planner in package reclaim asks for whole sets of victims.
//
// The table of features and hooks is docs/dev/CROSSINGS.md.
package constraint

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// Ask is a task that rules decide about. Session passes it by pointer, and each rule gets a copy. A copy takes as
// long as the comparison with a quota, and most sessions have no rule.
type Ask struct {
	Task  *api.TaskInfo
	Queue index.Queue
	Pod   *cards.PodRequest // the cards that the pod requests
	// Request is the quantity that the question asks for: the request of the task without cards, or the charge of its
	// queue for it on a node.
	Request  fastres.Vector
	Complete bool // Request has a dimension for everything that the task requests
	// Replace: a rule that refuses another quantity may replace Request by it.
	Replace bool
}

// Reclaimer takes from other queues. It is a task, or a whole job where Task is nil.
type Reclaimer struct {
	Queue index.Queue // None for a task without a queue
	Task  *api.TaskInfo
	Gang  *api.JobInfo
}

// JobAsk is a job that waits for admission, or that was admitted.
type JobAsk struct {
	Job   *api.JobInfo
	Queue index.Queue
	// Minimum has the minimum resources that the job lacks, without its cards. It is set where HasMinimum.
	Minimum    fastres.Vector
	HasMinimum bool
	Cards      *reserve.Job // nil where the job has and requests none
	// Inqueue has the dimensions of inqueue that features changed, for the metrics.
	Inqueue fastres.Vector
}

// Loan is a quantity of a card that a queue would take from another one.
type Loan struct {
	To, From     index.Queue
	Card         fastres.Dim
	Gained, Lost float64
}
