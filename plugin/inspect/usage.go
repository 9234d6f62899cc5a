package inspect

import (
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// Past is the usage of a queue over time, and its place among its siblings.
type Past struct {
	Queue string
	// Level is that by which the queue is compared: of the columns that pending pods request, or
	// without such pods, of those that the queue has.
	Level float64
	// Owed: the queue waits only for columns of which it has less than it deserves, and goes before
	// siblings that do not.
	Owed    bool
	Columns []PastColumn
	// Place is the place of the queue among the Rivals queues below the same parent that have pending
	// pods, in the order in which the scheduler serves them now; 0 for a queue without pending pods.
	Place, Rivals int
}

// Rival is a queue that waits beside another one.
type Rival struct {
	Queue string
	Level float64
	Owed  bool
	First bool // it goes before the other one
	// ByUsage: the order of the two is decided by usage, or by what they deserve, and not by priority or share.
	ByUsage bool
	Wants   []string // cards and resources that its pending pods request
}

// PastColumn is the usage of one card or resource, in the units of Holding.
type PastColumn struct {
	Resource string
	Card     bool
	Norm     float64 // what usage is compared with, 0 for none
	Now      float64 // what the queue has, as far as it counts
	Average  float64 // what the queue has had on average: its usage
	Counted  float64 // the mean of Average and Now that decides
	Wanted   bool    // pending pods request it
	// Covered is the time that Average stands for: before, nothing is known. HalfLife is its half-life.
	Covered, HalfLife time.Duration
	Total             float64 // what Average stands for, in cards, or units, times hours
	// EvenIdle is the time until Counted is no more than Norm if the queue has none from now on, EvenKept if
	// it keeps what it has now. fairness.Never: not at all.
	EvenIdle, EvenKept time.Duration
}

// ForgetUsage sets the usage of a queue, and of those below it, to what they have now. It returns the usage
// of all queues then; nil for an unknown queue, and where the order is off.
func (i Inspection) ForgetUsage(queue string) *usage.Record {
	s, f := i.s, i.s.Fairness
	q := s.Index.Lookup(queue)
	if f.History() == nil || q == index.None {
		return nil
	}
	r := f.Reset(q)
	return &r
}

// Pasts returns the usage of all queues, parents first, nil where the order is off.
func (i Inspection) Pasts() (all []Past) {
	s, f := i.s, i.s.Fairness
	if f.History() == nil {
		return nil
	}
	for q := range index.Queue(s.Index.Len()) {
		p := Past{Queue: s.Index.Name(q), Level: f.Level(q), Owed: f.Owed(q)}
		for c := range f.History().Columns() {
			p.Columns = append(p.Columns, pastColumn(s, q, c))
		}
		all = append(all, p)
	}
	byParent, leaves := waitingByParent(s)
	for _, waiting := range byParent {
		place := 0
		for n, q := range waiting {
			if n == 0 || compareQueues(s, leaves[waiting[n-1]], leaves[q]) != 0 {
				place = n + 1
			}
			all[q].Place, all[q].Rivals = place, len(waiting)
		}
	}
	return all
}

// waitingByParent returns the queues with pending pods by their parents, in their order, and for each the leaf
// below it that goes first: leaves are compared, and a leaf stands for the queues above it.
func waitingByParent(s *Session) (map[index.Queue][]index.Queue, []index.Queue) {
	all, leaves := map[index.Queue][]index.Queue{}, make([]index.Queue, s.Index.Len())
	for q := range index.Queue(s.Index.Len()) {
		leaves[q] = q
		if waits(s, q) {
			all[s.Index.Parent(q)] = append(all[s.Index.Parent(q)], q)
		}
	}
	for q := range index.Queue(s.Index.Len()) {
		if !s.Index.IsLeaf(q) || !waits(s, q) {
			continue
		}
		for _, above := range s.Index.Path(q)[1:] {
			if leaves[above] == above || compareQueues(s, q, leaves[above]) < 0 {
				leaves[above] = q
			}
		}
	}
	for _, waiting := range all {
		slices.SortStableFunc(waiting, func(l, r index.Queue) int { return compareQueues(s, leaves[l], leaves[r]) })
	}
	return all, leaves
}

func pastColumn(s *Session, q index.Queue, c int) PastColumn {
	f := s.Fairness
	o, d := f.Outlook(q, c, &s.Settings.FairShare), f.Dim(c)
	readable := func(x float64) float64 { return format.Readable(d, x) }
	return PastColumn{
		Resource: s.Names.Name(d), Card: s.Names.IsCard(d),
		Norm: readable(o.Norm), Now: readable(o.Held), Average: readable(o.Used), Counted: readable(o.Counted), Total: readable(o.Total),
		Covered: f.History().Covered(q, c, s.Settings.FairShare.HalfLife), HalfLife: s.Settings.FairShare.HalfLife,
		Wanted: f.WaitsFor(q, c), EvenIdle: o.EvenIdle, EvenKept: o.EvenKept,
	}
}

// wants reports whether pending pods of a queue, or below it, request something.
func wants(s *Session, q index.Queue, d fastres.Dim) bool {
	return s.Index.Request.At(q, d) > s.Index.AllocatedAt(q, d)
}

// Rivals returns the queues with pending pods below the parent of a queue, in the order in which the
// scheduler serves them now. It is empty for a queue without pending pods, and where the order is off.
func (i Inspection) Rivals(queue string) (all []Rival) {
	s, f := i.s, i.s.Fairness
	q := s.Index.Lookup(queue)
	if f.History() == nil || q == index.None || !waits(s, q) {
		return nil
	}
	byParent, leaves := waitingByParent(s)
	for _, r := range byParent[s.Index.Parent(q)] {
		l, own := leaves[r], leaves[q]
		c := compareQueues(s, l, own)
		rival := Rival{Queue: s.Index.Name(r), Level: f.Level(r), Owed: f.Owed(r), First: c < 0,
			ByUsage: c != 0 && priorityOf(s, l) == priorityOf(s, own) && sign(s.OrderQueues(l, own)) == c}
		for column := range f.History().Columns() {
			if f.WaitsFor(r, column) {
				rival.Wants = append(rival.Wants, s.Names.Name(f.Dim(column)))
			}
		}
		all = append(all, rival)
	}
	return all
}

// waits reports whether a queue, or one below it, has pending pods.
func waits(s *Session, q index.Queue) bool {
	for d := range fastres.Dim(min(s.Index.Dims(), s.Names.Len())) {
		if wants(s, q, d) {
			return true
		}
	}
	return false
}

// compareQueues is the order of the session, for queues by their numbers. A queue without an object, such as a
// root, is not compared.
func compareQueues(s *Session, l, r index.Queue) int {
	lq, rq := s.Intake.Queues[l], s.Intake.Queues[r]
	if lq == nil || rq == nil || l == r {
		return 0
	}
	return sign(s.Order(lq, rq))
}

func sign(x int) int { return max(-1, min(1, x)) }

func priorityOf(s *Session, q index.Queue) int32 {
	if queue := s.Intake.Queues[q]; queue != nil {
		return queue.Queue.Spec.Priority
	}
	return 0
}
