package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// LeastPending is, for each queue, the smallest quantity that any pending task in
// the queue or below requests in each dimension. Queue order uses it where reclaim
// is damped (quota.OrderDamped). The zero LeastPending is ready for Find.
type LeastPending struct {
	Rows    index.Rows // an empty row for a queue without pending tasks
	pending []bool     // by queue: the queue has pending tasks
	request fastres.Vector
}

// Find reads the pending tasks of the jobs that allocate considers, with the cards
// that they prefer. The result stays as it is during the session: a queue whose
// smallest task is allocated counts as if that task were pending until the next.
func (l *LeastPending) Find(ssn *framework.Session, ix *index.Index, session *Session) {
	l.Rows.Reset(ix.Len(), session.Dims.length)
	l.pending = append(l.pending[:0], make([]bool, ix.Len())...)
	if l.request.Len() != session.Dims.length {
		l.request = fastres.NewVector(session.Dims.length)
	}
	for _, job := range ssn.Jobs {
		q := ix.Lookup(string(job.Queue))
		if q == index.None || job.PodGroup == nil || job.IsPending() {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if session.settings.Gates.Gated(task) || task.BestEffort {
				continue
			}
			pod, _ := session.SetTask(l.request, q, task)
			for r := range session.cards.Requests(pod) {
				if len(r.Selector.Dims) > 0 {
					l.request.Increase(r.Selector.Dims[0], float64(r.Amount))
				}
			}
			l.lower(q)
		}
	}
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		if p := ix.Parent(q); p != index.None && l.pending[q] {
			l.request.CopyFrom(l.Rows.Row(q))
			l.lower(p)
		}
	}
}

// lower lowers the row of q to request.
func (l *LeastPending) lower(q index.Queue) {
	row := l.Rows.Row(q)
	if !l.pending[q] {
		row.CopyFrom(l.request)
		l.pending[q] = true
	}
	row.SetLesser(row, l.request)
}
