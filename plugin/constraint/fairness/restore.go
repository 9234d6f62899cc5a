package fairness

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// restore replaces the history by a stored one. The time since it was stored passes for the pods
// that run now, from their starts; what has ended in between is lost.
func (o *order) restore(stored *store.State) {
	s := o.session
	m := o.memory
	now := stored.Now
	if now.IsZero() {
		now = s.Now
	}

	gap := max(0, now.Sub(stored.Saved))
	m.history = stored.History
	m.history.Advance(usage.Decay(gap, o.with.HalfLife))
	m.history.Bind(s.Index.Tree, m.columns)
	m.history.Namespaces().Bind(m.columns)

	frame := s.Frames.Open()
	defer frame.Close()
	charge := frame.Vector()
	more := make([]float64, len(m.dims))

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None {
			continue
		}
		for _, task := range job.Tasks {
			if !s.Intake.SetHeld(charge, q, task) {
				continue
			}

			part := 1 - usage.Decay(min(gap, constraint.Ran(task.Pod, now)), o.with.HalfLife)
			for c, d := range m.dims {
				more[c] = part * charge.Get(d) * o.counted(q, d)
			}
			m.history.Add(q, more)
			if o.ordersNamespaces(q) {
				m.history.Namespaces().Add(usage.Member{Queue: s.Index.Name(q), Namespace: job.Namespace}, more)
			}
		}
	}
}

// counted returns the fraction of allocated that counts as usage.
func (o *order) counted(q index.Queue, d fastres.Dim) float64 {
	if allocated := o.session.Index.AllocatedAt(q, d); allocated > 0 {
		return o.held(q, d) / allocated
	}
	return 1
}
