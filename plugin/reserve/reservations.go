package reserve

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// searchBudget is the number of arcs that the searches of one session may visit, which
// takes some tens of milliseconds. A quarter is for the reservations, and the queues with
// waiting jobs share the rest equally.
const searchBudget assign.Budget = 1 << 22

// Reservations are the demands of admitted jobs that several cards can satisfy. A
// reservation of a single card is part of the account inqueue; one of A|B is in
// no account until its pods have nodes. The zero Reservations are ready for Begin.
type Reservations struct {
	pending []Reservation
	pruned  bool // Prune ran in this session

	toPrune assign.Budget   // what is left for the reservations
	budgets []assign.Budget // by queue: what is left for its waiting jobs
	// refused are the questions of the session whose answer was not Yes, by their
	// text. Until a refund, room only shrinks, and so no answer becomes Yes.
	refused map[string]assign.Answer

	// given are the demands of pending[:added], equal ones added up: thousands of
	// reservations are of a few sizes and lists.
	given   []assign.Demand
	givenAt map[string]int // by what makes two demands the same
	added   int
	loads   assign.Loads // of given

	demands, asked []assign.Demand // memory of one call
	text           []byte          // memory of one call
	assigner       assign.Assigner
}

// Reservation is a demand of an admitted job.
type Reservation struct {
	job    *api.JobInfo
	demand assign.Demand
}

// Job returns the job of a reservation.
func (r Reservation) Job() api.JobID { return r.job.UID }

// In returns the same reservation in another account.
func (r Reservation) In(account index.Queue) Reservation {
	r.demand.Queue = account
	return r
}

// Begin empties the reservations for a new session. waiting are the queues with jobs that
// request cards and wait for admission, and names have the groups of cards.
func (r *Reservations) Begin(waiting []bool, names *index.Names) {
	r.assigner.Names, r.loads.Names = names, names
	clear(r.pending)
	r.pending, r.pruned = r.pending[:0], false
	r.refused, r.givenAt = map[string]assign.Answer{}, map[string]int{}
	r.given, r.added = r.given[:0], 0
	r.loads.Reset()
	r.toPrune = searchBudget / 4
	queues := 0
	for _, waits := range waiting {
		if waits {
			queues++
		}
	}
	share := (searchBudget - r.toPrune) / assign.Budget(max(1, queues))
	r.budgets = r.budgets[:0]
	for range waiting {
		r.budgets = append(r.budgets, share)
	}
}

// Refunded tells that the room of a queue has grown: what was refused may be asked again.
func (r *Reservations) Refunded() { clear(r.refused) }

// Pruned reports whether Prune ran in the session.
func (r *Reservations) Pruned() bool { return r.pruned }

// Len is the number of reservations.
func (r *Reservations) Len() int { return len(r.pending) }

// Jobs returns the jobs of the reservations.
func (r *Reservations) Jobs() iter.Seq[*api.JobInfo] {
	return func(yield func(*api.JobInfo) bool) {
		for _, p := range r.pending {
			if !yield(p.job) {
				return
			}
		}
	}
}

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

// AddJob adds the reservations of an admitted job that several cards can satisfy. EachCharge
// visits the others.
func (r *Reservations) AddJob(s *cards.Session, q index.Queue, job *api.JobInfo, own *Job) {
	r.demands = own.AppendReservation(r.demands[:0], s, q)
	r.pending = Split(r.pending, job, r.demands, func(fastres.Dim, float64) {})
}

// Withdraw removes the reservations of a job, and returns them for Add. What was refused may be
// asked again.
func (r *Reservations) Withdraw(job *api.JobInfo) (removed []Reservation) {
	r.remove(func(p Reservation) bool {
		if p.job == job {
			removed = append(removed, p)
		}
		return p.job == job
	})
	return removed
}

// remove removes some reservations. What was refused may be asked again.
func (r *Reservations) remove(some func(Reservation) bool) {
	before := len(r.pending)
	r.pending = slices.DeleteFunc(r.pending, some)
	if len(r.pending) < before {
		r.given, r.added = r.given[:0], 0
		r.loads.Reset()
		clear(r.givenAt)
	}
	r.Refunded()
}

// EachCharge visits the reservations of an admitted job that a single card satisfies.
func (r *Reservations) EachCharge(s *cards.Session, q index.Queue, job *api.JobInfo, own *Job, visit func(fastres.Dim, float64)) {
	r.demands = own.AppendReservation(r.demands[:0], s, q)
	Split(nil, job, r.demands, visit)
}

// Admit answers whether the missing cards of the minimum of a job of q can be reserved: the cards
// of the job and of all reservations can be assigned within all quotas. at is where the job
// counts in ix: q, or the account of a holder.
func (r *Reservations) Admit(ix *index.Index, s *cards.Session, q, at index.Queue, job *Job) cards.Outcome {
	for _, g := range job.groups {
		if v := s.Allowed(q, g.request()); g.min > 0 && !v.OK() {
			return cards.Outcome{Verdict: v, Request: g.request()}
		}
	}
	r.Prune(ix)
	r.asked = job.AppendMissing(r.asked[:0], s, at)
	switch r.ask(ix, at) {
	case assign.Yes:
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: at}}
	case assign.Unknown:
		return undecided(at, job)
	}
	return refused(ix, at, job)
}

