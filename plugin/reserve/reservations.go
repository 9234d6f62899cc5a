package reserve

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// Reservations are the demands of admitted jobs that several cards can satisfy. A
// reservation of a single card is part of the account inqueue; one of A|B is in
// no account until its pods have nodes. The zero Reservations are ready for Begin.
type Reservations struct {
	pending []Reservation
	pruned  bool // Prune ran in this session

	demands  []assign.Demand // memory of one call
	assigner assign.Assigner
}

// Reservation is a demand of an admitted job.
type Reservation struct {
	job    *api.JobInfo
	demand assign.Demand
}

// Begin empties the reservations for a new session.
func (r *Reservations) Begin() {
	clear(r.pending)
	r.pending, r.pruned = r.pending[:0], false
}

// Len is the number of reservations.
func (r *Reservations) Len() int { return len(r.pending) }

// Add adds reservations.
func (r *Reservations) Add(reservations []Reservation) {
	r.pending = append(r.pending, reservations...)
}

// Split divides the demands of one admitted job into those with a single card,
// which it passes to charge, and reservations, which it appends to to. A demand
// for cards that neither a node nor a queue has is dropped.
func Split(to []Reservation, job *api.JobInfo, demands []assign.Demand, charge func(fastres.Dim, float64)) []Reservation {
	for _, demand := range demands {
		switch len(demand.Cards) {
		case 0:
		case 1:
			charge(demand.Cards[0], demand.Size*float64(demand.Count))
		default:
			to = append(to, Reservation{job, demand})
		}
	}
	return to
}

// Reserve charges what an admitted job waits for: demands with a single card
// through charge, all others as reservations.
func (r *Reservations) Reserve(s *cards.Session, q index.Queue, job *api.JobInfo, own *Job, charge func(fastres.Dim, float64)) {
	r.demands = own.AppendReservation(r.demands[:0], s, q)
	r.pending = Split(r.pending, job, r.demands, charge)
}

// Admit answers whether the missing cards of a job's minimum can be reserved: the cards
// of the job and of all reservations can be assigned within all quotas.
func (r *Reservations) Admit(ix *index.Index, s *cards.Session, q index.Queue, job *Job) cards.Outcome {
	for _, g := range job.groups {
		if v := s.Allowed(q, g.request()); g.min > 0 && !v.OK() {
			return cards.Outcome{Verdict: v, Request: g.request()}
		}
	}
	r.prune(ix)
	r.demands = r.demands[:0]
	for _, p := range r.pending {
		r.demands = append(r.demands, p.demand)
	}
	r.demands = job.AppendMissing(r.demands, s, q)
	if r.assigner.Feasible(ix, r.demands) {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: q}}
	}
	return refused(ix, q, job)
}

// refused finds the request of a refused job that is too much: a selector none of
// whose cards has room, or else the first selector, which shares its cards with
// reservations of others.
func refused(ix *index.Index, q index.Queue, job *Job) cards.Outcome {
	o := cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	for _, g := range job.groups {
		if g.missing() == 0 {
			continue
		}
		v := quota.AnyCard(q, g.selector.Dims, func(d fastres.Dim) quota.Verdict {
			return quota.EnqueueableCard(ix, q, d, float64(g.missing()))
		})
		if !v.OK() {
			severalPods := len(g.selector.Dims) > 1 && g.missing() > job.podSize
			return cards.Outcome{Verdict: v, Request: g.request(), Shared: severalPods}
		}
		if o.Request.Selector == nil {
			o.Request, o.Shared = g.request(), true
		}
	}
	return o
}

// prune drops, once in a session, reservations that no assignment can serve any
// more, because a quota was lowered or tasks took the cards that they prefer. One
// such reservation would otherwise refuse all jobs. Older jobs keep theirs first.
func (r *Reservations) prune(ix *index.Index) {
	if r.pruned {
		return
	}
	r.pruned = true
	slices.SortFunc(r.pending, func(x, y Reservation) int {
		return cmp.Or(x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time), cmp.Compare(x.job.UID, y.job.UID),
			cmp.Compare(x.demand.Size, y.demand.Size), slices.Compare(x.demand.Cards, y.demand.Cards))
	})
	var kept []Reservation
	for rest := r.pending; ; {
		n := r.feasible(ix, kept, rest)
		kept = append(kept, rest[:n]...)
		if n == len(rest) {
			break
		}
		dropped := rest[n].demand
		rest = slices.DeleteFunc(slices.Clone(rest[n+1:]), func(p Reservation) bool {
			d := p.demand
			return d.Queue == dropped.Queue && d.Size == dropped.Size && d.Count >= dropped.Count && slices.Equal(d.Cards, dropped.Cards)
		})
	}
	r.pending = kept
}

// feasible returns how many of rest, from the first on, can be served along with
// kept.
func (r *Reservations) feasible(ix *index.Index, kept, rest []Reservation) int {
	fits := func(n int) bool {
		r.demands = r.demands[:0]
		for _, p := range kept {
			r.demands = append(r.demands, p.demand)
		}
		for _, p := range rest[:n] {
			r.demands = append(r.demands, p.demand)
		}
		return r.assigner.Feasible(ix, r.demands)
	}
	if fits(len(rest)) {
		return len(rest)
	}
	low, high := 0, len(rest) // low fits, high does not
	for high-low > 1 {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Within returns the milli-cards that are reserved in q or below for selectors
// all of whose cards are in cards.
func (r *Reservations) Within(ix *index.Index, q index.Queue, cards []fastres.Dim) float64 {
	sum := 0.0
	for _, p := range r.pending {
		if slices.Contains(ix.Path(p.demand.Queue), q) && subset(p.demand.Cards, cards) {
			sum += p.demand.Size * float64(p.demand.Count)
		}
	}
	return sum
}

func subset(cards, of []fastres.Dim) bool {
	return !slices.ContainsFunc(cards, func(d fastres.Dim) bool { return !slices.Contains(of, d) })
}
