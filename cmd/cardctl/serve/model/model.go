// Package model holds the content of the pages: the results of the engine for one state of a
// cluster. It reuses the types that the commands of cardctl print, so that pages, JSON and
// commands say the same.
package model

import (
	"context"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// Source gives the states of a cluster.
type Source interface {
	// Read returns the state of the cluster now. With an error it may return the state
	// that was read before.
	Read(ctx context.Context) (*Reading, error)
	// Changed receives after a change. It is nil for files, which do not change.
	Changed() <-chan struct{}
}

// Reading is a state of a cluster. Nobody changes it.
type Reading struct {
	Objects       *input.Objects
	Configuration *engine.Configuration
	Notes         []Note
	Evicted       []input.Evicted // the last ones first
	EvictedLacks  string          // why evictions from before the start are missing, "" if they are not
	Scheduler     *Scheduler      // nil for files
	Time          time.Time
}

// Note is a line about the input, as the commands write it to stderr.
type Note struct {
	Severity string `json:"severity"` // error, warning or note
	Text     string `json:"text"`
}

// Scheduler holds the reports of the lease and the endpoints of the scheduler.
type Scheduler struct {
	Leader  string    `json:"leader,omitempty"` // "" if it is not known
	Seen    time.Time `json:"seen,omitzero"`    // when the leader renewed its lease
	Timings []Timing  `json:"timings,omitempty"`
	Lacks   []string  `json:"lacks,omitempty"` // the sources that could not be read, and why
}

// Timing is a duration of the scheduler's cycles.
type Timing struct {
	Name string  `json:"name"`
	P50  float64 `json:"p50Milliseconds"`
	P99  float64 `json:"p99Milliseconds"`
	N    uint64  `json:"count"`
}

// Model holds the results of the engine for a reading. Nobody changes it once it is made.
type Model struct {
	*Reading
	Took       time.Duration // to make it
	Queues     []queues.Queue
	Policies   map[string]string // that hold in all queues because of arguments of the plugin
	Stock      *stock.Stock
	Held       []stock.Held      // the jobs with cards, and those that wait for any
	HolderKeys []string          // by which Held can be added up
	Jobs       []explain.Finding // all jobs, in the order of their names
	Waiting    []explain.Finding // the jobs that wait
	Details    map[string]*Detail
	Loans      []Loan
	Evictions  []engine.Eviction // by the next cycle; nil if the cluster is too large to find them
	Pending    int               // pods that wait
	Past       []Evicted         // the last ones first
	Checks     *Checks
	Ahead      bool // the next cycles were run: Jobs have verdicts and evictions
	known      *known
}

// Checks holds the findings of validate.
type Checks struct {
	validate.Result
	Time  time.Time
	Took  time.Duration
	alike map[string]string // texts of the issues, see Alike
}

// Make runs the engine on a reading, or returns the error of ctx. before is the model of the
// reading before, nil for none.
func Make(ctx context.Context, r *Reading, before *Model) (*Model, error) {
	begun := time.Now()
	world, err := engine.Build(r.Objects.Clone())
	if err != nil {
		return nil, err
	}

	m := &Model{Reading: r, Ahead: explain.Small(world)}
	if err := m.count(ctx, world); err != nil {
		return nil, err
	}

	m.Pending = explain.Pending(world)
	// It changes the world, so it is the last use of it.
	if err := m.explain(ctx, world); err != nil {
		return nil, err
	}

	m.indexNames()
	m.Loans = Loans(m.Queues, m.lendsCardsOnly())
	m.past()
	m.Checks, err = check(ctx, r, before)
	if err != nil {
		return nil, err
	}
	m.Took = time.Since(begun)
	return m, nil
}

// explain finds the jobs and the next evictions, and counts the jobs that wait in each queue.
func (m *Model) explain(ctx context.Context, world *engine.World) error {
	jobs, err := explain.Jobs(ctx, world, m.Configuration, explain.Options{
		Ahead:  m.Ahead,
		Events: func(events []engine.Event) { m.Evictions = engine.Evictions(events) },
	})
	if err != nil {
		return err
	}

	// JSON has a list, also an empty one.
	m.Jobs = append([]explain.Finding{}, jobs...)
	for i := range m.Jobs {
		if m.Jobs[i].Waits() {
			m.Waiting = append(m.Waiting, m.Jobs[i])
		}
	}
	queues.CountWaiting(m.Queues, m.Waiting)
	return nil
}

// count counts the cards of queues, nodes and jobs.
func (m *Model) count(ctx context.Context, world *engine.World) error {
	session, err := engine.Open(ctx, world, m.Configuration)
	if err != nil {
		return err
	}
	defer session.Close()

	m.Queues = queues.List(world, session)
	m.Stock = stock.Count(world, session)
	m.HolderKeys = stock.HolderKeys(session)
	m.Held = stock.HeldCards(session, m.HolderKeys...)
	m.Policies = session.Quota.Policies()
	m.Details = details(world, session)
	return nil
}

// Timed reports whether the results can differ later although no object changes.
func (m *Model) Timed() bool { return m.Configuration.DependsOnTime(m.Objects.Queues) }

// checkShare bounds the part of the time that checks take.
const checkShare = 20

// check validates a reading. It returns the checks of the previous model if they are recent compared with the time
// that they take.
func check(ctx context.Context, r *Reading, before *Model) (*Checks, error) {
	if before != nil && r.Time.Sub(before.Checks.Time) < checkShare*before.Checks.Took {
		return before.Checks, nil
	}

	begun := time.Now()
	found, err := validate.Check(ctx, r.Objects.Clone(), r.Configuration)
	if err != nil {
		return nil, err
	}

	c := &Checks{Result: *found, Time: r.Time}
	// JSON has a list, also an empty one.
	c.Issues = append([]validate.Issue{}, c.Issues...)
	c.findAlike()
	c.Took = time.Since(begun)
	return c, nil
}

// Job returns the job of a PodGroup, nil for none.
func (m *Model) Job(namespace, podGroup string) *explain.Finding {
	return m.known.jobs[jobKey(namespace, podGroup)]
}

// Queue returns a queue, nil for none.
func (m *Model) Queue(name string) *queues.Queue {
	return m.known.queues.byName[name]
}
