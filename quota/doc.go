// Package quota implements the quota rules: which jobs are admitted, which tasks are
// allocated, and which tasks are evicted for others. The rules are plain functions over
// the accounts of package index. Each file holds one rule. It opens with a sentence for
// users of Volcano, and continues with the formula and the units. "Upstream" is the place
// of the rule in volcano.sh/volcano v1.14.1, relative to pkg/scheduler/plugins.
//
// # Words
//
//	capability      the most that a queue can use, as configured
//	realCapability  capability, reduced by the guarantees of other queues: the bound of
//	                admission and allocation
//	deserved        the resources that a queue can reclaim from other queues
//	guarantee       the resources that other queues can never use
//	allocated       the sum of the requests of tasks that have a node
//	inqueue         the reservations of admitted jobs: their minimum without allocated
//	elastic         the resources that jobs use beyond their minimum, and can return
//	share           allocated relative to deserved: the smallest is served first
//	victim          a task that is evicted
//	reclaimer       the pending task that a victim is evicted for
//	refusal         a verdict that does not admit, with its reason and queue
//
// A rule returns a value: a Verdict, an order, or a truth value. Package plugin turns
// values into words, events and metrics.
//
// # Units and presence
//
// Quantities have the units of package fastres: milliCPU, bytes, and thousandths for
// scalars, cards included. Rules compare the dimensions that a request or a bound names, so
// an absent dimension is not the same as a dimension of 0. Each rule says which.
//
// # Limits of the package
//
// The package keeps nothing between calls, changes only the accounts that it is given, logs
// nothing, and knows no Kubernetes object. Rules do not fail: they return no errors.
package quota
