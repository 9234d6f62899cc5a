package quota

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Soft bounds the cards of queues while other queues want them (the annotation volcano.sh/soft-quota). If a task of a
// queue p, or of a queue below p, takes p above its soft quota of a card, it fits if
//
//	allocated + wanted by others + quantity ≤ bound
//
// at each queue above p, and for all queues together. The bound is the realCapability of the queue, or the cards of the
// nodes. If no other queue wants the card, only the quota bounds p. The soft quota of p counts as at least deserved and
// guarantee of p.
//
// A leaf queue wants the cards that its waiting jobs want (WantedByJob), and no more than its room:
//
//	room   = max(0, min(soft quota, realCapability) − allocated)
//	wanted = min(room, Σ wanted by jobs)
//
// Another queue wants the sum of its children, and no more than its own room.
//
// # Example
//
// The root has 16 cards, and p and q have a quota of 16 and a soft quota of 8. q has 4 cards.
//
//	p has   waiting in q   a task of p with one card
//	8       nothing        fits: nobody wants it
//	8       2 of 1 card    fits: 12 + 2 + 1 ≤ 16
//	10      2 of 1 card    does not: 14 + 2 + 1 > 16
//	10      1 of 6 cards   fits: the task of q is above its own soft quota
//
// A Soft is used in one session, from Reset on. Only Want changes it.
//
// Upstream: none.
type Soft struct {
	ix        *index.Index
	available fastres.Vector
	dims      []fastres.Dim
	tops      []index.Queue // the queues without a parent
	most      []float64     // by queue and dimension: the soft quota, +Inf for none
	waiting   []float64     // wanted by the jobs of leaf queues
	wanted    []float64     // wanted by queues
	below     []float64     // wanted by the children of a queue; the last row is for tops
}

// Reset prepares s for a session. own returns the soft quota of a queue in a dimension, +Inf for none.
func (s *Soft) Reset(ix *index.Index, available fastres.Vector, dims []fastres.Dim,
	own func(index.Queue, fastres.Dim) float64) {
	cells := ix.Len() * len(dims)
	*s = Soft{
		ix:        ix,
		available: available,
		dims:      dims,
		most:      make([]float64, cells),
		waiting:   make([]float64, cells),
		wanted:    make([]float64, cells),
		below:     make([]float64, cells+len(dims)),
	}

	for q := range index.Queue(ix.Len()) {
		if ix.Parent(q) == index.None {
			s.tops = append(s.tops, q)
		}

		for c, d := range dims {
			s.most[s.at(q, c)] = max(own(q, d), ix.Deserved.At(q, d), ix.Guarantee.At(q, d))
		}
	}
}

func (s *Soft) at(q index.Queue, column int) int { return int(q)*len(s.dims) + column }

// above returns the cell of below that q counts in.
func (s *Soft) above(q index.Queue, column int) int {
	if p := s.ix.Parent(q); p != index.None {
		return s.at(p, column)
	}
	return s.at(index.Queue(s.ix.Len()), column)
}

// Column returns the column of a dimension, −1 if no queue has a soft quota of it.
func (s *Soft) Column(d fastres.Dim) int { return slices.Index(s.dims, d) }

// Most returns the soft quota of a queue, +Inf for none.
func (s *Soft) Most(q index.Queue, column int) float64 { return s.most[s.at(q, column)] }

// Room returns the quantity that a queue can still take within its soft quota.
func (s *Soft) Room(q index.Queue, column int) float64 {
	d := s.dims[column]
	return max(0, min(s.Most(q, column), s.ix.RealCapability.At(q, d))-s.ix.AllocatedAt(q, d))
}

// Waiting are tasks of a job that wait, and request the same.
type Waiting struct {
	Quantity float64
	Tasks    int
}

// WantedByJob returns the quantity that a job wants in a queue with some room: the sum of the tasks that each fit
// into the room. lacks is the number of tasks that the job lacks of its minimum. If the smallest of them do not fit
// together, the job cannot start, and wants nothing. WantedByJob sorts tasks.
func WantedByJob(tasks []Waiting, lacks int, room float64) (wanted float64) {
	slices.SortFunc(tasks, func(x, y Waiting) int { return cmp.Compare(x.Quantity, y.Quantity) })

	needed := 0.0
	for _, t := range tasks {
		n := min(t.Tasks, max(0, lacks))
		lacks -= n
		needed += float64(n) * t.Quantity
		if t.Quantity <= room {
			wanted += float64(t.Tasks) * t.Quantity
		}
	}
	if lacks > 0 || needed > room {
		return 0
	}

	return wanted
}

