package fairness

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint/runtimes"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// restore replaces the history by a stored one. The time since it was stored passes for the pods
// that run now, from their starts; what has ended in between is lost.
func (o *Order) restore(stored *stored) {
	s, m, now := o.session, o.memory, stored.now
	if now.IsZero() {
		now = s.Now
	}
	gap := max(0, now.Sub(stored.saved))
	m.history = stored.history
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
			if !api.AllocatedStatus(task.Status) {
				continue
			}
			s.Intake.SetCharge(charge, q, task, task.NodeName)
			part := 1 - usage.Decay(min(gap, runtimes.Of(task.Pod, now)), o.with.HalfLife)
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

// counted returns the fraction of what a queue has that counts as usage.
func (o *Order) counted(q index.Queue, d fastres.Dim) float64 {
	if allocated := o.session.Index.Allocated(q).Get(d); allocated > 0 {
		return o.held(q, d) / allocated
	}
	return 1
}
