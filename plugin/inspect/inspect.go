// Package inspect reads what a plugin knows during an open session, and what a configuration means, for
// programs that show or check it. It changes no decision.
package inspect

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/admit"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Inspection reads an open session: why a job or task is refused, and the accounts of the queues. It is
// for the goroutine that runs the session.
type Inspection struct{ s *Session }

// Session is the parts of an open session that an Inspection reads.
type Session struct {
	*constraint.Session
	Settings  *arguments.Settings
	Admit     *admit.Session
	Reclaim   *reclaim.Session
	Explain   *report.Explainer
	Fences    *quota.Fences
	Fairness  *fairness.Memory
	Queues    *objects.Queues
	Evictions *evictions.Memory
	Budgets   *budget.Memory
	Order     func(l, r *api.QueueInfo) int // of queues

	// DecideTask and DecideNode are the answers of the hooks: of allocatable, and of the predicate where cards count.
	DecideTask func(q index.Queue, task *api.TaskInfo, request fastres.Vector) (*quota.Books, cards.Outcome)
	DecideNode func(b *quota.Books, task *api.TaskInfo, node *api.NodeInfo) (constraint.Ask, cards.NodeFit)
}

// Of returns the inspection of a session.
func Of(s Session) Inspection { return Inspection{&s} }

// Enqueue returns why a job may not have its pods created now, nil if it may.
func (i Inspection) Enqueue(job *api.JobInfo) *report.Reason { return i.s.Admit.Reason(job) }

// Allocate returns why a task may not be allocated now, on any node, nil if it
// may.
func (i Inspection) Allocate(task *api.TaskInfo) *report.Reason {
	s := i.s
	frame := s.Frames.Open()
	defer frame.Close()
	q, request := s.QueueOf(task), frame.Vector()
	books, outcome := s.DecideTask(q, task, request)
	asked := constraint.Ask{Task: task, Queue: q, Request: request}
	return s.Explain.Explain(s.RefusedTask(frame, books, asked, outcome))
}

// Preempt returns why the queue of a task may not reclaim for it, nil if it may.
func (i Inspection) Preempt(task *api.TaskInfo) *report.Reason {
	s := i.s
	frame := s.Frames.Open()
	defer frame.Close()
	q, request := s.QueueOf(task), frame.Vector()
	outcome := cards.Outcome{Verdict: s.Intake.Eligible(q)}
	if outcome.Verdict.OK() {
		s.PrepareQueue(q)
		outcome = s.Reclaim.MayReclaim(q, request, task)
	}
	return s.Explain.Explain(s.Refused(frame,
		constraint.Refusal{Request: request, Task: task, Job: task.Job, Queue: q, Books: &s.Books.Future}, outcome))
}

// Levels returns the bounds of a queue and its ancestors that a quantity of a resource does not fit
// under, from the queue up. admission selects the rule of enqueue instead of that of allocate.
func (i Inspection) Levels(queue, resource string, quantity float64, admission bool) (all []report.Shortage) {
	s := i.s
	q := s.Index.Lookup(queue)
	d, known := s.Names.LookupCard(resource)
	if !known {
		d, known = s.Names.Lookup(resource)
	}
	if q == index.None || !known {
		return nil
	}
	for _, f := range s.Levels(q, d, quantity/format.Readable(d, 1), admission) {
		if shortage := s.Explain.Shortage(f); !slices.Contains(all, shortage) { // several levels inherit one bound
			all = append(all, shortage)
		}
	}
	return all
}

// Node returns why a task cannot have its cards on a node, nil if it can.
func (i Inspection) Node(task *api.TaskInfo, node string) *report.Reason {
	s := i.s
	if s.Cards == nil {
		return nil
	}
	at := s.Volcano.Nodes[node]
	if at == nil {
		at = &api.NodeInfo{Name: node}
	}
	s.PrepareTask(task)
	books := s.Reclaim.BooksFor(task)
	a, fit := s.DecideNode(books, task, at)
	return s.Explain.ExplainNode(fit, s.RefusedNode(constraint.Frame{}, books, a, fit))
}

// Gated reports whether a pod has a scheduling gate that allocate does not remove once the
// quotas have room.
func (i Inspection) Gated(task *api.TaskInfo) bool {
	return task.SchGated && (i.s.Settings.Bounds.Gates.Gated(task) || !reserve.OptedIn(task))
}

// Account is the account of a queue, its children included. A root without a
// Queue object has one, too.
type Account struct {
	Queue  string
	Parent string // "" for none
	Depth  int    // 0 at the top
	Leaf   bool
	Broken error // why the queue takes no jobs: it does not reach the root
	Share  float64
	// InqueueTimeout is how long a job may be Inqueue without its minimum until nothing is
	// reserved for it any more, 0 for any time.
	InqueueTimeout time.Duration
	// Holdings are those of cpu and memory, and then of every other resource that
	// the queue has, may have or requests, in the order of their names.
	Holdings []Holding
}