// Want sets the quantity that the jobs of a leaf queue want, and updates the queue and its ancestors. Call it also
// after a change of allocated.
func (s *Soft) Want(q index.Queue, column int, quantity float64) {
	s.waiting[s.at(q, column)] = quantity
	for _, p := range s.ix.Path(q) {
		at := s.at(p, column)
		wanted := min(s.Room(p, column), s.waiting[at]+s.below[at])
		s.below[s.above(p, column)] += wanted - s.wanted[at]
		s.wanted[at] = wanted
	}
}

// Fits decides about a quantity of a dimension that a task of q takes. A refusal names the lowest queue that would be
// above its soft quota.
func (s *Soft) Fits(b Accounts, q index.Queue, column int, quantity float64) Verdict {
	for _, p := range b.Path(q) {
		if b.AllocatedAt(p, s.dims[column])+quantity > s.Most(p, column) && !s.leaves(b, p, column, quantity) {
			return Verdict{OverSoftQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// leaves reports whether the others still get the quantities that they want if p takes a quantity.
func (s *Soft) leaves(b Accounts, p index.Queue, column int, quantity float64) bool {
	d := s.dims[column]
	others := 0.0
	for _, p := range s.ix.Path(p) {
		others += s.below[s.above(p, column)] - s.wanted[s.at(p, column)]
		if others <= 0 {
			continue
		}

		allocated, bound := s.ofSiblings(b, p, d)
		if allocated+others+quantity > bound {
			return false
		}
	}

	return true
}

// ofSiblings returns allocated of p and all its siblings together, and their common bound.
func (s *Soft) ofSiblings(b Accounts, p index.Queue, d fastres.Dim) (allocated, bound float64) {
	if parent := s.ix.Parent(p); parent != index.None {
		return b.AllocatedAt(parent, d), s.ix.RealCapability.At(parent, d)
	}

	for _, top := range s.tops {
		allocated += b.AllocatedAt(top, d)
	}

	return allocated, s.available.Get(d)
}

// exceeds reports whether one of some queues would have more than its soft quota.
func (s *Soft) exceeds(b View, queues []index.Queue, column int, more float64) bool {
	return slices.ContainsFunc(queues, func(p index.Queue) bool {
		return b.AllocatedAt(p, s.dims[column])+more > s.Most(p, column)
	})
}

// LosesFirst reports whether q, or an ancestor that q does not share with to, exceeds its soft quota of some card.
func (s *Soft) LosesFirst(b View, q, to index.Queue) bool {
	below := s.ix.Path(q)
	if to != index.None {
		below, _ = belowLCA(s.ix, q, to)
	}

	for c := range s.dims {
		if s.exceeds(b, below, c, 0) {
			return true
		}
	}

	return false
}

// Takes reports whether the queue to, and its ancestors, stay within their soft quotas if to takes a quantity from the
// queue from.
func (s *Soft) Takes(b View, to, from index.Queue, column int, gained float64) bool {
	below, _ := belowLCA(s.ix, to, from)
	return !s.exceeds(b, below, column, gained)
}

// GivesBack reports whether the queue from gives a quantity back to the queue to. to need not deserve it. The queue
// from, or an ancestor that it does not share with to, has to exceed its soft quota. All of these queues keep
// deserved and guarantee. Otherwise they would take the quantity back.
func (s *Soft) GivesBack(b View, from, to index.Queue, column int, lost float64) bool {
	d := s.dims[column]
	below, _ := belowLCA(s.ix, from, to)
	suffers := func(p index.Queue) bool {
		return b.AllocatedAt(p, d)-lost < max(s.ix.Deserved.At(p, d), s.ix.Guarantee.At(p, d))
	}
	return s.exceeds(b, below, column, 0) && !slices.ContainsFunc(below, suffers)
}

// NoSoftQuota is the soft quota of a queue that has none.
var NoSoftQuota = math.Inf(1)
