package budget

import (
	"slices"
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
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
	// length and taken are those of the job that was asked about last: taken is by bound what its requests need
	// that fit.
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
	Parts  []float64 // used by the queue and those below it, of each part of the window
	Used   float64
	Needed float64 // by pods with an announced length
}

// All returns the budgets of all queues. They are for reading.
func (r *Budgets) All() []Budget { return r.bounds }

// Now returns the time of the windows.
func (r *Budgets) Now() time.Time { return r.now }

// left returns the part of the limit that is neither used nor what pods with an announced length still need.
func (b *Budget) left() float64 { return b.Limit - b.Used - b.Needed }

// Open charges what queues have had, and returns the rule, nil where no queue has a budget. stored is what was loaded,
// nil for nothing, and loads says that it is still being read.
func Open(s *constraint.Session, m *Memory, stored *store.State, loads bool) *constraint.Hooks {
	if !Wanted(s) {
		m.budgets, m.had = nil, had{}
		return nil
	}
	m.restore(s, stored)
	r := &Budgets{session: s, memory: m, now: s.Now.Add(m.shift), loads: loads, changed: map[api.TaskID]changed{}}
	columns := r.readBudgets()
	m.charge(s, r.now, columns, r.dims)
	r.readUsed()
	r.readNeeded()
	r.taken = make([]float64, len(r.bounds))
	m.had = had{at: r.now, tree: s.Index.Tree, columns: columns, own: make([]float64, s.Index.Len()*len(r.dims))}
	for _, c := range columns {
		m.had.dims = append(m.had.dims, slices.IndexFunc(r.dims, func(d fastres.Dim) bool { return s.Names.Name(d) == c.Card }))
	}
	r.readHeld()
	m.budgets = r
	return r.hooks()
}

// hooks returns the hooks of budgets of card-hours.
func (r *Budgets) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitCards:    r.admitCards,
		Hold:          r.hold,
		Withdraw:      r.withdraw,
		Fit:           r.fit,
		FitCard:       r.fitCard,
		FitOwn:        r.fitCard, // no eviction gives time back
		Lacks:         nil,       // for the same reason
		MayTake:       nil,       // for the same reason
		Charge:        nil,       // a simulation takes no time
		Charged:       func(a constraint.Ask) { r.note(a, false) },
		Refunded:      func(a constraint.Ask) { r.note(a, true) },
		CompareQueues: nil, // a budget is no share
		Spent:         r.spentBy,
		Measure:       r.measure,
		Close:         r.close,
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

// readUsed sets what the queues have used of their budgets, and which are used up.
func (r *Budgets) readUsed() {
	s, l := r.session, &r.memory.ledger
	sums := map[budget.Column][][]float64{}
	for i := range r.bounds {
		b := &r.bounds[i]
		c := budget.Column{Card: s.Names.Name(b.Dim), Window: b.Window}
		if sums[c] == nil {
			sums[c] = l.Sum(s.Index.Tree, l.Find(c))
		}
		b.Parts = sums[c][b.Queue]
		b.Used = budget.Total(b.Parts)
	}
	r.spent = slices.Clone(r.own)
	for q := range index.Queue(s.Index.Len()) { // parents come first
		for dim := range r.dims {
			at := r.at(q, dim)
			if r.spentBy(q, r.dims[dim]) {
				continue
			}
			r.spent[at] = -1
			if p := s.Index.Parent(q); p != index.None {
				r.spent[at] = r.spent[r.at(p, dim)]
			}
		}
	}
}

// readNeeded adds what jobs with an announced length still need.
func (r *Budgets) readNeeded() {
	s := r.session
	for _, job := range s.Intake.Announced {
		q, group := s.Index.Lookup(string(job.Queue)), ofGroup(job)
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) {
				continue
			}
			if length := lengthOf(task.Pod, group); length > 0 {
				for dim, d := range r.dims {
					r.need(q, dim, held(s, q, task, d), rest(length, task.Pod, r.now), 1)
				}
			}
		}
		if allocated, _ := intake.CountTasks(job); !isAdmitted(job) || allocated > 0 && allocated == len(job.Tasks) {
			continue
		}
		if length := jobLength(job); length > 0 {
			r.job.Read(s.Cards, job, s.Cards.Read)
			r.needMinimum(q, &r.job, length, 1)
		}
	}
}

// isAdmitted reports whether the minimum of a job is reserved, as far as it has no node yet.
func isAdmitted(job *api.JobInfo) bool {
	if job.PodGroup == nil {
		return false
	}
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue, scheduling.PodGroupRunning, scheduling.PodGroupUnknown:
		return true
	}
	return false
}

// need adds what a quantity needs for some time, with a sign, to the budgets of a queue and those above it.
func (r *Budgets) need(q index.Queue, dim int, milli float64, length time.Duration, sign float64) {
	if milli <= 0 {
		return
	}
	for _, p := range r.session.Index.Path(q) {
		if i := r.own[r.at(p, dim)]; i >= 0 {
			b := &r.bounds[i]
			b.Needed += sign * budget.Need(b.Window, r.now, milli, length)
		}
	}
}

// needMinimum does the same for the minimum that a job does not have yet. Of a list, each card counts.
func (r *Budgets) needMinimum(q index.Queue, job *reserve.Job, length time.Duration, sign float64) {
	for part := range job.Selectors() {
		request := job.Missing(part)
		for dim, d := range r.dims {
			most := 0.0
			for _, listed := range request.Selector.Dims {
				most = max(most, r.takenOf(request, listed, d))
			}
			r.need(q, dim, most, length, sign)
		}
	}
}

// takenOf returns what a request for a card takes of a card or a group: 0 for another card.
func (r *Budgets) takenOf(request cards.Request, listed, d fastres.Dim) float64 {
	return partOf(r.session, listed, d, float64(request.Of(listed)))
}

// hold adds what a job needs that is admitted.
func (r *Budgets) hold(a constraint.JobAsk) { r.holdNeed(a, 1) }

// withdraw takes it back.
func (r *Budgets) withdraw(a constraint.JobAsk) (restore func()) {
	r.holdNeed(a, -1)
	return func() { r.holdNeed(a, 1) }
}

func (r *Budgets) holdNeed(a constraint.JobAsk, sign float64) {
	if length := jobLength(a.Job); a.Cards != nil && length > 0 {
		r.needMinimum(a.Queue, a.Cards, length, sign)
	}
}
