package fairness

import (
	"math"
	"time"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// leastRuntime is the shortest min-runtime of a queue that can lose borrowed cards by level. Without a minimum, queues
// could take cards from one another in each session.
const leastRuntime = time.Minute

// loans let queues take cards that others borrow, though they deserve no more (the argument fairShareReclaim).
//
// The level of the taker afterwards, times a factor above 1, must be at most the level of the loser afterwards. So the
// loser cannot take the card back before levels change.
type loans struct{ order *order }

// OpenLoans returns the hooks, nil where the argument is off.
func OpenLoans(m *Memory, with *arguments.FairShare) *constraint.Hooks {
	if with.Reclaim == 0 {
		return nil
	}

	if m.loanHooks == nil {
		m.loanHooks = loans{&m.order}.hooks()
	}
	return m.loanHooks
}

// hooks returns the hooks of borrowed cards that are taken.
func (l loans) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // it is about running pods
		Hold:          nil, // for the same reason
		Fit:           nil, // quotas alone bound what queues borrow
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		AllowLoan:     l.allow,
		Charge:        nil, // no pod is evicted in a simulation
		Charged:       nil, // levels are compared when they are asked for
		CompareQueues: nil, // the order does not change
	}
}

// allow compares the levels of one card. Nobody has a level of a card that does not count, so nothing would bound
// exchanges of it.
func (l loans) allow(b quota.View, t constraint.Loan) bool {
	column, counts := l.order.memory.columnOf(t.Card)
	if !counts {
		return false
	}

	s := l.order.session
	to, from, ok := quota.Rivals(s.Index, t.To, t.From)
	if !ok || !l.settles(s.Intake.Policies(t.From).MinRuntime()) {
		return false
	}

	// The loser, and each queue above it up to the rival, borrows the card.
	for _, p := range s.Index.Path(t.From) {
		if b.AllocatedAt(p, t.Card) <= s.Index.Deserved.At(p, t.Card) {
			return false
		}
		if p == from {
			break
		}
	}

	taker := l.order.levelWith(to, column, b.AllocatedAt(to, t.Card)+t.Gained)
	loser := l.order.levelWith(from, column, b.AllocatedAt(from, t.Card)-t.Lost)
	return taker*l.order.with.Reclaim <= loser && !math.IsInf(taker, 1)
}

// settles reports whether exchanges with a queue of some min-runtime come to rest. Levels must follow what queues have
// now before a pod may be taken back. Otherwise all that is borrowed changes hands again and again.
func (l loans) settles(minRuntime time.Duration) bool {
	with := l.order.with
	return minRuntime >= leastRuntime && with.Horizon >= min(minRuntime, with.HalfLife)
}

// levelWith returns the level of a queue in one column, as if the queue had an amount of its card. It is infinite for a
// queue without a norm.
func (o *order) levelWith(q index.Queue, column int, allocated float64) float64 {
	m := o.memory
	return m.history.LevelWith(q, o.gammaOf(q), column, o.heldOf(q, m.dims[column], allocated))
}
