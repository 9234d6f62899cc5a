package budget

import (
	"maps"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
)

// Column is a card, or a group of cards, and the kind of its windows.
type Column struct {
	Card   string
	Window policy.Window
}

// column is a Column with its time.
type column struct {
	Column
	from  time.Time // when the oldest part begins
	until time.Time // use is known until then; the zero time for a new column

	wanted bool // some queue has a budget of the column
}

// account holds the usage of a queue itself, without the queues below it.
type account struct {
	above []string    // the names of its ancestors when it existed last, the nearest one first
	used  [][]float64 // by column, of each part, the oldest first; nil for nothing
}

// Ledger has the use of queues, in card-milli × seconds. The zero Ledger has no columns.
type Ledger struct {
	columns []column
	queues  map[string]*account
}

// Begin moves the windows to a time, and sets the wanted columns. Other columns stay until their use is out of the
// window. Begin returns the position of each wanted column.
func (l *Ledger) Begin(now time.Time, wanted []Column) (at []int) {
	for c := range l.columns {
		l.columns[c].wanted = false
	}

	for _, w := range wanted {
		c := l.Find(w)
		if c < 0 {
			c = len(l.columns)
			l.columns = append(l.columns, column{Column: w, from: w.Window.Begin(now)})
			for _, a := range l.queues {
				a.used = append(a.used, nil)
			}
		}
		l.columns[c].wanted = true
	}

	for c := range l.columns {
		l.move(c, now)
	}
	l.forget()

	for _, w := range wanted {
		at = append(at, l.Find(w))
	}
	return at
}

// move drops the parts of a column that are out of the window. Windows do not move back with the clock.
func (l *Ledger) move(c int, now time.Time) {
	moved := &l.columns[c]
	from := moved.Window.Begin(now)
	if !from.After(moved.from) {
		return
	}

	n, each := moved.Window.Buckets()
	gone := n
	if moved.Window.Sliding {
		gone = int(min(int64(n), int64(from.Sub(moved.from)/each)))
	}

	for _, a := range l.queues {
		if parts := a.used[c]; parts != nil {
			copy(parts, parts[gone:])
			clear(parts[n-gone:])
		}
	}
	moved.from = from
}

// forget drops columns that nobody wants and nobody has used, and queues without use.
func (l *Ledger) forget() {
	for c := len(l.columns) - 1; c >= 0; c-- {
		kept := l.columns[c].wanted
		for _, a := range l.queues {
			kept = kept || isUsed(a.used[c])
		}
		if kept {
			continue
		}

		l.columns = slices.Delete(l.columns, c, c+1)
		for _, a := range l.queues {
			a.used = slices.Delete(a.used, c, c+1)
		}
	}

	maps.DeleteFunc(l.queues, func(_ string, a *account) bool { return !slices.ContainsFunc(a.used, isUsed) })
}

func isUsed(parts []float64) bool {
	return slices.ContainsFunc(parts, func(x float64) bool { return x > 0 })
}

// Until returns the time until which the use of a column is known, the zero time for a new one.
func (l *Ledger) Until(c int) time.Time { return l.columns[c].until }

// Known sets that time.
func (l *Ledger) Known(c int, until time.Time) { l.columns[c].until = until }

// Charge adds a quantity of a column that a queue itself has had during some time. Time out of the window does not
// count.
func (l *Ledger) Charge(queue string, c int, milli float64, from, to time.Time) {
	if milli <= 0 || !to.After(from) {
		return
	}

	// If the clock was set back to before the window, all of the time counts.
	charged := &l.columns[c]
	parts := l.parts(queue, c)
	n, each := charged.Window.Buckets()
	last := charged.from.Add(time.Duration(n-1) * each)
	if !to.After(last) && charged.from.After(charged.Window.Begin(to)) {
		parts[n-1] += milli * to.Sub(from).Seconds()
		return
	}

	for i := range parts {
		begin := charged.from.Add(time.Duration(i) * each)
		end := to
		if i < len(parts)-1 {
			end = begin.Add(each)
		}

		if from.After(begin) {
			begin = from
		}
		if to.Before(end) {
			end = to
		}

		if end.After(begin) {
			parts[i] += milli * end.Sub(begin).Seconds()
		}
	}
}

// parts returns the use of a column by a queue. The first call for them makes the parts.
func (l *Ledger) parts(queue string, c int) []float64 {
	a := l.queues[queue]
	if a == nil {
		a = &account{used: make([][]float64, len(l.columns))}
		if l.queues == nil {
			l.queues = map[string]*account{}
		}
		l.queues[queue] = a
	}

	if a.used[c] == nil {
		n, _ := l.columns[c].Window.Buckets()
		a.used[c] = make([]float64, n)
	}

	return a.used[c]
}

// Bind notes the ancestors of each queue, in case it is deleted.
func (l *Ledger) Bind(tree *index.Tree) {
	for name, a := range l.queues {
		q := tree.Lookup(name)
		if q == index.None {
			continue
		}

		a.above = a.above[:0]
		for _, p := range tree.Path(q)[1:] {
			a.above = append(a.above, tree.Name(p))
		}
	}
}

// Sum returns the use of a column by the queues of a tree and all queues below them: by queue and part, the oldest part
// first.
func (l *Ledger) Sum(tree *index.Tree, c int) (sums [][]float64) {
	n, _ := l.columns[c].Window.Buckets()
	all := make([]float64, tree.Len()*n)
	for q := range index.Queue(tree.Len()) {
		sums = append(sums, all[int(q)*n:][:n:n])
	}

	for name, a := range l.queues {
		if q := a.heir(name, tree); q != index.None && a.used[c] != nil {
			add(sums[q], a.used[c])
		}
	}

	// Parents have lower numbers than their children.
	for q := index.Queue(tree.Len()) - 1; q >= 0; q-- {
		if p := tree.Parent(q); p != index.None {
			add(sums[p], sums[q])
		}
	}

	return sums
}

// heir returns the queue that has the use of an account: the queue itself, or its nearest ancestor that exists.
func (a *account) heir(name string, tree *index.Tree) index.Queue {
	q := tree.Lookup(name)
	for i := 0; q == index.None && i < len(a.above); i++ {
		q = tree.Lookup(a.above[i])
	}
	return q
}

func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

// Find returns the position of a column, -1 for none.
func (l *Ledger) Find(c Column) int {
	return slices.IndexFunc(l.columns, func(has column) bool { return has.Column == c })
}
