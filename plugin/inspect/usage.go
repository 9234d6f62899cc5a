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
	// Level is compared with the levels of siblings. It covers the columns that pending pods request. Without such
	// pods, it covers the columns that are allocated to the queue.
	Level float64
	// Owed: the queue has less than it deserves of every column that it waits for. It goes before siblings that are not
	// owed anything.
	Owed    bool
	Columns []PastColumn
	// Place is the place of the queue among the Rivals queues below the same parent that have pending pods, in the
	// order in which the scheduler serves them now. It is 0 for a queue without pending pods.
	Place, Rivals int
}

// Rival is a queue that waits at the same time as a sibling.
type Rival struct {
	Queue string
	Level float64
	Owed  bool
	First bool // it goes before the sibling
	// ByUsage: usage, or a debt (Owed), decides the order of the two, and neither priority nor share.
	ByUsage bool
	Wants   []string // cards and resources that its pending pods request
}

// PastColumn is the usage of one card or resource, in the units of Holding.
type PastColumn struct {
	Resource string
	Card     bool
	Norm     float64 // usage is compared with it; 0 for none
	Now      float64 // the part of the allocation that counts
	Average  float64 // the mean of Now over time: the usage
	Counted  float64 // the mean of Average and Now that decides
	Wanted   bool    // pending pods request it
	// Covered is the time that Average stands for: before, nothing is known. HalfLife is its half-life.
	Covered, HalfLife time.Duration
	Total             float64 // Average times the time it stands for, in card-hours or unit-hours
	// EvenIdle is the time until Counted is no more than Norm if the queue has nothing from now on. EvenKept is the
	// time if it keeps its allocation. fairness.Never stands for no such time.
	EvenIdle, EvenKept time.Duration
}

// ForgetUsage sets the usage of a queue, and of the queues below it, to their present allocation. It returns the usage
// of all queues after that. It returns nil for an unknown queue, and if the order is off.
func (i Inspection) ForgetUsage(queue string) *usage.Record {
	q := i.s.Index.Lookup(queue)
	if i.s.Fairness.History() == nil || q == index.None {
		return nil
	}
	r := i.s.Fairness.Reset(q)
	return &r
}

// Pasts returns the usage of all queues, parents first, nil if the order is off.
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

	// Queues that compare as equal share a place.
	byParent, leaves := waitingByParent(s)
	for _, waiting := range byParent {
		place := 0
		for n, q := range waiting {
			if n == 0 || compareQueues(s, leaves[waiting[n-1]], leaves[q]) != 0 {
				place = n + 1
			}
			all[q].Place = place
			all[q].Rivals = len(waiting)
		}
	}
	return all
}

// waitingByParent returns the queues with pending pods by their parents, in their order. leaves has the leaf below each
// queue that goes first: the session compares leaves only, and a leaf stands for the queues above it.
func waitingByParent(s *Parts) (byParent map[index.Queue][]index.Queue, leaves []index.Queue) {
	byParent = map[index.Queue][]index.Queue{}
	leaves = make([]index.Queue, s.Index.Len())
	for q := range index.Queue(s.Index.Len()) {
		leaves[q] = q
		if waits(s, q) {
			parent := s.Index.Parent(q)
			byParent[parent] = append(byParent[parent], q)
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

	for _, waiting := range byParent {
		slices.SortStableFunc(waiting, func(l, r index.Queue) int { return compareQueues(s, leaves[l], leaves[r]) })
	}
	return byParent, leaves
}

func pastColumn(s *Parts, q index.Queue, c int) PastColumn {
	f, settings := s.Fairness, &s.Settings.FairShare
	d := f.Dim(c)
	outlook := f.Outlook(q, c, settings)
	readable := func(x float64) float64 { return format.Readable(d, x) }

	return PastColumn{
		Resource: s.Names.Name(d),
		Card:     s.Names.IsCard(d),
		Norm:     readable(outlook.Norm),
		Now:      readable(outlook.Held),
		Average:  readable(outlook.Used),
		Counted:  readable(outlook.Counted),
		Wanted:   f.WaitsFor(q, c),
		Covered:  f.History().Covered(q, c, settings.HalfLife),
		HalfLife: settings.HalfLife,
		Total:    readable(outlook.Total),
		EvenIdle: outlook.EvenIdle,
		EvenKept: outlook.EvenKept,
	}
}

// Rivals returns the queues with pending pods below the parent of a queue, in the order in which the scheduler serves
// them now. It is empty for a queue without pending pods, and if the order is off.
func (i Inspection) Rivals(queue string) (all []Rival) {
	s, f := i.s, i.s.Fairness
	q := s.Index.Lookup(queue)
	if f.History() == nil || q == index.None || !waits(s, q) {
		return nil
	}

	byParent, leaves := waitingByParent(s)
	own := leaves[q]
	for _, r := range byParent[s.Index.Parent(q)] {
		l := leaves[r]
		order := compareQueues(s, l, own)

		// Queues of one priority that the order by usage puts in the same order as the session.
		byUsage := order != 0 && priorityOf(s, l) == priorityOf(s, own) && sign(s.OrderQueues(l, own)) == order
		rival := Rival{Queue: s.Index.Name(r), Level: f.Level(r), Owed: f.Owed(r), First: order < 0, ByUsage: byUsage}

		for c := range f.History().Columns() {
			if f.WaitsFor(r, c) {
				rival.Wants = append(rival.Wants, s.Names.Name(f.Dim(c)))
			}
		}
		all = append(all, rival)
	}
	return all
}

// waits reports whether a queue, or one below it, has pending pods that request something.
func waits(s *Parts, q index.Queue) bool {
	for d := range fastres.Dim(min(s.Index.Dims(), s.Names.Len())) {
		if s.Index.Request.At(q, d) > s.Index.AllocatedAt(q, d) {
			return true
		}
	}
	return false
}

// compareQueues compares two queues as the session does. A queue without an object, such as a root, equals all others.
func compareQueues(s *Parts, l, r index.Queue) int {
	lq, rq := s.Intake.Queues[l], s.Intake.Queues[r]
	if lq == nil || rq == nil || l == r {
		return 0
	}
	return sign(s.Order(lq, rq))
}

func sign(x int) int { return max(-1, min(1, x)) }

func priorityOf(s *Parts, q index.Queue) int32 {
	if queue := s.Intake.Queues[q]; queue != nil {
		return queue.Queue.Spec.Priority
	}
	return 0
}
