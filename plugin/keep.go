package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// openStore begins to load what lasts over restarts, where a feature needs it, and takes what was loaded.
func (s *session) openStore() {
	if s.settings.FairShare.HalfLife == 0 && !budget.Wanted(&s.Session) {
		return
	}
	s.memory.store.Open(s.Volcano.KubeClient(), &s.settings.FairShare)
	s.stored = s.memory.store.Loaded()
}

// saveStore saves what lasts over restarts, as often as the arguments say.
func (s *session) saveStore() {
	m, with := s.memory, &s.settings.FairShare
	if with.HalfLife == 0 && m.budgets.InForce() == nil {
		m.store.Rest()
		m.metrics.ForgetBudgets()
		return
	}
	if m.store.Tick(s.Now, with.Save); m.store.Due() {
		m.store.Offer(s.Now, m.record)
	}
}

// record is what is saved.
func (m *memory) record() (r store.Record) {
	if h := m.fairness.History(); h != nil {
		r.Record = h.Record()
	}
	r.Budgets = m.budgets.Record()
	return r
}
