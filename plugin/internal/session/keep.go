package session

import (
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// lasts reports whether a feature needs state that lasts over restarts.
func (s *Session) lasts() bool {
	return s.Settings.FairShare.HalfLife != 0 || budget.Wanted(&s.Session) || evictions.Wanted(&s.Session)
}

// openStore begins to load the state that lasts over restarts, if a feature needs it, and takes the loaded state.
func (s *Session) openStore() {
	if !s.lasts() {
		return
	}

	s.Memory.Store.Open(s.Volcano.KubeClient(), &s.Settings.FairShare)
	s.stored, s.loads = s.Memory.Store.Loaded()

	if s.stored == nil || s.stored.Evictions == nil {
		return
	}

	s.Memory.Evictions.Ledger = *s.stored.Evictions
	if !s.stored.Now.IsZero() {
		s.Memory.Evictions.Ledger.Shift(s.Now.Sub(s.stored.Now))
	}
}

// saveStore saves the state that lasts over restarts, at the interval of the arguments and after evictions.
func (s *Session) saveStore() {
	m := s.Memory
	if !s.lasts() {
		m.Store.Rest()
		m.metrics.ForgetBudgets()
		return
	}

	m.Store.Tick(s.Now, s.Settings.FairShare.Save)
	if m.Store.Due() || m.Evictions.Ledger.Changed {
		m.Store.Offer(s.Now, m.record)
	}
}

// record returns the state that the store saves.
func (m *Memory) record() (r store.Record) {
	if h := m.Fairness.History(); h != nil {
		r.Record = h.Record()
	}
	r.Budgets = m.Budgets.Record()
	r.Evictions = m.Evictions.Ledger.Record()
	m.Evictions.Ledger.Changed = false
	return r
}
