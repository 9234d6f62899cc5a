package plugin

import (
	"cmp"
	"math"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Inspection reads what a plugin knows during an open session: why a job or task
// is refused, and the accounts of the queues. It changes no decision. It is for
// the goroutine that runs the session.
type Inspection struct{ session *session }

// Inspect returns the inspection of a plugin of this package, from the opening of
// its session to the close; false for any other plugin.
func Inspect(p framework.Plugin) (Inspection, bool) {
	own, ok := p.(*quotaPlugin)
	if !ok || own.session == nil {
		return Inspection{}, false
	}
	return Inspection{own.session}, true
}

// Enqueue returns why a job may not have its pods created now, nil if it may.
func (i Inspection) Enqueue(job *api.JobInfo) *report.Reason { return i.session.admit.Reason(job) }

// Allocate returns why a task may not be allocated now, on any node, nil if it
// may.
func (i Inspection) Allocate(task *api.TaskInfo) *report.Reason {
	s := i.session
	return i.explain(task, true, func(q index.Queue, request fastres.Vector) cards.Outcome {
		return s.allocation(s.reclaim.BooksFor(task), q, task, request)
	})
}

// Preempt returns why the queue of a task may not reclaim for it, nil if it may.
func (i Inspection) Preempt(task *api.TaskInfo) *report.Reason {
	return i.explain(task, false, func(q index.Queue, request fastres.Vector) cards.Outcome {
		return i.session.reclaim.MayReclaim(q, request, task)
	})
}

// explain applies a rule, that of allocation or another one, to a task whose queue is eligible.
func (i Inspection) explain(task *api.TaskInfo, allocation bool, rule func(index.Queue, fastres.Vector) cards.Outcome) *report.Reason {
	s := i.session
	frame := s.Frames.Open()
	defer frame.Close()
	v, request := s.Eligible(s.QueueOf(task)), frame.Vector()
	outcome := cards.Outcome{Verdict: v}
	if v.OK() {
		outcome = rule(v.Queue, request)
	}
	return s.explain.Explain(report.Refusal{Request: request, Namespace: task.Namespace, Allocation: allocation, Queue: v.Queue}.With(outcome))
}

// Levels returns the bounds of a queue and its ancestors that a quantity of a resource does not fit
// under, from the queue up. admission selects the rule of enqueue instead of that of allocate.
func (i Inspection) Levels(queue, resource string, quantity float64, admission bool) []report.Shortage {
	return i.session.explain.Levels(queue, resource, quantity, admission)
}

// Node returns why a task cannot have its cards on a node, nil if it can.
func (i Inspection) Node(task *api.TaskInfo, node string) *report.Reason {
	s := i.session
	if s.Cards == nil {
		return nil
	}
	return s.explain.ExplainNode(s.fitNode(s.reclaim.BooksFor(task), task, node), task.Namespace)
}

// Gated reports whether a pod has a scheduling gate that allocate does not remove once the
// quotas have room.
func (i Inspection) Gated(task *api.TaskInfo) bool {
	return task.SchGated && (i.session.settings.Bounds.Gates.Gated(task) || !reserve.OptedIn(task))
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
	s, ix := i.session, i.session.Index
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
			h := s.holding(q, d)
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

func (s *session) holding(q index.Queue, d fastres.Dim) Holding {
	readable := func(quantity float64) float64 {
		if quantity < fastres.MaxQuantity {
			return report.Readable(d, quantity)
		}
		return math.Inf(1)
	}
	of := func(row fastres.Vector) float64 { return readable(row.Get(d)) }
	ix := s.Index
	return Holding{
		Resource: s.Names.Name(d), Card: s.Names.IsCard(d),
		Allocated: of(ix.Allocated(q)), Request: of(ix.Request.Row(q)), Inqueue: of(ix.Inqueue.Row(q)), Elastic: of(ix.Elastic.Row(q)),
		Capability: readable(quota.Bound(s.Limit, s.Names, q, d)), Deserved: of(ix.Deserved.Row(q)), Guarantee: of(ix.Guarantee.Row(q)),
	}
}

// Charged returns the cards that the queue of an allocated task is charged for it,
// by name, in whole cards.
func (i Inspection) Charged(task *api.TaskInfo) map[string]float64 {
	charged, s := map[string]float64{}, i.session
	pod := s.Cards.PodRequest(s.QueueOf(task), task.Pod)
	if pod.None() {
		return charged
	}
	for r := range s.Cards.Requests(pod) {
		if d, ok := s.Cards.CardOn(task.NodeName, r); ok {
			charged[s.Names.Name(d)] += r.Amount.Cards()
		}
	}
	return charged
}
