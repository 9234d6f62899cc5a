package constraint

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Hooks are the functions by which the session asks one feature. A field is nil where the feature has nothing to say:
// the session does not call it then. In the source, a comment at the nil says why.
//
// The functions run in the goroutine of the session, unless their comment says that they are safe for many goroutines.
type Hooks struct {
	// AdmitJob decides whether the pods of a job may be created. A refusal may set a.Minimum to the refused part.
	AdmitJob func(a JobAsk) quota.Verdict
	// PrepareCards is called before the quotas of queues decide on the cards of a job.
	PrepareCards func()
	// AdmitCards decides on the cards of a job that all hooks AdmitJob admit.
	AdmitCards func(a JobAsk) cards.Outcome

	// Hold reserves something for a job that is admitted.
	Hold func(a JobAsk)
	// Withdraw takes back the reservation of a job. restore reserves the same again.
	Withdraw func(a JobAsk) (restore func())

	// Prepare is called before tasks of a queue are decided on, possibly by many goroutines.
	Prepare func(q index.Queue)
	// Fit decides on a.Request on top of the accounts of b. It changes nothing, and is safe for many goroutines. Where
	// it is nil, FitCard decides on each requested dimension by itself.
	Fit func(b *quota.Books, a Ask) quota.Verdict
	// FitCard is Fit for a quantity of one card.
	FitCard func(b *quota.Books, a Ask, d fastres.Dim, milli float64) quota.Verdict
	// FitClaims is Fit for resource claims that pods share. Where it is nil, FitCard decides on the added cards of
	// the queue, card by card.
	FitClaims func(b *quota.Books, a Ask, claims []index.DeviceClaim) quota.Verdict
	// SkipsGroups: FitCard admits each group of cards, so the check of a card does not ask it for the groups of the
	// card.
	SkipsGroups bool
	// FitNode is Fit for the parts of a request that depend on the node, other than cards. It is called only in
	// sessions with cards.
	FitNode func(b *quota.Books, a Ask, node string) quota.Verdict

	// FitOwn decides on a quantity of one dimension by the accounts of the queue itself. No eviction in another queue
	// makes room there. It is safe for many goroutines.
	FitOwn func(b *quota.Books, a Ask, d fastres.Dim, milli float64) quota.Verdict

	// Lacks reports whether an account that a running task of q is charged on has too little room for a quantity.
	// The eviction of the task makes room then. It is safe for many goroutines.
	Lacks func(b *quota.Books, a Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool

	// MayTake decides whether a task may take from other queues at all.
	MayTake func(q index.Queue, task *api.TaskInfo) quota.Verdict
	// Protection returns what protects a running task of q from a reclaimer, after MayTake.
	Protection func(r Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection
	// Spares reports whether jobs of the same queue may not preempt a running task of q. It is safe for many
	// goroutines.
	Spares func(q index.Queue, task *api.TaskInfo) bool
	// AllowLoan reports whether the queue l.To may take a card that another one borrows, though it deserves no more.
	AllowLoan func(b quota.View, l Loan) bool

	// Charge charges a task with a.Request in b, on accounts other than its queue's.
	Charge func(b *quota.Books, a Ask)
	// Refund takes a charge back. scratch is memory of the length of a.Request.
	Refund func(b *quota.Books, a Ask, scratch fastres.Vector)

	// Charged is called after the queues of a task were charged in the session. It may add to a.Request other
	// dimensions that changed, for the metrics.
	Charged func(a Ask)
	// Refunded is called after the queues of a task were refunded in the session, in the same way.
	Refunded func(a Ask)

	// CompareQueues orders queues of one priority before their shares do: below 0 if l goes first, above 0 if r does.
	CompareQueues func(l, r index.Queue) int
	// CompareJobs orders the jobs of a queue in the same way.
	CompareJobs func(l, r *api.JobInfo) int
	// OnlyThere names an argument that has little effect behind plugins that order all jobs, "" for none.
	OnlyThere string
	// LosesFirst reports whether tasks of q are victims before tasks of other queues, for a reclaimer of the queue to.
	LosesFirst func(q, to index.Queue) bool

	// Evictions bounds the number of evictions.
	Evictions Evictions
	// Notifier gives tasks notice before they are evicted.
	Notifier Notifier
	// EvictExcess evicts tasks when a session opens, before Volcano asks anything. The accounts of now keep the tasks
	// until the next session.
	EvictExcess func()
	// Spent reports whether a queue itself may have no more of a card for now, whatever it has.
	Spent func(q index.Queue, d fastres.Dim) bool
	// Measure returns the comparison by which the feature refuses a quantity of one dimension, with the verdict
	// Admitted if the quantity fits. It is safe for many goroutines.
	Measure func(r *Refusal, d fastres.Dim, milli float64) Shortfall
	// Close is called when the session closes.
	Close func()
}

// Evictions bounds how many tasks of a queue are evicted, and how many are evicted for a queue. The queue to is None
// where tasks are evicted for no other task.
type Evictions interface {
	// Begin starts a question, which has no victims yet.
	Begin()
	// Allows reports whether there is room for one more victim, after the victims of the question.
	Allows(from, to index.Queue) bool
	// Count adds n victims to the question: -1 takes one back.
	Count(from, to index.Queue, n int)
	// Room returns how many tasks of a queue may be evicted now, after the victims of the question, and the most that
	// may ever be evicted at once.
	Room(from, to index.Queue) (now, most int)
	// Evicted counts an eviction, n = 1, or takes it back, n = -1.
	Evicted(from, to index.Queue, n int)
}

// Notifier gives tasks notice before they are evicted.
type Notifier interface {
	// Notice returns the time until which a task of q may not be evicted, if it gets notice now at the latest. It is
	// the zero time for a task that gets no notice. It is safe for many goroutines.
	Notice(q index.Queue, task *api.TaskInfo) time.Time
	// Give gives a task notice, unless it has it. The event on the pod ends with why.
	Give(q index.Queue, task *api.TaskInfo, why string)
	// Has reports whether a task has notice.
	Has(q index.Queue, task *api.TaskInfo) bool
}

// hook is a field of Hooks by which the session finds the features to ask.
type hook uint8

const (
	onAdmitJob hook = iota
	onPrepareCards
	onAdmitCards
	onHold
	onWithdraw
	onPrepare
	onFit
	onFitCard
	onFitGroup
	onFitClaims
	onFitNode
	onFitOwn
	onLacks
	onMayTake
	onProtection
	onSpares
	onAllowLoan
	onCharge
	onRefund
	onCharged
	onRefunded
	onCompareQueues
	onCompareJobs
	onLosesFirst
	onEvictions
	onNotifier
	onEvictExcess
	onSpent
	onMeasure
	onClose
	hooks // the number of hooks
)

// present returns which hooks a feature has.
func (h *Hooks) present() [hooks]bool {
	return [hooks]bool{
		onAdmitJob:      h.AdmitJob != nil,
		onPrepareCards:  h.PrepareCards != nil,
		onAdmitCards:    h.AdmitCards != nil,
		onHold:          h.Hold != nil,
		onWithdraw:      h.Withdraw != nil,
		onPrepare:       h.Prepare != nil,
		onFit:           h.Fit != nil || h.FitCard != nil,
		onFitCard:       h.FitCard != nil,
		onFitGroup:      h.FitCard != nil && !h.SkipsGroups,
		onFitClaims:     h.FitClaims != nil || h.FitCard != nil,
		onFitNode:       h.FitNode != nil,
		onFitOwn:        h.FitOwn != nil,
		onLacks:         h.Lacks != nil,
		onMayTake:       h.MayTake != nil,
		onProtection:    h.Protection != nil,
		onSpares:        h.Spares != nil,
		onAllowLoan:     h.AllowLoan != nil,
		onCharge:        h.Charge != nil,
		onRefund:        h.Refund != nil,
		onCharged:       h.Charged != nil,
		onRefunded:      h.Refunded != nil,
		onCompareQueues: h.CompareQueues != nil,
		onCompareJobs:   h.CompareJobs != nil,
		onLosesFirst:    h.LosesFirst != nil,
		onEvictions:     h.Evictions != nil,
		onNotifier:      h.Notifier != nil,
		onEvictExcess:   h.EvictExcess != nil,
		onSpent:         h.Spent != nil,
		onMeasure:       h.Measure != nil,
		onClose:         h.Close != nil,
	}
}

// active has the features of a session, by the hook that they have, in the order in which they are asked.
type active struct {
	by [hooks][]*Hooks
	// room is the first memory of the lists: most sessions need no more.
	room [hooks][roomOf]*Hooks
}

const roomOf = 3

// reset begins without features.
func (a *active) reset() {
	for i := range a.by {
		a.by[i] = a.room[i][:0]
	}
}

// use adds a feature behind the others.
func (a *active) use(h *Hooks) {
	for i, present := range h.present() {
		if present {
			a.by[i] = append(a.by[i], h)
		}
	}
}
