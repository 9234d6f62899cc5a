// Package constraint has the interfaces between the hooks of the scheduler and optional features.
//
// A feature such as limits of namespaces is one package below this one. It has a function Open
// that returns nil where the feature is off; otherwise the session uses it, and each hook asks it
// through the interfaces that it has:
//
//	TaskRule   may a task have what it requests, or a card
//	ClaimRule  may it share resource claims
//	NodeRule   may a task have a node
//	JobRule    may the pods of a job be created
//	CardRule   the same, for the cards of the job
//	Account    is charged for tasks beside their queues, also in drafts and simulations
//	TakePolicy who may take from whom
//	Evictions  bounds how many tasks are evicted
//	Notifier   gives tasks notice before they are evicted
//	Spender    how long queues may have cards
//	Enforcer   evicts tasks for no other task, when the session opens
//	Watcher    follows the tasks that get and lose nodes in the session
//	Reserver   reserves something for jobs that are admitted
//	QueueOrder which queue is served first
//	JobOrder   which job of a queue is served first
//	VictimOrder which queues lose first
//	Preparer   gets ready for questions about a queue
//	LoanRule   who takes what others borrow, though it deserves no more
//	Measurer   the numbers by which it refuses
//
// Session has a method for each question, which asks all active constraints.
//
// Constraints do not import one another. The quotas of queues are asked directly, before all
// constraints. Four things do not fit and stand beside them: cards choose the dimension, so loops
// over cards are outside, and rules inside; the joint assignment of cards to jobs (package
// reserve); displacement, which wraps admission; and the planner of reclaim (package reclaim),
// which asks for whole sets of victims.
//
// The table of features and hooks is docs/dev/CROSSINGS.md.
package constraint

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Ask is a task that rules decide about. A Session passes it by pointer, and each rule gets a copy: a copy takes as
// long as the comparison with a quota, and most sessions have no rule.
type Ask struct {
	Task  *api.TaskInfo
	Queue index.Queue
	Pod   *cards.PodRequest // what the pod states about cards
	// Request is the quantity that the question asks for: the request of the task without cards, or the
	// charge of its queue for it on a node.
	Request  fastres.Vector
	Complete bool // Request has a dimension for everything that the task requests
	// Replace: a rule that refuses something else may replace Request by that.
	Replace bool
}

