package reserve

import (
	"cmp"
	"slices"
	"sort"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// Prune drops, once in a session, reservations that no assignment can serve any more, and returns them.
// The cause is a lower quota, or tasks that took the cards that they prefer. Such a reservation would
// refuse all jobs that it shares cards with. Older jobs keep their reservations first.
//
// A reservation is dropped only if it is proven that it cannot be served together with the reservations
// before it. Once the budget is used up, the reservations stay: the promise to a job is worth more than
// the wait of others.
func (r *Reservations) Prune(ix *index.Index) (dropped []Reservation) {
	if r.pruned {
		return nil
	}
	r.pruned = true

	slices.SortFunc(r.pending, func(x, y Reservation) int {
		return cmp.Or(x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time), cmp.Compare(x.job.UID, y.job.UID),
			cmp.Compare(x.demand.Size, y.demand.Size), slices.Compare(x.demand.Cards, y.demand.Cards))
	})

	var kept []Reservation
	rest := r.pending
	for {
		n := r.feasible(ix, kept, rest)
		kept = append(kept, rest[:n]...)
		if n == len(rest) {
			break
		}

		// Reservations that need at least as much as the first that cannot be served cannot be served either.
		first := rest[n].demand
		var next []Reservation
		for _, p := range rest[n:] {
			if covers(p.demand, first) {
				dropped = append(dropped, p)
			} else {
				next = append(next, p)
			}
		}
		rest = next
	}

	r.pending = kept
	return dropped
}

// covers reports whether a demand is for the same pods as another one, and for at least as many.
func covers(demand, other assign.Demand) bool {
	return demand.Queue == other.Queue && demand.Size == other.Size && demand.Count >= other.Count &&
		slices.Equal(demand.Cards, other.Cards)
}

// feasible returns how many of rest can be served together with kept, or may be. It counts from the
// first one on.
func (r *Reservations) feasible(ix *index.Index, kept, rest []Reservation) int {
	fits := func(n int) bool {
		r.demands = appendReserved(appendReserved(r.demands[:0], kept), rest[:n])
		return r.assigner.Feasible(ix, nil, r.demands, &r.toPrune) != assign.No
	}
	if fits(len(rest)) {
		return len(rest)
	}

	// None fit, and all do not. So the answer is below len(rest), and only the numbers between are asked about.
	return sort.Search(len(rest)-1, func(n int) bool { return !fits(n + 1) })
}

func appendReserved(to []assign.Demand, reservations []Reservation) []assign.Demand {
	for _, p := range reservations {
		to = append(to, p.demand)
	}
	return to
}
