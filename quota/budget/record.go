package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index/policy"
)

// Record is a Ledger as it is stored.
type Record struct {
	Columns []ColumnRecord         `json:"columns"`
	Queues  map[string]QueueRecord `json:"queues"`
}

// ColumnRecord is a column.
type ColumnRecord struct {
	Card   string    `json:"card"`
	Window string    `json:"window"` // as the annotation has it, such as 30d
	From   time.Time `json:"from"`   // when the oldest part begins

	// Until is the time until which use is known. The zero time stands for the time of the record.
	Until time.Time `json:"until,omitzero"`
}

// QueueRecord has the amounts that a queue has used itself.
type QueueRecord struct {
	Above []string    `json:"above,omitempty"` // the queues above it, the nearest one first
	Used  [][]float64 `json:"used"`            // by column, of each part of the window; empty for nothing
}

// Record returns a copy of the ledger.
func (l *Ledger) Record() *Record {
	r := &Record{Queues: make(map[string]QueueRecord, len(l.queues))}
	for _, c := range l.columns {
		stored := ColumnRecord{Card: c.Card, Window: c.Window.String(), From: c.from.UTC()}
		if !c.wanted {
			stored.Until = c.until.UTC().Round(0)
		}
		r.Columns = append(r.Columns, stored)
	}

	for name, a := range l.queues {
		stored := QueueRecord{Above: slices.Clone(a.above)}
		for _, parts := range a.used {
			stored.Used = append(stored.Used, slices.Clone(parts))
		}
		r.Queues[name] = stored
	}

	return r
}

// most is more than any cluster uses. Sums of such numbers stay finite.
const most = 1e24

// New returns the ledger of a record that was saved at a time. It returns an error for a record that no Ledger wrote. A
// column with an unknown kind of window is left out: a later release wrote it.
func New(r *Record, saved time.Time) (*Ledger, error) {
	l := &Ledger{queues: map[string]*account{}}
	known, err := l.readColumns(r.Columns, saved)
	if err != nil {
		return nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(r.Queues)) {
		stored := r.Queues[name]
		if len(stored.Used) != len(r.Columns) {
			return nil, fmt.Errorf("queue %s has %d budgets of %d", name, len(stored.Used), len(r.Columns))
		}

		a := &account{above: slices.Clone(stored.Above)}
		for c, i := range known {
			parts := stored.Used[i]
			if !l.columns[c].isUse(parts) {
				return nil, fmt.Errorf("queue %s has used %v of %s", name, parts, l.columns[c].Card)
			}
			if len(parts) == 0 {
				parts = nil
			}
			a.used = append(a.used, slices.Clone(parts))
		}
		l.queues[name] = a
	}

	return l, nil
}

// readColumns sets the columns of a ledger, and returns their positions in the record.
func (l *Ledger) readColumns(columns []ColumnRecord, saved time.Time) (known []int, err error) {
	for i, stored := range columns {
		w, err := policy.ParseWindow(stored.Window)
		if err != nil {
			continue
		}

		c := column{Column: Column{stored.Card, w}, from: stored.From.UTC(), until: stored.Until.UTC()}
		if c.until.IsZero() {
			c.until = saved
		}
		if !c.isBegin() || l.Find(c.Column) >= 0 {
			return nil, fmt.Errorf("the window %s of %s begins at %s", stored.Window, stored.Card,
				stored.From.Format(time.RFC3339))
		}

		l.columns = append(l.columns, c)
		known = append(known, i)
	}

	return known, nil
}

// isBegin reports whether a part of the window can begin when the column does.
func (c *column) isBegin() bool {
	if _, each := c.Window.Buckets(); c.Window.Sliding {
		return c.from.Nanosecond() == 0 && c.from.Unix()%int64(each/time.Second) == 0
	}
	return c.Window.Begin(c.from).Equal(c.from)
}

// isUse reports whether parts can be the use of the column. No parts are no use.
func (c *column) isUse(parts []float64) bool {
	n, _ := c.Window.Buckets()
	if len(parts) != 0 && len(parts) != n {
		return false
	}

	return !slices.ContainsFunc(parts, func(x float64) bool { return math.IsNaN(x) || x < 0 || x > most })
}
