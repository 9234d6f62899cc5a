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
	// Until is the time until which use is known, the zero time for that of the record.
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
		of := ColumnRecord{Card: c.Card, Window: c.Window.String(), From: c.from.UTC()}
		if !c.wanted {
			of.Until = c.until.UTC().Round(0)
		}
		r.Columns = append(r.Columns, of)
	}
	for name, a := range l.queues {
		of := QueueRecord{Above: slices.Clone(a.above)}
		for _, parts := range a.used {
			of.Used = append(of.Used, slices.Clone(parts))
		}
		r.Queues[name] = of
	}
	return r
}

// most is more than any cluster uses. Sums of such numbers stay finite.
const most = 1e24

// New returns the ledger of a record that was saved at a time. It returns an error for a record that no Ledger wrote. A
// column whose window it does not know is left out: a later release wrote it.
func New(r *Record, saved time.Time) (*Ledger, error) {
	l := &Ledger{queues: map[string]*account{}}
	var from []int // the columns that are read
	for i, c := range r.Columns {
		w, err := policy.ParseWindow(c.Window)
		if err != nil {
			continue
		}
		of := column{Column: Column{c.Card, w}, from: c.From.UTC(), until: c.Until.UTC()}
		if of.until.IsZero() {
			of.until = saved
		}
		if !of.isBegin() || slices.ContainsFunc(l.columns, func(has column) bool { return has.Column == of.Column }) {
			return nil, fmt.Errorf("the window %s of %s begins at %s", c.Window, c.Card, c.From.Format(time.RFC3339))
		}
		l.columns, from = append(l.columns, of), append(from, i)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Queues)) {
		of := r.Queues[name]
		if len(of.Used) != len(r.Columns) {
			return nil, fmt.Errorf("queue %s has %d budgets of %d", name, len(of.Used), len(r.Columns))
		}
		a := &account{above: slices.Clone(of.Above)}
		for c, i := range from {
			parts := of.Used[i]
			n, _ := l.columns[c].Window.Buckets()
			wrong := func(x float64) bool { return math.IsNaN(x) || x < 0 || x > most }
			if len(parts) != 0 && len(parts) != n || slices.ContainsFunc(parts, wrong) {
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

// isBegin reports whether a part of the window can begin when the column does.
func (c *column) isBegin() bool {
	if _, each := c.Window.Buckets(); c.Window.Sliding {
		return c.from.Nanosecond() == 0 && c.from.Unix()%int64(each/time.Second) == 0
	}
	return c.Window.Begin(c.from).Equal(c.from)
}
