package plugin

import (
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// memory holds the state that lasts across sessions. A session gives the same answers with
// new memory, except for what package cards documents. Only the goroutine that
// runs the session changes it.
type memory struct {
	now      func() time.Time
	names    index.Names
	maxNames int // with more known names, names start anew

	index        index.Index
	queues       objects.Queues
	intake       intake.State
	cards        *cards.Registry
	reservations reserve.Reservations
	pending      intake.Pending
	guarantees   quota.Guarantees
	books        earmark.Session
	earmarks     *earmark.Registry
	jobs         quota.Jobs
	victims      quota.Victims
	fences       quota.Fences
	gates        gates
	job          reserve.Job
	vectors      vectors
	pods         []*cards.PodRequest // of the tasks of one call of preemptive

	metrics   *report.Metrics
	journal   *report.Journal
	exchanges *report.Exchanges
	recorder  report.Recorder
	warnings  report.Log
	problems  report.Log // of objects
}

// vectors are memory of the hooks, named for what they hold. Hooks that Volcano
// calls concurrently do not use them.
type vectors struct {
	request fastres.Vector // of a task
	claim   fastres.Vector // of a reclaimer
	charge  fastres.Vector // of a reclaimer, to its queue
	refund  fastres.Vector // the part of a request that is refunded

	minimum, allocated, gated, reservation fastres.Vector // of a job
}

func newMemory() *memory {
	return &memory{
		now:       time.Now,
		maxNames:  fewNames,
		cards:     cards.NewRegistry(),
		metrics:   report.NewMetrics(),
		journal:   report.NewJournal(),
		exchanges: report.NewExchanges(),
		earmarks:  earmark.NewRegistry(),
	}
}

// resize gives the vectors a length.
func (v *vectors) resize(length int) {
	if v.request.Len() == length {
		return
	}
	for _, x := range []*fastres.Vector{&v.request, &v.claim, &v.charge, &v.refund, &v.minimum, &v.allocated, &v.gated, &v.reservation} {
		*x = fastres.NewVector(length)
	}
}

// fewNames is a number of names that is never too large.
const fewNames = 256

// knownNames is the number of names of resources and cards that were ever seen.
func (m *memory) knownNames() int { return m.names.Len() + m.cards.Resources() }

// renewNames starts the names anew when far more are known than the session used
// that they started in, and reports whether it did: vectors have a dimension for
// each name, and any user can make up names. What is known by a name stays known.
func (m *memory) renewNames() bool {
	if m.knownNames() <= m.maxNames {
		return false
	}
	old := m.names
	m.names = index.Names{}
	renew := func(d fastres.Dim) fastres.Dim {
		if old.IsCard(d) {
			return m.names.InternCard(old.Name(d))
		}
		if class, ok := old.Class(d); ok {
			count := m.names.InternClass(old.Name(class))
			if d == class {
				return count
			}
			return m.names.InternCapacity(old.Name(d), count)
		}
		return m.names.Intern(old.Name(d))
	}
	m.cards.RenewNames(renew)
	m.journal.RenewNames(renew)
	m.metrics.RenewNames(&old)
	m.intake.ForgetDimensions()
	return true
}