// Holding is an account in one resource. cpu is in cores, memory in bytes, cards
// and everything else in whole units; +Inf is no bound.
type Holding struct {
	Resource string
	Card     bool

	Allocated  float64
	Request    float64 // allocated + pending
	Inqueue    float64 // reserved for admitted jobs
	Elastic    float64 // allocated beyond the jobs' minimum
	Capability float64 // the bound of allocation
	Deserved   float64
	Guarantee  float64
}

// Accounts returns the accounts of all queues, parents first.
func (i Inspection) Accounts() []Account {
	s, ix := i.s, i.s.Index
	var accounts []Account
	for q := range index.Queue(ix.Len()) {
		a := Account{Queue: ix.Name(q), Depth: ix.Depth(q), Leaf: ix.IsLeaf(q), Broken: ix.Broken(q), Share: ix.Share(q),
			InqueueTimeout: s.Intake.InqueueTimeout(q)}
		if ix.Allocated(q).IsEmpty() {
			a.Share = 0 // and not the 1 of best effort, which only places the queue in the order
		}
		if p := ix.Parent(q); p != index.None {
			a.Parent = ix.Name(p)
		}
		for d := range fastres.Dim(min(ix.Dims(), s.Names.Len())) {
			h := holding(s, q, d)
			none := Holding{Resource: h.Resource, Card: h.Card}
			if _, device := s.Names.Class(d); device && math.IsInf(h.Capability, 1) {
				none.Capability = h.Capability
			}
			if d <= fastres.Memory || h != none {
				a.Holdings = append(a.Holdings, h)
			}
		}
		slices.SortFunc(a.Holdings[2:], func(x, y Holding) int { return cmp.Compare(x.Resource, y.Resource) })
		accounts = append(accounts, a)
	}
	return accounts
}

func holding(s *Session, q index.Queue, d fastres.Dim) Holding {
	readable := func(quantity float64) float64 {
		if quantity < fastres.MaxQuantity {
			return format.Readable(d, quantity)
		}
		return math.Inf(1)
	}
	of := func(row fastres.Vector) float64 { return readable(row.Get(d)) }
	ix := s.Index
	return Holding{
		Resource: s.Names.Name(d), Card: s.Names.IsCard(d),
		Allocated: of(ix.Allocated(q)), Request: of(ix.Request.Row(q)), Inqueue: of(ix.Inqueue.Row(q)), Elastic: of(ix.Elastic.Row(q)),
		Capability: readable(quota.Bound(s.LimitOf(q), s.Names, q, d)), Deserved: of(ix.Deserved.Row(q)), Guarantee: of(ix.Guarantee.Row(q)),
	}
}

// Charged returns the cards that the queue of an allocated task is charged for it,
// by name, in whole cards.
func (i Inspection) Charged(task *api.TaskInfo) map[string]float64 {
	charged, s := map[string]float64{}, i.s
	pod := s.Cards.PodRequest(s.QueueOf(task), task.Pod)
	if pod.None() {
		return charged
	}
	node := s.Cards.NodeOf(task)
	for r := range s.Cards.RequestsOn(pod, task.NodeName) {
		for d, amount := range r.On(node) {
			charged[s.Names.Name(d)] += amount.Cards()
		}
	}
	return charged
}

// Claimed iterates over the cards that the resource claims of a task without a node request: the name of a claim that
// pods may share, "" for another one, and an amount of a card or of any card of a list, in whole cards.
func (i Inspection) Claimed(task *api.TaskInfo) iter.Seq2[string, Claimed] {
	return func(yield func(string, Claimed) bool) {
		if i.s.Cards == nil || len(task.Pod.Spec.ResourceClaims) == 0 {
			return
		}
		for claim, r := range i.s.Cards.ClaimedOpen(i.s.Cards.Stated(task.Pod)) {
			if !yield(claim, Claimed{r.Selector.Names.String(), r.Amount.Cards()}) {
				return
			}
		}
	}
}

// Claimed is one request of a resource claim.
type Claimed struct {
	Card  string // or a list
	Cards float64
}

// SharedCharge is the charge of a queue for a resource claim that several pods share, in whole cards.
type SharedCharge struct {
	Queue, Node, Card string
	Cards             float64
}

// SharedCharges returns what the queues of pods are charged for the claims that these share.
func (i Inspection) SharedCharges() (all []SharedCharge) {
	s := i.s
	for task, by := range s.Intake.SharedClaims() {
		for _, claim := range by.Claims {
			for _, of := range claim.Devices {
				if !s.Names.IsGroup(of.Dim) {
					all = append(all, SharedCharge{s.Index.Name(by.Queue), task.NodeName, s.Names.Name(of.Dim), of.Quantity / 1000})
				}
			}
		}
	}
	return all
}
