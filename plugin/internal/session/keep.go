package session

import (
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// lasts reports whether a feature needs what lasts over restarts.
func (s *session) lasts() bool {
	return s.settings.FairShare.HalfLife != 0 || budget.Wanted(&s.Session) || evictions.Wanted(&s.Session)
}

// openStore begins to load what lasts over restarts, where a feature needs it, and takes what was loaded.
func (s *session) openStore() {
	if !s.lasts() {
		return
	}
	s.memory.store.Open(s.Volcano.KubeClient(), &s.settings.FairShare)
	if s.stored, s.loads = s.memory.store.Loaded(); s.stored == nil || s.stored.Evictions == nil {
		return
	}
	s.memory.evictions.Ledger = *s.stored.Evictions
	if !s.stored.Now.IsZero() {
		s.memory.evictions.Ledger.Shift(s.Now.Sub(s.stored.Now))
	}
}

// saveStore saves what lasts over restarts, as often as the arguments say, and after evictions.
func (s *session) saveStore() {
	m := s.memory
	if !s.lasts() {
		m.store.Rest()
		m.metrics.ForgetBudgets()
		return
	}
	if m.store.Tick(s.Now, s.settings.FairShare.Save); m.store.Due() || m.evictions.Ledger.Changed {
		m.store.Offer(s.Now, m.record)
	}
}

// record returns the state that the store saves.
func (m *memory) record() (r store.Record) {
	if h := m.fairness.History(); h != nil {
		r.Record = h.Record()
	}
	r.Budgets, r.Evictions = m.budgets.Record(), m.evictions.Ledger.Record()
	m.evictions.Ledger.Changed = false
	return r
}
