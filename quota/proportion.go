package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// WeightedQueue is a queue with its weight.
type WeightedQueue struct {
	Queue  index.Queue
	Weight int32 // spec.weight; a negative weight counts as 0
}

// ProportionRounds divides the cluster among queues by weight and request, and sets
// deserved of each queue, under the name proportion. It works in rounds. Each round offers
// the remaining part of total to the queues that are not done, by weight:
//
//	deserved = max(min(deserved + remaining·weight/Σweight, realCapability, request), guarantee)
//
// A queue is done when its deserved meets its request, or did not change in the round.
// The rounds end when every queue is done, nothing remains, or the remaining part did not
// change. Quantities have the units of package fastres, and fractions remain. Queues are
// served in the order given, so equal input gives equal results to the bit.
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

// division is the working memory of ProportionRounds.
type division struct {
	ix                 *index.Index
	remaining, before  fastres.Vector // of the total, now and before the round
	increased          fastres.Vector // Σ of the increases of deserved in this round
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

// round runs one round. It removes the queues that are done from open, and reports whether
// another round may change something.
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

// give adds one queue's part to its deserved, and reports whether the queue is done.
// deserved never decreases from one round to the next: parts are not negative, and bounds
// do not change.
func (d *division) give(w WeightedQueue, part float64) bool {
	q := w.Queue
	deserved := d.ix.Deserved.Row(q)
	request := d.ix.Request.Row(q)
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

// Overused reports whether a queue uses all of its deserved. Then it gets nothing more under the
// name proportion:
//
//	deserved ≤ allocated   in every dimension
//
// The comparison has the tolerance fastres.MinResource.
//
// Upstream: proportion/proportion.go, AddOverusedFn.
func Overused(ix *index.Index, q index.Queue) bool {
	return ix.Deserved.Row(q).LessEqual(ix.Allocated(q))
}
