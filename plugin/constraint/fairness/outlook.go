package fairness

import (
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// Outlook states the usage of one column by a queue, in the units of accounts, and when it is even. Norm is without
// the weight of the column.
type Outlook struct {
	Used, Held, Norm float64
	Counted          float64 // the mean of Used and Held that decides
	Total            float64 // Used, times hours
	// EvenIdle is the time until Counted is no more than Norm if the queue holds nothing from now on. EvenKept is the
	// same if it keeps its cards.
	EvenIdle, EvenKept time.Duration
}

// Never is the time until something that does not happen.
const Never = usage.Never

// Outlook returns the outlook of a queue and a column in the session.
func (m *Memory) Outlook(q index.Queue, column int, with *arguments.FairShare) Outlook {
	used := m.history.Row(q)[column]
	held := m.history.Held(q)[column]
	norm := m.history.Norms(q)[column]
	gamma := m.ranks[q].gamma

	return Outlook{
		Used:     used,
		Held:     held,
		Norm:     norm * m.weights[column],
		Counted:  usage.Mean(used, held, gamma),
		Total:    usage.Total(used, with.HalfLife) / time.Hour.Seconds(),
		EvenIdle: usage.UntilEven(used, 0, norm, gamma, with.HalfLife),
		EvenKept: usage.UntilEven(used, held, norm, gamma, with.HalfLife),
	}
}

// Owed reports whether a queue has less than it deserves of each column that it waits for.
func (m *Memory) Owed(q index.Queue) bool { return m.ranks[q].within }

// Dim returns the dimension of a column in the session.
func (m *Memory) Dim(column int) fastres.Dim { return m.dims[column] }

// Reset sets the usage of a queue, and of the queues below it, to the present. It returns the usage of all queues.
func (m *Memory) Reset(q index.Queue) usage.Record {
	m.history.Reset(q)
	return m.history.Record()
}
