package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// WeightedQueue is a queue that takes part in the division by weight.
type WeightedQueue struct {
	Queue  index.Queue
	Weight int32
}

// Divide sets deserved of the given queues by rounds. In each round what
// remains of total is offered to the queues that still want more, by weight:
//
//	deserved = max(min(deserved + remaining·weight/Σweight, realCapability, request), guarantee)
//
// A queue is done when its request is met or its deserved no longer changes;
// the rounds end when every queue is done, or nothing remains, or nothing
// moves. The order of queues is that given, so that equal input gives equal
// bits.
//
// Upstream: proportion/proportion.go, OnSessionOpen.
func ProportionRounds(ix *index.Index, total fastres.Vector, queues []WeightedQueue) {
	d := newDivision(ix, total)
	for _, w := range queues {
		ix.Deserved.Row(w.Queue).Reset()
	}
	var open []WeightedQueue
	for _, w := range queues {
		w.Weight = max(0, w.Weight)
		open = append(open, w)
	}
	for len(open) > 0 && d.round(&open) {
	}
}

// division is the working memory of Divide.
type division struct {
	ix                 *index.Index
	remaining, before  fastres.Vector // of the total, now and before the round
	increased          fastres.Vector // Σ over what this round added to deserved
	offer, old, change fastres.Vector // of one queue
}

func newDivision(ix *index.Index, total fastres.Vector) *division {
	d := &division{ix: ix}
	for _, x := range []*fastres.Vector{
		&d.remaining, &d.before, &d.increased, &d.offer, &d.old, &d.change,
	} {
		*x = fastres.NewVector(ix.Dims())
	}
	d.remaining.CopyFrom(total)
	return d
}

// round offers what remains once, drops the queues that are done from open, and
// reports whether another round may change something.
func (d *division) round(open *[]WeightedQueue) bool {
	weights := int64(0)
	for _, w := range *open {
		weights += int64(w.Weight)
	}
	if weights == 0 {
		return false
	}
	d.before.CopyFrom(d.remaining)
	d.increased.Reset()
	still := (*open)[:0]
	for _, w := range *open {
		if !d.give(w, float64(w.Weight)/float64(weights)) {
			still = append(still, w)
		}
	}
	*open = still
	d.change.SetExceeded(d.remaining, d.increased)
	d.remaining.CopyFrom(d.change)
	return !d.remaining.IsEmpty() && !d.remaining.Equal(d.before)
}

// give offers one queue its part and reports whether the queue is done. deserved
// never falls from one round to the next: offers are not negative, and what a
// queue is bound to stays.
func (d *division) give(w WeightedQueue, part float64) bool {
	q := w.Queue
	deserved, request := d.ix.Deserved.Row(q), d.ix.Request.Row(q)
	d.old.CopyFrom(deserved)
	d.offer.CopyFrom(d.remaining)
	d.offer.Scale(part)
	deserved.Add(d.offer)
	deserved.CapTo(d.ix.RealCapability.Row(q))
	deserved.CapToZero(request)
	deserved.RaiseTo(d.ix.Guarantee.Row(q))

	d.change.SetExceeded(deserved, d.old)
	d.increased.Add(d.change)
	return request.LessEqual(deserved) || deserved.Equal(d.old)
}

// Overused answers whether a queue has all that it deserves:
// deserved ≤ allocated in every dimension.
//
// Upstream: proportion/proportion.go, AddOverusedFn.
func Overused(ix *index.Index, q index.Queue) bool {
	return ix.Deserved.Row(q).LessEqual(ix.Allocated(q))
}