// ask answers whether the asked demands of q can be served along with all reservations.
func (r *Reservations) ask(ix *index.Index, q index.Queue) assign.Answer {
	r.addGiven(ix)
	if r.loads.Fit(ix, q, r.asked) {
		return assign.Yes
	}
	r.text = binary.AppendUvarint(r.text[:0], uint64(q))
	for _, d := range r.asked {
		r.text = appendDemandText(binary.AppendUvarint(r.text, uint64(d.Count)), d)
		if ix.Raised != nil {
			r.text = r.appendBoundsText(r.text, ix, q, d.Cards)
		}
	}
	if answer, known := r.refused[string(r.text)]; known {
		return answer
	}
	answer := r.assigner.Feasible(ix, r.given, r.asked, &r.budgets[q])
	if answer != assign.Yes {
		r.refused[string(r.text)] = answer
	}
	return answer
}

// addGiven adds the reservations that are new to given.
func (r *Reservations) addGiven(ix *index.Index) {
	for _, p := range r.pending[r.added:] {
		r.loads.Add(ix, p.demand)
		r.text = appendDemandText(binary.AppendUvarint(r.text[:0], uint64(p.demand.Queue)), p.demand)
		if at, known := r.givenAt[string(r.text)]; known {
			r.given[at].Count += p.demand.Count
			continue
		}
		r.givenAt[string(r.text)] = len(r.given)
		r.given = append(r.given, p.demand)
	}
	r.added = len(r.pending)
}

// appendDemandText appends what makes two demands of a queue equal, but for the number of
// pods.
func appendDemandText(to []byte, d assign.Demand) []byte {
	to = binary.AppendUvarint(to, math.Float64bits(d.Size))
	to = binary.AppendUvarint(to, uint64(len(d.Cards)))
	for _, card := range d.Cards {
		to = binary.AppendUvarint(to, uint64(card))
	}
	return to
}

// appendBoundsText appends the bounds of some cards on the path of q: what is given back to jobs differs from job to
// job.
func (r *Reservations) appendBoundsText(to []byte, ix *index.Index, q index.Queue, cards []fastres.Dim) []byte {
	bounds := ix.AdmissionBounds(q)
	for _, p := range ix.Path(q) {
		for _, d := range cards {
			to = binary.AppendUvarint(to, math.Float64bits(bounds.At(p, d)))
			for _, share := range r.assigner.Names.Groups(d) {
				to = binary.AppendUvarint(to, math.Float64bits(bounds.At(p, share.Group)))
			}
		}
	}
	return to
}

func appendReserved(to []assign.Demand, reservations []Reservation) []assign.Demand {
	for _, p := range reservations {
		to = append(to, p.demand)
	}
	return to
}

// undecided names the request of a job for which the search used up its budget: that
// with the longest list.
func undecided(q index.Queue, job *Job) cards.Outcome {
	longest := slices.MaxFunc(job.groups, func(x, y group) int {
		return cmp.Or(cmp.Compare(min(1, x.missing()), min(1, y.missing())), cmp.Compare(len(x.selector.Dims), len(y.selector.Dims)))
	})
	return cards.Outcome{Verdict: quota.Verdict{Reason: quota.SearchExhausted, Queue: q}, Request: longest.request()}
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

// Drop removes reservations that those of holders dropped, in whatever account.
func (r *Reservations) Drop(dropped []Reservation) {
	if len(dropped) > 0 {
		r.remove(func(p Reservation) bool { return slices.ContainsFunc(dropped, p.alike) })
	}
}

// alike reports whether two reservations are of one job, for equal pods.
func (r Reservation) alike(other Reservation) bool {
	x, y := r.demand, other.demand
	return r.job == other.job && x.Size == y.Size && x.Count == y.Count && slices.Equal(x.Cards, y.Cards)
}

// Prune drops, once in a session, reservations that no assignment can serve any
// more, because a quota was lowered or tasks took the cards that they prefer. One
// such reservation would otherwise refuse all jobs that it shares cards with. Older
// jobs keep theirs first.
//
// A reservation is dropped only if it is proven that it cannot be served along with
// those before it. Where the budget is used up, the reservations stay: what was
// promised to a job is worth more than what others wait for. It returns what it dropped.
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
	for rest := r.pending; ; {
		n := r.feasible(ix, kept, rest)
		kept = append(kept, rest[:n]...)
		if n == len(rest) {
			break
		}
		first := rest[n].demand
		rest = slices.DeleteFunc(slices.Clone(rest[n:]), func(p Reservation) bool {
			d := p.demand
			alike := d.Queue == first.Queue && d.Size == first.Size && d.Count >= first.Count && slices.Equal(d.Cards, first.Cards)
			if alike {
				dropped = append(dropped, p)
			}
			return alike
		})
	}
	r.pending = kept
	return dropped
}

// feasible returns how many of rest, from the first on, can be served along with
// kept, or may be.
func (r *Reservations) feasible(ix *index.Index, kept, rest []Reservation) int {
	fits := func(n int) bool {
		r.demands = appendReserved(appendReserved(r.demands[:0], kept), rest[:n])
		return r.assigner.Feasible(ix, nil, r.demands, &r.toPrune) != assign.No
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

// Numbers returns what a refused request for several cards at once is held against: the sum of what
// counts against the bounds of its cards, with reservations that no other card can serve, and the
// sum of the bounds.
func (r *Reservations) Numbers(ix *index.Index, q index.Queue, request cards.Request) (n quota.Numbers) {
	for _, d := range request.Selector.Dims {
		of := quota.EnqueueableNumbers(ix, q, d, 0)
		n.Total += of.Total
		n.Bound += of.Bound
	}
	n.Total += float64(request.Amount) + r.within(ix, q, request.Selector.Dims)
	return n
}

// within returns the milli-cards that are reserved in q or below for selectors
// all of whose cards are in cards.
func (r *Reservations) within(ix *index.Index, q index.Queue, cards []fastres.Dim) float64 {
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
