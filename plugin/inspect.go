package plugin

import (
	"cmp"
	"math"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Inspection reads what a plugin knows during an open session: why something is
// refused, and what the queues have. It changes no decision. It is for the
// goroutine that runs the session.
type Inspection struct{ o *session }

// Inspect returns the inspection of a plugin that this package has built, from
// the opening of its session to the close; false for any other plugin.
func Inspect(p framework.Plugin) (Inspection, bool) {
	own, ok := p.(*quotaPlugin)
	if !ok || own.session == nil {
		return Inspection{}, false
	}
	return Inspection{own.session}, true
}

// Enqueue returns why a job may not get its pods now, nil if it may.
func (i Inspection) Enqueue(job *api.JobInfo) *Reason { return i.reason(i.o.enqueueable(job)) }

// Allocate returns why a task may not be placed now, on whichever node, nil if
// it may.
func (i Inspection) Allocate(task *api.TaskInfo) *Reason {
	return i.reason(i.o.refusalOf(i.o.allocation(i.queueOf(task), task)))
}

// Preempt returns why the queue of a task may not take from others for it, nil
// if it may.
func (i Inspection) Preempt(task *api.TaskInfo) *Reason {
	return i.reason(i.o.refusalOf(i.o.preemption(i.o.eligible(i.queueOf(task)), task)))
}

// Node returns why a task cannot have its cards on a node, nil if it can.
func (i Inspection) Node(task *api.TaskInfo, node string) *Reason {
	if i.o.cards == nil {
		return nil
	}
	_, why := i.o.fitsNode(i.o.ix, task, node)
	return why
}

func (i Inspection) queueOf(task *api.TaskInfo) *api.QueueInfo {
	if job := i.o.ssn.Jobs[task.Job]; job != nil {
		return i.o.ssn.Queues[job.Queue]
	}
	return nil
}

func (i Inspection) reason(r refusal) *Reason {
	if r.OK() {
		return nil
	}
	return i.o.explain(r)
}

// Account is what a queue has and may have, its children's included. A root that
// is made up has one, too.
type Account struct {
	Queue  string
	Parent string // "" for none
	Depth  int    // 0 at the top
	Leaf   bool
	Broken error // why the queue takes no jobs: it does not reach the root
	Share  float64
	// Holdings are those of cpu and memory, and then of every other resource that
	// the queue has, may have or asks for, in the order of their names.
	Holdings []Holding
}

// Holding is an account in one resource. cpu is in cores, memory in bytes, cards
// and everything else in whole units; +Inf is no bound.
type Holding struct {
	Resource string
	Card     bool

	Allocated  float64
	Request    float64 // allocated and asked for by pods that wait
	Inqueue    float64 // promised to jobs that were let in
	Elastic    float64 // allocated beyond the jobs' minimum
	Capability float64 // the bound that admission is held to
	Deserved   float64
	Guarantee  float64
}

// Accounts returns the accounts of all queues, parents first.
func (i Inspection) Accounts() []Account {
	o := i.o
	var accounts []Account
	for q := range index.Queue(o.ix.Len()) {
		a := Account{Queue: o.ix.Name(q), Depth: o.ix.Depth(q), Leaf: o.ix.IsLeaf(q), Broken: o.ix.Broken(q), Share: o.ix.Share(q)}
		if p := o.ix.Parent(q); p != index.None {
			a.Parent = o.ix.Name(p)
		}
		for d := range fastres.Dim(min(o.length, o.names.Len())) {
			if h := o.holding(q, d); d <= fastres.Memory || h != (Holding{Resource: h.Resource, Card: h.Card}) {
				a.Holdings = append(a.Holdings, h)
			}
		}
		slices.SortFunc(a.Holdings[2:], func(x, y Holding) int { return cmp.Compare(x.Resource, y.Resource) })
		accounts = append(accounts, a)
	}
	return accounts
}

func (o *session) holding(q index.Queue, d fastres.Dim) Holding {
	of := func(row fastres.Vector) float64 {
		if quantity := row.Get(d); quantity < fastres.MaxQuantity {
			return readable(d, quantity)
		}
		return math.Inf(1)
	}
	return Holding{
		Resource: o.names.Name(d), Card: o.names.IsCard(d),
		Allocated: of(o.ix.Allocated(q)), Request: of(o.ix.Request.Row(q)), Inqueue: of(o.ix.Inqueue.Row(q)), Elastic: of(o.ix.Elastic.Row(q)),
		Capability: of(o.limit.Row(q)), Deserved: of(o.ix.Deserved.Row(q)), Guarantee: of(o.ix.Guarantee.Row(q)),
	}
}

// Charged returns what the queue of a task is charged for it in cards, by name,
// in whole cards; the task has a node.
func (i Inspection) Charged(task *api.TaskInfo) map[string]float64 {
	charged := map[string]float64{}
	d := i.o.demandOf(i.o.queueOf(task), task.Pod)
	if len(d.wants) == 0 {
		return charged
	}
	for p := range i.o.cards.parts(d) {
		if dim, ok := i.o.cards.cardOn(task.NodeName, p); ok {
			charged[i.o.names.Name(dim)] += p.milli / 1000
		}
	}
	return charged
}
