package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// cause has the labels of volcano_queue_waiting_jobs for a job that waits.
type cause struct {
	queue    string // of the job
	rule     Rule
	level    string // the queue that refuses: the job's queue or an ancestor
	resource string // "" for a rule without a bound
}

func (c cause) labels() []string { return []string{c.queue, string(c.rule), c.level, c.resource} }

// other stands for a queue that does not exist, and for a resource that no node and no quota names. Users choose such
// names, and each would become a series.
const other = "other"

// cause returns the labels for a refused job. A job counts once, so it has one resource: the first shortage, the
// preferred card of a list, or the resource of an untyped pod.
func (e *Explainer) cause(queue string, r *constraint.Refusal, reason *Reason) cause {
	c := cause{queue: queue, rule: reason.Rule, level: reason.Queue}
	if reason.Rule == UnknownQueue {
		c.queue = other
	}

	switch {
	case reason.Rule != OverQuota && reason.Rule != OverDeserved:
		return c
	case r.OfCards() && !r.Cards.Selector.Typed:
		c.resource = e.Cards.ResourceName(r.Cards.Resource)
		return c
	case r.OfCards():
		return e.cardCause(c, r, reason)
	}

	c.resource = other
	capability := e.Index.Capability.Row(r.Verdict.Queue)
	for _, d := range appendDims(nil, r) {
		// Users choose the names of resources: only a name of a node or a quota becomes a series.
		if int(d) < e.Total.Len() && e.Total.Has(d) || capability.Has(d) {
			c.resource = e.Names.Name(d)
			break
		}
	}
	return c
}

// cardCause sets the resource to the first card of a list that a node or a quota names, and the level to the queue that
// lacks it.
func (e *Explainer) cardCause(c cause, r *constraint.Refusal, reason *Reason) cause {
	c.resource = other
	for _, name := range r.Cards.Selector.Names {
		if _, known := e.Names.LookupCard(name); !known {
			continue
		}

		c.resource = name
		for _, s := range reason.Shortages {
			if s.Resource == cards.Shown(name) {
				c.level = s.Queue
			}
		}

		break
	}
	return c
}

// waitingJobs counts in each session the jobs that wait, by cause. A series exists while any job waits for its cause.
type waitingJobs struct {
	session uint64
	by      map[cause]*waitingCount
}

// waitingCount is a series of volcano_queue_waiting_jobs.
type waitingCount struct {
	session uint64 // in which jobs was counted
	jobs    int
	series  prometheus.Gauge // nil until it is published
	deleted bool             // no longer in waitingJobs
}

// count adds a job that waits for the reason of an entry, once in a session.
func (w *waitingJobs) count(last *entry) {
	if last.counted == w.session {
		return
	}

	last.counted = w.session

	c := last.waiting
	if c == nil || c.deleted {
		c = w.by[last.cause]
		if c == nil {
			c = &waitingCount{}
			w.by[last.cause] = c
		}
		last.waiting = c
	}

	if c.session != w.session {
		c.session = w.session
		c.jobs = 0
	}
	c.jobs++
}

// publish sets the series of causes with jobs in this session, and deletes the others.
func (w *waitingJobs) publish() {
	for cause, c := range w.by {
		if c.session == w.session {
			if c.series == nil {
				c.series = waitingVec.WithLabelValues(cause.labels()...)
			}
			c.series.Set(float64(c.jobs))
			continue
		}

		waitingVec.DeleteLabelValues(cause.labels()...)
		delete(w.by, cause)
		c.deleted = true
	}
}
