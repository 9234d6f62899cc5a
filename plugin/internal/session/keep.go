package session

import (
	"reflect"
	"time"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// lasts reports whether there is state to store.
func (s *Session) lasts() bool {
	return s.Settings.FairShare.HalfLife != 0 || budget.Wanted(&s.Session) || evictions.Wanted(&s.Session) ||
		s.Settings.FairShare.Store != arguments.NoStore && s.Memory.knows()
}

// knows reports whether the scheduler has last good values, held cards or earmarks, or has stored some.
func (m *Memory) knows() bool {
	return m.queues.Kept() != nil || m.cards.Holding() || m.Reclaim.Earmarked() || m.remembered != nil
}

// learned reports whether the last good values, the held cards or the earmarks differ from the stored ones.
func (m *Memory) learned() bool {
	return m.knows() && (m.remembered == nil || m.heldChanges != m.cards.HeldChanges() ||
		!reflect.DeepEqual(m.remembered.Queues, m.queues.Kept().Bounded()) ||
		!reflect.DeepEqual(m.remembered.Earmarks, m.Reclaim.Earmarks()))
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

	ledger := s.stored.Evictions
	if !s.stored.Now.IsZero() {
		ledger.Shift(s.Now.Sub(s.stored.Now))
	}
	ledger.Merge(&s.Memory.Evictions.Ledger) // pods were evicted after a first attempt to read it had failed
	s.Memory.Evictions.Ledger = *ledger
}

// saveStore saves the state that lasts over restarts: at the interval of the arguments, after evictions, and when the
// last good values, the held cards or the earmarks have changed.
func (s *Session) saveStore() {
	m := s.Memory
	if !s.lasts() {
		m.Store.Rest()
		m.metrics.ForgetBudgets()
		m.metrics.SetSaved(time.Time{})
		return
	}

	m.Store.Tick(s.Now, s.Settings.FairShare.Save)
	if m.Store.Due() || m.Evictions.Ledger.Changed || m.learned() {
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

	m.remembered = nil
	m.heldChanges = m.cards.HeldChanges()
	if m.knows() {
		m.remembered = &store.Remembered{
			Version:  store.RememberedVersion,
			Queues:   m.queues.Kept().Bounded(),
			Pods:     m.cards.Held(&m.Names),
			Earmarks: m.Reclaim.Earmarks(),
		}
	}
	r.Remembered = m.remembered
	return r
}
