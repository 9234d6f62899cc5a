package budget

import (
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Budgets refuses what budgets have no room for.
type Budgets struct {
	session *constraint.Session
	memory  *Memory
	now     time.Time     // of the windows
	loads   bool          // what was used before is being read
	dims    []fastres.Dim // cards and groups with a budget
	bounds  []Budget
	own     []int32 // by queue and dimension: the position of its budget in bounds, -1 for none
	spent   []int32 // the same for the nearest budget of the queue or above it that is used up
	// length is the length of the job that was asked about last. taken is, by bound, what its requests need that fit.
	length time.Duration
	taken  []float64
	job    reserve.Job
	// changed are the tasks that got or lost cards since the session opened.
	changed map[api.TaskID]changed
}

// Budget is the budget of a queue. Quantities are card-milli × seconds.
type Budget struct {
	Queue  index.Queue
	Dim    fastres.Dim
	Window policy.Window
	Limit  float64
	Parts  []float64 // used by the queue and the queues below it, by part of the window
	Used   float64
	Needed float64 // by pods with an announced length
}

// All returns the budgets of all queues. They are for reading.
func (r *Budgets) All() []Budget { return r.bounds }

// Now returns the time of the windows.
func (r *Budgets) Now() time.Time { return r.now }

// left returns the part of the limit that is neither used nor still needed by pods with an announced length.
func (b *Budget) left() float64 { return b.Limit - b.Used - b.Needed }

// Open charges the cards that queues have held since the last session, and returns the hooks, nil where no queue has a
// budget. stored is the loaded state, nil for none. loads says that the store is still being read.
func Open(s *constraint.Session, m *Memory, stored *store.State, loads bool) *constraint.Hooks {
	m.restore(s, stored)
	now := s.Now.Add(m.shift)
	if !Wanted(s) {
		m.ledger.Begin(now, nil) // what was used counts if a budget is set again within the window
		m.budgets = nil
		m.had = had{}
		return nil
	}

	r := &Budgets{session: s, memory: m, now: now, loads: loads, changed: map[api.TaskID]changed{}}
	columns := r.readBudgets()
	m.charge(s, r.now, columns, r.dims)
	r.readUsed()
	r.readNeeded()
	r.taken = make([]float64, len(r.bounds))

	m.had = had{at: r.now, tree: s.Index.Tree, columns: columns, own: make([]float64, s.Index.Len()*len(r.dims))}
	for _, c := range columns {
		m.had.dims = append(m.had.dims, dimOf(s, r.dims, c))
	}

	r.readHeld()
	m.budgets = r
	return r.hooks()
}

// hooks returns the hooks of budgets of card-hours.
func (r *Budgets) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitCards:    r.admitCards, // the budget has room for the minimum, for its length
		Hold:          r.hold,       // what admitted jobs still need
		Withdraw:      r.withdraw,
		FitCard:       r.fitCard, // of a card with a budget that is used up
		FitOwn:        r.fitCard, // no eviction gives time back
		Lacks:         nil,       // for the same reason
		MayTake:       nil,       // for the same reason
		Charge:        nil,       // a simulation takes no time
		Charged:       func(a constraint.Ask) { r.note(a, false) },
		Refunded:      func(a constraint.Ask) { r.note(a, true) },
		CompareQueues: nil, // a budget is no share
		Spent:         r.spentBy,
		Measure:       r.measure,
		Close:         r.close, // notes what queues have until the next session
	}
}

// readBudgets sets the bounds, and returns the columns that they need.
func (r *Budgets) readBudgets() (columns []budget.Column) {
	s := r.session
	for q := range index.Queue(s.Index.Len()) {
		for _, b := range s.Intake.Policies(q).Budgets() {
			d, known := s.Names.LookupCard(b.Card)
			if !known {
				continue // nothing in the session has the card, or can get it
			}

			if !slices.Contains(r.dims, d) {
				r.dims = append(r.dims, d)
			}
			if c := (budget.Column{Card: b.Card, Window: b.Window}); !slices.Contains(columns, c) {
				columns = append(columns, c)
			}

			r.bounds = append(r.bounds, Budget{Queue: q, Dim: d, Window: b.Window, Limit: budget.Limit(b.Hours)})
		}
	}

	r.own = slices.Repeat([]int32{-1}, s.Index.Len()*len(r.dims))
	for i, b := range r.bounds {
		r.own[r.at(b.Queue, slices.Index(r.dims, b.Dim))] = int32(i)
	}
	return columns
}

// at is the position of a queue and a dimension in own and spent.
func (r *Budgets) at(q index.Queue, dim int) int { return int(q)*len(r.dims) + dim }

// readUsed sets the used part of each budget, and which budgets are used up.
func (r *Budgets) readUsed() {
	s := r.session
	ledger := &r.memory.ledger
	sums := map[budget.Column][][]float64{}

	for i := range r.bounds {
		b := &r.bounds[i]
		c := budget.Column{Card: s.Names.Name(b.Dim), Window: b.Window}
		if sums[c] == nil {
			sums[c] = ledger.Sum(s.Index.Tree, ledger.Find(c))
		}

		b.Parts = sums[c][b.Queue]
		b.Used = budget.Total(b.Parts)
	}

	r.spent = slices.Clone(r.own)
	for q := range index.Queue(s.Index.Len()) { // parents come first
		for dim := range r.dims {
			if r.spentBy(q, r.dims[dim]) {
				continue
			}
			at := r.at(q, dim)
			r.spent[at] = -1
			if p := s.Index.Parent(q); p != index.None {
				r.spent[at] = r.spent[r.at(p, dim)]
			}
		}
	}
}

// spentBy reports whether the budget of a queue itself is used up.
func (r *Budgets) spentBy(q index.Queue, d fastres.Dim) bool {
	dim := slices.Index(r.dims, d)
	if dim < 0 {
		return false
	}
	own := r.own[r.at(q, dim)]
	return own >= 0 && r.bounds[own].Used >= r.bounds[own].Limit
}
