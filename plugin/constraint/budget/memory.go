// Package budget bounds how long queues have cards, in card-hours per window (the annotation volcano.sh/card.budget).
// Package quota/budget has the formulas.
package budget

import (
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Memory has the amounts that queues have used, across sessions. The zero Memory is ready.
type Memory struct {
	ledger budget.Ledger
	// shift is added to the clock of sessions: a dump of a cluster was taken some time ago.
	shift   time.Duration
	had     had
	budgets *Budgets // of the session that was opened last; nil where no queue has a budget
}

// had holds the cards of queues since a session. The next session charges them for the time between the two.
type had struct {
	at      time.Time
	tree    *index.Tree
	columns []budget.Column
	dims    []int     // by column: the position of the card among dims of the rule
	own     []float64 // by queue and dimension: without the queues below
}

// Wanted reports whether a queue has a budget.
func Wanted(s *constraint.Session) bool {
	return s.Cards != nil && s.Intake.Budgeted() != nil
}

// Record returns the record to store. It is nil if no budget was used.
func (m *Memory) Record() *budget.Record { return m.ledger.Record() }

// Forget forgets what was used in earlier sessions.
func (m *Memory) Forget() { *m = Memory{} }

// InForce returns the budgets of the session that was opened last, nil where no queue has one.
func (m *Memory) InForce() *Budgets { return m.budgets }

// restore replaces the memory with the stored record.
func (m *Memory) restore(s *constraint.Session, stored *store.State) {
	if stored == nil || stored.Budgets == nil {
		return
	}

	m.ledger = *stored.Budgets
	m.had = had{}
	m.shift = 0
	if !stored.Now.IsZero() {
		m.shift = stored.Now.Sub(s.Now)
	}
}

// charge lets time pass until a session. It charges the cards that queues have held since the last session. Columns
// without a known use until then are charged for the pods that run now.
func (m *Memory) charge(s *constraint.Session, now time.Time, wanted []budget.Column, dims []fastres.Dim) {
	positions := m.ledger.Begin(now, wanted)

	passed := max(0, now.Sub(m.had.at)) // by the monotonic clock
	for k, c := range m.had.columns {
		if at := m.ledger.Find(c); at >= 0 {
			m.chargeHad(k, at, now, passed)
			m.ledger.Known(at, now)
		}
	}

	var late []column
	for k, at := range positions {
		if !m.ledger.Until(at).Equal(now) {
			late = append(late, column{at: at, dim: dims[dimOf(s, dims, wanted[k])]})
		}
	}

	if len(late) > 0 {
		m.chargeRunning(s, now, late)
	}

	for _, at := range positions {
		m.ledger.Known(at, now)
	}
	m.ledger.Bind(s.Index.Tree)
}

// column is a column of the ledger, and the dimension of its card.
type column struct {
	at  int
	dim fastres.Dim
}

// dimOf returns the position of a column's card among dims, -1 for none.
func dimOf(s *constraint.Session, dims []fastres.Dim, c budget.Column) int {
	return slices.IndexFunc(dims, func(d fastres.Dim) bool { return s.Names.Name(d) == c.Card })
}

// chargeHad charges one column for the time since the last session.
func (m *Memory) chargeHad(column, at int, now time.Time, passed time.Duration) {
	n := len(m.had.own) / max(1, m.had.tree.Len())
	for q := range m.had.tree.Len() {
		if milli := m.had.own[q*n+m.had.dims[column]]; milli > 0 {
			m.ledger.Charge(m.had.tree.Name(index.Queue(q)), at, milli, now.Add(-passed), now)
		}
	}
}

// chargeRunning charges columns for the pods that run now: from their start, or from the time until which the use of
// the column is known.
func (m *Memory) chargeRunning(s *constraint.Session, now time.Time, late []column) {
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None {
			continue
		}

		for _, task := range job.Tasks {
			start := task.Pod.Status.StartTime
			if start == nil || !holds(s, task) {
				continue // the kubelet has not started it, or it has nothing
			}
			for _, c := range late {
				from := start.Time
				if until := m.ledger.Until(c.at); until.After(from) {
					from = until
				}
				m.ledger.Charge(s.Index.Name(q), c.at, held(s, q, task, c.dim), from, now)
			}
		}
	}
}
