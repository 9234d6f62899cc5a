// Package quota is the rules: who may be enqueued, allocated, reclaimed and
// preempted, as plain functions over the accounts of package index. One rule,
// one file; each opens with its formula and with the place upstream has it
// (volcano.sh/volcano v1.14.1, pkg/scheduler/plugins).
//
// # Words
//
//	capability      what a queue is bound to by its configuration
//	realCapability  the bound that admission is held to, after the guarantees of others
//	deserved        what a queue may take back from others
//	guarantee       what others may never take
//	allocated       what tasks use, with those placed in this session
//	inqueue         what was promised to jobs that were enqueued and do not run yet
//	elastic         what jobs use beyond their minimum, so can give back
//	share           how much of its deserved a queue uses
//	victim          a task that is asked to leave
//	reclaimer       the task it leaves for
//
// A rule answers with a value, a Verdict or an order; words, events and metrics
// are made elsewhere, from the value.
//
// # What it is not
//
// It keeps nothing between calls, changes nothing but the accounts it is given,
// logs nothing and knows no Kubernetes object.
package quota
