// Package evictions bounds how many pods of a queue are evicted in a time, and how many it has others evict (the
// annotation volcano.sh/eviction-budget). Package quota/evict has the formula.
package evictions

import (
	"math"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// Memory keeps the evictions that count for budgets from one session to the next. The zero Memory is ready.
type Memory struct {
	Ledger  evict.Ledger
	budgets *Budgets // of the session that was opened last; nil where no queue has a budget
}

// InForce returns the budgets of the session that was opened last, nil where no queue has one.
func (m *Memory) InForce() *Budgets { return m.budgets }

// Budgets are the budgets of evictions of all queues.
type Budgets struct {
	session *constraint.Session
	ledger  *evict.Ledger
	loads   bool      // what was evicted before is being read
	lost    []*Budget // by queue, nil for none: of its pods
	taken   []*Budget // by queue: of others' pods, for its own
	all     []*Budget
	fewest  int // that a budget of lost allows
}

// Budget is a budget of one queue.
type Budget struct {
	Queue index.Queue
	Key   policy.Key
	Rate  policy.Rate
	Used  int
	Next  time.Time // when one more may be evicted; only where Left is 0
	Loads bool      // what was used is being read
	asked int       // victims of the question
	count *evict.Counter
}

// Left returns how many may be evicted now.
func (b *Budget) Left() int {
	if b.Loads {
		return 0
	}
	return max(0, b.Rate.Most-b.Used)
}

// Wanted reports whether a queue has a budget of evictions, or enforces its quota.
func Wanted(s *constraint.Session) bool {
	return bounded(s) || s.Intake.AnyPolicy((*policy.Values).EnforcesQuota)
}

// Open returns the budgets, nil where no queue has one. loads says that what was stored is still being read.
func Open(s *constraint.Session, m *Memory, loads bool) *constraint.Hooks {
	m.budgets = nil
	if !bounded(s) {
		return nil
	}

	ledger := &m.Ledger
	b := &Budgets{session: s, ledger: ledger, loads: loads, fewest: math.MaxInt}
	m.budgets = b

	b.lost = b.read(&ledger.Lost, policy.EvictionBudget, (*policy.Values).EvictionBudget)
	for _, budget := range b.all {
		b.fewest = min(b.fewest, budget.Rate.Most)
	}

	b.taken = b.read(&ledger.Taken, policy.ReclaimBudget, (*policy.Values).ReclaimBudget)
	return b.hooks()
}

// hooks returns the hooks of budgets of evictions.
func (b *Budgets) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // they bound only who is evicted
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		MayTake:       b.mayTake,
		Spares:        nil, // evictions within a queue do not count
		Charge:        nil, // the victims of a simulation were chosen before
		Charged:       nil, // package reclaim counts an eviction that was named for a pod of another queue
		CompareQueues: nil, // a budget is no share
		Evictions:     b,
		Measure:       b.measure,
	}
}

// bounded reports whether a queue has a budget of evictions.
func bounded(s *constraint.Session) bool {
	return s.Intake.AnyPolicy(func(p *policy.Values) bool {
		return p.EvictionBudget().Most+p.ReclaimBudget().Most > 0
	})
}

// read returns the budgets of one kind by queue.
func (b *Budgets) read(count *evict.Counter, key policy.Key, rateOf func(*policy.Values) policy.Rate) []*Budget {
	s := b.session
	rate := func(q index.Queue) (r policy.Rate) {
		if q != index.None {
			r = rateOf(s.Intake.Policies(q))
		}
		return r
	}

	count.Begin(s.Now, func(queue string) time.Duration { return rate(s.Index.Lookup(queue)).Length })

	byQueue := make([]*Budget, s.Index.Len())
	for q := range index.Queue(s.Index.Len()) {
		if r := rate(q); r.Most > 0 {
			byQueue[q] = &Budget{Queue: q, Key: key, Rate: r, Loads: b.loads, count: count}
			b.renew(byQueue[q])
			b.all = append(b.all, byQueue[q])
		}
	}
	return byQueue
}

