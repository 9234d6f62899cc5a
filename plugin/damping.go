package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// findLeast finds the least that the tasks which wait in a queue request, in each
// dimension, for the order of queues where reclaim is damped: of the jobs that
// allocate looks at, and at the cards that they prefer. It stays as it is during
// the session; a queue whose last small task was placed is taken for one that
// waits until the next.
func (o *session) findLeast() {
	o.least.Reset(o.ix.Len(), o.length)
	o.waits = append(o.waits[:0], make([]bool, o.ix.Len())...)
	request := o.scratch[0]
	lower := func(q index.Queue) {
		row := o.least.Row(q)
		if !o.waits[q] {
			row.CopyFrom(request)
			o.waits[q] = true
		}
		row.SetLesser(row, request)
	}
	for _, job := range o.ssn.Jobs {
		q := o.ix.Lookup(string(job.Queue))
		if q == index.None || job.PodGroup == nil || job.IsPending() {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if task.SchGated || task.BestEffort {
				continue
			}
			d, _ := o.setTask(request, q, task)
			for p := range o.cards.parts(d) {
				if len(p.dims) > 0 {
					request.Increase(p.dims[0], p.milli)
				}
			}
			lower(q)
		}
	}
	for q := index.Queue(o.ix.Len()) - 1; q >= 0; q-- {
		if p := o.ix.Parent(q); p != index.None && o.waits[q] {
			request.CopyFrom(o.least.Row(q))
			lower(p)
		}
	}
}
