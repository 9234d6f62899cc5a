package session

import (
	"fmt"
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/admit"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/plugin/status"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota"
)

// Memory holds the state that lasts across sessions. A session gives the same answers with new memory, with the
// exceptions that package cards documents. Only the goroutine that runs the session changes it.
type Memory struct {
	now      func() time.Time
	own      ownHooks
	Names    index.Names
	MaxNames int // with more known names, renewNames drops unused names

	index      index.Index
	queues     objects.Queues
	intake     intake.State
	cards      *cards.Registry
	pending    intake.Pending
	guarantees quota.Guarantees
	books      earmark.Accounts
	frames     constraint.Frames
	Admit      admit.Memory
	rest       reserve.Rest
	Reclaim    *reclaim.Memory
	features
	Store      store.Store
	remembered *store.Remembered // in the last saved record

	heldChanges uint64 // of the cards in the last saved record

	metrics   *report.Metrics
	journal   *report.Journal
	exchanges *report.Exchanges
	recorder  record.Recorder
	status    status.Writer
	warnings  record.Log
	problems  record.Log // of objects
}

func NewMemory() *Memory {
	return &Memory{
		now:       time.Now,
		MaxNames:  fewNames,
		cards:     cards.NewRegistry(),
		Reclaim:   reclaim.NewMemory(),
		metrics:   report.NewMetrics(),
		journal:   report.NewJournal(),
		exchanges: report.NewExchanges(),
	}
}

// parse parses the arguments of a plugin and logs each problem once.
func (m *Memory) parse(v arguments.Variant, given map[string]any) arguments.Settings {
	s, problems := arguments.Parse(v, given)
	if r, _ := arguments.Release(given); r != release.Built() {
		problems = append(problems, fmt.Sprintf("decisions follow the rules of Volcano %s, "+
			"and not the rules of %s that it is built with", r, release.Built()))
	}

	for _, problem := range problems {
		m.warnings.Once(v.Name, problem)
	}

	return s
}

// begin forgets the usage, budgets and evictions of earlier sessions, and begins with stored ones, nil for none.
func (m *Memory) begin(with *store.Stored) {
	m.features.forget()
	m.Reclaim.Forget()
	m.Store.Begin(with)

	var known store.Remembered
	if with != nil && with.Record.Remembered != nil && with.Record.Remembered.Version == store.RememberedVersion {
		known = *with.Record.Remembered
	}
	m.queues.Begin(known.Queues)
	m.cards.Begin(known.Pods)
	m.Reclaim.Begin(known.Earmarks)
}

// fewNames is a number of names that is never too large.
const fewNames = 256

// knownNames returns the number of names of resources and cards that were ever seen.
func (m *Memory) knownNames() int { return m.Names.Len() + m.cards.Resources() }

// mostKnown returns how many names may be known where a session uses some of them. Names that are gone must not take
// the dimensions that jobs may add (intake.MostNames), so names are renewed before three quarters of these are used.
func mostKnown(used int) int {
	const many = intake.MostNames * 3 / 4
	most := 2*used + fewNames
	if used < many {
		return min(most, many)
	}
	return most
}

// renewNames replaces the names by empty ones, and reports whether it did. It does so if there are far more names than
// the first session with them used: vectors have a dimension for each name, and any user can make up names. State that
// is kept by name stays.
func (m *Memory) renewNames() bool {
	if m.knownNames() <= m.MaxNames {
		return false
	}

	old := m.Names
	m.Names = index.Names{}

	renew := func(d fastres.Dim) fastres.Dim {
		if old.IsCard(d) {
			return m.Names.InternCard(old.Name(d))
		}
		if class, ok := old.Class(d); ok {
			count := m.Names.InternClass(old.Name(class))
			if d == class {
				return count
			}
			return m.Names.InternCapacity(old.Name(d), count)
		}
		return m.Names.Intern(old.Name(d))
	}

	m.cards.RenewNames(renew)
	m.journal.RenewNames(renew)
	m.metrics.RenewNames()
	m.intake.ForgetDimensions()
	return true
}