// renew computes the used part of a budget.
func (b *Budgets) renew(budget *Budget) {
	now := b.session.Now
	queue := b.session.Index.Name(budget.Queue)
	budget.Used = budget.count.Used(queue, now, budget.Rate.Length)
	budget.Next = budget.count.Next(queue, now, budget.Rate.Most, budget.Rate.Length)
}

// All returns the budgets. They are for reading.
func (b *Budgets) All() []*Budget { return b.all }

// each visits the budgets that an eviction of a task of a queue counts for.
func (b *Budgets) each(from, to index.Queue, visit func(*Budget)) {
	for _, p := range b.session.Index.Path(from) {
		if b.lost[p] != nil {
			visit(b.lost[p])
		}
	}

	if to == index.None {
		return
	}

	above := b.session.Index.Path(from)
	for _, p := range b.session.Index.Path(to) {
		if slices.Contains(above, p) {
			return
		}

		if b.taken[p] != nil {
			visit(b.taken[p])
		}
	}
}

// Tightest returns the budget with the least room for the eviction of tasks of a queue, nil for none. to is the queue
// that they would be evicted for.
func (b *Budgets) Tightest(from, to index.Queue) (tightest *Budget) {
	b.each(from, to, func(budget *Budget) {
		if tightest == nil || budget.Left() < tightest.Left() {
			tightest = budget
		}
	})
	return tightest
}

// Below returns the budget of a queue, or of one above it, that never allows as many evictions at once; nil for none.
// Most numbers are below all budgets, and cost nothing.
func (b *Budgets) Below(q index.Queue, evictions int) (below *Budget) {
	if evictions <= b.fewest {
		return nil
	}

	b.each(q, index.None, func(budget *Budget) {
		if budget.Rate.Most < evictions && (below == nil || budget.Rate.Most < below.Rate.Most) {
			below = budget
		}
	})
	return below
}

// Begin starts a question.
func (b *Budgets) Begin() {
	for _, budget := range b.all {
		budget.asked = 0
	}
}

// Allows reports whether all budgets have room for one more victim of the question.
func (b *Budgets) Allows(from, to index.Queue) bool {
	room := true
	b.each(from, to, func(budget *Budget) { room = room && budget.asked < budget.Left() })
	return room
}

// Count counts a victim of the question, or takes that back.
func (b *Budgets) Count(from, to index.Queue, n int) {
	b.each(from, to, func(budget *Budget) { budget.asked += n })
}

// Room returns what all budgets have room for, now after the victims of the question, and ever.
func (b *Budgets) Room(from, to index.Queue) (now, most int) {
	now, most = math.MaxInt, math.MaxInt
	b.each(from, to, func(budget *Budget) {
		now = min(now, budget.Left()-budget.asked)
		most = min(most, budget.Rate.Most)
	})

	return now, most
}

// Evicted counts an eviction in each budget, or takes it back.
func (b *Budgets) Evicted(from, to index.Queue, n int) {
	b.each(from, to, func(budget *Budget) {
		budget.count.Add(b.session.Index.Name(budget.Queue), b.session.Now, budget.Rate.Length, n)
		b.renew(budget)
	})

	b.ledger.Changed = true
}

// mayTake refuses a queue that has used up its own budget. Allows decides about the budgets above it: they do not count
// for victims below the queue that has the budget.
func (b *Budgets) mayTake(q index.Queue, _ *api.TaskInfo) quota.Verdict {
	if budget := b.taken[q]; budget != nil && budget.Left() == 0 {
		return quota.Verdict{Reason: quota.ReclaimBudgetUsed, Queue: q}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

// measure returns the numbers of the budget by which MayTake refuses.
func (b *Budgets) measure(refusal *constraint.Refusal, _ fastres.Dim, _ float64) constraint.Shortfall {
	if refusal.Verdict.Reason != quota.ReclaimBudgetUsed {
		return constraint.Shortfall{}
	}

	used := b.taken[refusal.Verdict.Queue]
	short := constraint.Shortfall{
		Verdict: refusal.Verdict,
		Numbers: quota.Numbers{Total: float64(used.Used + 1), Bound: float64(used.Rate.Most)},
		Against: constraint.ReclaimBudget,
		Detail:  "take=" + used.Rate.String(),
	}

	if !used.Loads {
		short.Until = used.Next
	}
	return short
}