// TaskRule bounds what tasks have. Its methods change nothing, and are safe for many goroutines.
type TaskRule interface {
	// Fit decides on a.Request beside the accounts of b.
	Fit(b *quota.Books, a Ask) quota.Verdict
	// FitCard decides on a quantity of one card.
	FitCard(b *quota.Books, a Ask, d fastres.Dim, milli float64) quota.Verdict
	// Lacks reports whether a has too little room for a quantity in an account that a running
	// task of q is charged on. Then the eviction of the task makes room.
	Lacks(b *quota.Books, a Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool
	// FitOwn decides on a quantity of one dimension beside what the queue of a itself has. No
	// eviction in another queue makes room there.
	FitOwn(b *quota.Books, a Ask, d fastres.Dim, milli float64) quota.Verdict
}

// ClaimRule is a TaskRule with accounts of its own for claims that pods share: each is charged for the claims that it
// does not hold. A TaskRule that is none decides on what the queue of the task gets, card by card.
type ClaimRule interface {
	FitClaims(b *quota.Books, a Ask, claims []index.DeviceClaim) quota.Verdict
}

// GroupRule is a TaskRule that may have nothing to say of groups of cards in a session: FitCard is not called for them
// then. A TaskRule that is none is asked about each group that has the card of a task.
type GroupRule interface {
	AsksGroups() bool
}

// NodeRule decides on what depends on the node of a task beside its cards. Its method changes nothing, and is safe for
// many goroutines.
type NodeRule interface {
	FitNode(b *quota.Books, a Ask, node string) quota.Verdict
}

// Reclaimer takes from other queues. It is a task, or a whole job where Task is nil.
type Reclaimer struct {
	Queue index.Queue // None for a task without a queue
	Task  *api.TaskInfo
	Gang  *api.JobInfo
}

// TakePolicy says who may take from whom, besides what the queues deserve. It is for the goroutine
// that runs the session.
type TakePolicy interface {
	// MayTake decides whether a task may take from other queues at all.
	MayTake(q index.Queue, task *api.TaskInfo) quota.Verdict
	// Protection returns what protects a running task of q from a reclaimer, after MayTake.
	Protection(r Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection
	// Spares reports whether jobs of the same queue may not preempt a running task of q either.
	// It is safe for many goroutines.
	Spares(q index.Queue, task *api.TaskInfo) bool
}

// Evictions bounds how many tasks of a queue are evicted, and for a queue. It is for the goroutine that runs the
// session. The queue that tasks are evicted for is None for nobody's.
type Evictions interface {
	// Begin starts a question: nobody counts as its victim yet.
	Begin()
	// Allows reports whether there is room for a task of a queue beside the victims of the question. Count counts it as
	// one, n = 1, or takes that back, n = -1.
	Allows(from, to index.Queue) bool
	Count(from, to index.Queue, n int)
	// Room returns how many tasks of a queue may be evicted now, without those of the question, and the most that may
	// ever be at once.
	Room(from, to index.Queue) (now, most int)
	// Evicted counts a task that is evicted, n = 1, or that is not after all, n = -1.
	Evicted(from, to index.Queue, n int)
}

// Notifier gives tasks notice before they are evicted.
type Notifier interface {
	// Notice returns until when a task of q may not be evicted, if it gets notice now at the latest. It is not after
	// now for one that may be evicted, and the zero time for one that gets no notice. It is safe for many goroutines.
	Notice(q index.Queue, task *api.TaskInfo) time.Time
	// Give gives a task notice, unless it has it. The event on the pod ends with why.
	Give(q index.Queue, task *api.TaskInfo, why string)
	// Has reports whether a task has notice.
	Has(q index.Queue, task *api.TaskInfo) bool
}

// Spender says which queues have used up what they may have of a card for some time.
type Spender interface {
	// Spent reports whether a queue itself may have no more of a card for now, whatever it has.
	Spent(q index.Queue, d fastres.Dim) bool
}

// Enforcer evicts tasks when a session opens, before its hooks are registered. The accounts of now keep them until the
// next session.
type Enforcer interface {
	EvictExcess()
}

// JobAsk is a job that waits for admission, or that was admitted.
type JobAsk struct {
	Job   *api.JobInfo
	Queue index.Queue
	// Minimum has the minimum resources that the job lacks, without its cards. It is set where
	// HasMinimum.
	Minimum    fastres.Vector
	HasMinimum bool
	Cards      *reserve.Job // nil where the job has and requests none
	// Inqueue has the dimensions of inqueue that constraints changed, for the metrics.
	Inqueue fastres.Vector
}

// JobRule bounds which jobs are admitted. A rule that refuses may replace a.Minimum by what it
// refuses.
type JobRule interface {
	AdmitJob(a JobAsk) quota.Verdict
}

// CardRule bounds the cards of jobs that are admitted, after all rules of jobs.
type CardRule interface {
	// PrepareCards is called before the quotas of queues are asked.
	PrepareCards()
	AdmitCards(a JobAsk) cards.Outcome
}

// Account is charged for tasks beside their queues.
type Account interface {
	// Charge charges a task with a.Request in b.
	Charge(b *quota.Books, a Ask)
	// Refund takes a charge back. scratch is memory of the length of a.Request.
	Refund(b *quota.Books, a Ask, scratch fastres.Vector)
}

// Watcher follows what happens in the session, after the queues of a task were charged or
// refunded. It may add to a.Request what else was changed, for the metrics.
type Watcher interface {
	Charged(a Ask)
	Refunded(a Ask)
}

// Reserver reserves something for jobs that are admitted.
type Reserver interface {
	Hold(a JobAsk)
	// Withdraw takes back what is reserved for a job. restore reserves the same again.
	Withdraw(a JobAsk) (restore func())
}

// Rejection is a refusal of a job, or of a task of it.
type Rejection struct {
	Job     api.JobID
	Verdict quota.Verdict // Admitted where no rule refuses, but the node
	// Several: the request names several cards, each of which can have a cause of its own.
	Several   bool
	Admission bool // see Refusal
	// Told: the refusal is the reason of the job. What nodes refuse is not.
	Told bool
}

// Witness observes the refusals of a session. Predicates run in parallel, so it is safe for many goroutines.
type Witness interface {
	NoteRejection(r Rejection)
}

// Closer has something to do when a session closes.
type Closer interface {
	Close()
}

// QueueOrder orders queues of the same priority, before their shares.
type QueueOrder interface {
	// CompareQueues returns a number below 0 if l goes first, above 0 if r does, and 0 if shares decide.
	CompareQueues(l, r index.Queue) int
}

// JobOrder orders the jobs of a queue.
type JobOrder interface {
	// CompareJobs returns a number below 0 if l goes first, above 0 if r does, and 0 if others decide.
	CompareJobs(l, r *api.JobInfo) int
	// OnlyThere returns the name of what has little effect behind plugins that order all jobs, "" for none.
	OnlyThere() string
}

// VictimOrder says which queues lose first, wherever they are in the tree.
type VictimOrder interface {
	// LosesFirst reports whether tasks of q are victims before those of other queues, for a reclaimer of the queue to.
	LosesFirst(q, to index.Queue) bool
}

// Preparer gets ready for questions about the tasks of a queue. It is for the goroutine that runs the session, which
// asks it before tasks of the queue are decided on, be it in many goroutines.
type Preparer interface {
	Prepare(q index.Queue)
}

// Loan is a quantity of a card that a queue would take from another one.
type Loan struct {
	To, From     index.Queue
	Card         fastres.Dim
	Gained, Lost float64
}

// LoanRule decides about cards that queues have beyond what they deserve.
type LoanRule interface {
	// AllowLoan reports whether the queue To may take the card, though it deserves no more of it.
	AllowLoan(b quota.View, l Loan) bool
}
