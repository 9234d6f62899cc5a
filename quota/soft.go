package quota

import (
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Soft bounds what queues have of cards while other queues want them (the annotation volcano.sh/soft-quota). A task of a
// queue p, or of one below it, that takes a quantity of a card beyond the soft quota of p fits if
//
//	allocated + wanted by others + quantity ≤ bound
//
// at each queue a above p. bound is realCapability of a, at the top not more than what the nodes have. The soft quota counts as at
// least what p deserves and is guaranteed. Where nobody below a wants the card but p itself, a does not matter.
//
// A leaf queue wants what its waiting tasks request, of those that each fit into its room, and no more than its room:
//
//	room   = max(0, min(soft quota, realCapability) − allocated)
//	wanted = min(room, Σ requests)
//
// Another queue wants what its children want, and no more than its own room.
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
// A Soft is used in one session, from Reset on. Its methods change nothing, but for Want and RollUp.
//
// Upstream: none.
type Soft struct {
	ix        *index.Index
	available fastres.Vector
	dims      []fastres.Dim
	most      []float64 // by queue and dimension: the soft quota, +Inf for none
	waiting   []float64 // the same: what leaf queues want
	wanted    []float64 // the same, with the queues below, as far as the queue has room
	below     []float64 // what the children of a queue want; the last row is for the queues without a parent
}

// Reset prepares s for a session. own returns the soft quota of a queue in a dimension, +Inf for none.
func (s *Soft) Reset(ix *index.Index, available fastres.Vector, dims []fastres.Dim, own func(index.Queue, fastres.Dim) float64) {
	cells := ix.Len() * len(dims)
	*s = Soft{ix: ix, available: available, dims: dims, most: make([]float64, cells), waiting: make([]float64, cells),
		wanted: make([]float64, cells), below: make([]float64, cells+len(dims))}
	for q := range index.Queue(ix.Len()) {
		for c, d := range dims {
			if bound := own(q, d); !math.IsInf(bound, 1) {
				s.most[s.at(q, c)] = max(bound, ix.Deserved.At(q, d), ix.Guarantee.At(q, d))
			} else {
				s.most[s.at(q, c)] = bound
			}
		}
	}
}

func (s *Soft) at(q index.Queue, column int) int { return int(q)*len(s.dims) + column }

// Column returns the column of a dimension, −1 where no queue has a soft quota of it.
func (s *Soft) Column(d fastres.Dim) int { return slices.Index(s.dims, d) }

// Most returns the soft quota of a queue, +Inf for none.
func (s *Soft) Most(q index.Queue, column int) float64 { return s.most[s.at(q, column)] }

// Room is what a queue can still take within its soft quota.
func (s *Soft) Room(q index.Queue, column int) float64 {
	d := s.dims[column]
	return max(0, min(s.Most(q, column), s.ix.RealCapability.At(q, d))-s.ix.Allocated(q).Get(d))
}

// Want sets what the waiting tasks of a leaf queue request, of those that each fit into its room.
func (s *Soft) Want(q index.Queue, column int, quantity float64) {
	s.waiting[s.at(q, column)] = quantity
}

// RollUp computes what queues want, after all calls of Want.
func (s *Soft) RollUp() {
	clear(s.below)
	for q := index.Queue(s.ix.Len()) - 1; q >= 0; q-- { // children come after their parents
		for c := range s.dims {
			at := s.at(q, c)
			s.wanted[at] = min(s.Room(q, c), s.waiting[at]+s.below[at])
			s.below[s.above(q, c)] += s.wanted[at]
		}
	}
}

// above returns the cell of below for the parent of a queue.
func (s *Soft) above(q index.Queue, column int) int {
	if p := s.ix.Parent(q); p != index.None {
		return s.at(p, column)
	}
	return s.at(index.Queue(s.ix.Len()), column)
}

// Fits decides about a quantity of a dimension that a task of q takes. A refusal names the queue that would be above its soft quota.
func (s *Soft) Fits(b Accounts, q index.Queue, column int, quantity float64) Verdict {
	d := s.dims[column]
	for _, p := range b.Path(q) {
		if b.Allocated(p).Get(d)+quantity > s.Most(p, column) && !s.leaves(b, p, column, quantity) {
			return Verdict{OverSoftQuota, p}
		}
	}
	return Verdict{Admitted, q}
}

// leaves reports whether a quantity that p takes leaves the others what they want.
func (s *Soft) leaves(b Accounts, p index.Queue, column int, quantity float64) bool {
	d, others := s.dims[column], 0.0
	for {
		others += s.below[s.above(p, column)] - s.wanted[s.at(p, column)]
		above := s.ix.Parent(p)
		if above == index.None {
			return s.ix.Rooted() || others <= 0 || s.allocated(b, d)+others+quantity <= s.available.Get(d)
		}
		bound := s.ix.RealCapability.At(above, d)
		if s.ix.Parent(above) == index.None {
			bound = min(bound, s.available.Get(d))
		}
		if others > 0 && b.Allocated(above).Get(d)+others+quantity > bound {
			return false
		}
		if p = above; s.ix.Parent(p) == index.None {
			return true
		}
	}
}

// allocated is what all queues have together where there is no root.
func (s *Soft) allocated(b Accounts, d fastres.Dim) (sum float64) {
	for q := range index.Queue(s.ix.Len()) {
		if s.ix.Parent(q) == index.None {
			sum += b.Allocated(q).Get(d)
		}
	}
	return sum
}

// Exceeds reports whether q, or a queue above it that to is not below, has more of some dimension than its soft quota.
func (s *Soft) Exceeds(b View, q, to index.Queue) bool {
	for c := range s.dims {
		if s.exceeds(b, q, to, c) {
			return true
		}
	}
	return false
}

func (s *Soft) exceeds(b View, q, to index.Queue, column int) bool {
	return slices.ContainsFunc(s.between(q, to), func(p index.Queue) bool {
		return b.Allocated(p).Get(s.dims[column]) > s.Most(p, column)
	})
}

// between returns q and the queues above it that to is not below.
func (s *Soft) between(q, to index.Queue) []index.Queue {
	path := s.ix.Path(q)
	for i, p := range path {
		if to != index.None && slices.Contains(s.ix.Path(to), p) {
			return path[:i]
		}
	}
	return path
}

// TakesBack decides whether the queue to may take a quantity of a card or group back from the queue from, though it deserves no more of
// it. from, or a queue above it, exceeds its soft quota, and all of these keep what they deserve and are guaranteed: otherwise they would take
// it back. to stays within its soft quota, and so do those above it.
func (s *Soft) TakesBack(b View, to, from index.Queue, column int, gained, lost float64) bool {
	d := s.dims[column]
	if !s.exceeds(b, from, to, column) {
		return false
	}
	for _, p := range s.between(from, to) {
		if b.Allocated(p).Get(d)-lost < max(s.ix.Deserved.At(p, d), s.ix.Guarantee.At(p, d)) {
			return false
		}
	}
	return s.Within(b, to, from, column, gained)
}

// Within reports whether to, and the queues above it that from is not below, stay within their soft quotas with some more.
func (s *Soft) Within(b View, to, from index.Queue, column int, gained float64) bool {
	return !slices.ContainsFunc(s.between(to, from), func(p index.Queue) bool {
		return b.Allocated(p).Get(s.dims[column])+gained > s.Most(p, column)
	})
}
