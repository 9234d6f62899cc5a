package reserve

import (
	"iter"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
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

	toPrune assign.Budget   // left for the reservations
	budgets []assign.Budget // by queue: left for its waiting jobs
	// refused has the questions of the session with an answer other than Yes, by their text. Until a refund, room only
	// shrinks, so that no answer becomes Yes.
	refused map[string]assign.Answer

	// given are the demands of pending[:added], with equal demands added up: thousands of reservations are of a few
	// sizes and lists.
	given   []assign.Demand
	givenAt map[string]int // position in given, by the text of a demand
	added   int
	loads   assign.Loads // of given

	demands, asked []assign.Demand // memory of one call
	text           []byte          // memory of one call
	assigner       assign.Assigner
	empty          room // see Possible
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
	r.assigner.Names = names
	r.loads.Names = names
	r.empty.assigner.Names = names

	clear(r.pending)
	r.pending = r.pending[:0]
	r.pruned = false
	r.refused = map[string]assign.Answer{}
	r.givenAt = map[string]int{}
	r.forgetGiven()

	queues := 0
	for _, waits := range waiting {
		if waits {
			queues++
		}
	}
	r.toPrune = searchBudget / 4
	share := (searchBudget - r.toPrune) / assign.Budget(max(1, queues))
	r.budgets = r.budgets[:0]
	for range waiting {
		r.budgets = append(r.budgets, share)
	}
}

// forgetGiven empties given. The next question adds the pending reservations to it again.
func (r *Reservations) forgetGiven() {
	r.given = r.given[:0]
	r.added = 0
	r.loads.Reset()
	clear(r.givenAt)
}

// Refunded notes that the room of a queue has grown. Questions that were refused may be asked again.
func (r *Reservations) Refunded() { clear(r.refused) }

// Pruned reports whether Prune ran in the session.
func (r *Reservations) Pruned() bool { return r.pruned }

// Len returns the number of reservations.
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

// Split divides the demands of one admitted job. It passes demands for a single card to charge, and
// appends the others to to as reservations. A demand for cards that neither a node nor a queue has is
// dropped.
func Split(to []Reservation, job *api.JobInfo, demands []assign.Demand,
	charge func(fastres.Dim, float64)) []Reservation {
	for _, demand := range demands {
		switch len(demand.Cards) {
		case 0:
			// Nothing can serve it, so nothing is reserved.
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
func (r *Reservations) AddJob(s *cards.Snapshot, q index.Queue, job *api.JobInfo, own *Job) {
	r.demands = own.AppendReservation(r.demands[:0], s, q)
	r.pending = Split(r.pending, job, r.demands, func(fastres.Dim, float64) {})
}

// EachCharge visits the reservations of an admitted job that a single card satisfies.
func (r *Reservations) EachCharge(s *cards.Snapshot, q index.Queue, job *api.JobInfo, own *Job,
	visit func(fastres.Dim, float64)) {
	r.demands = own.AppendReservation(r.demands[:0], s, q)
	Split(nil, job, r.demands, visit)
}

// Withdraw removes the reservations of a job, and returns them for Add. Questions that were refused may
// be asked again.
func (r *Reservations) Withdraw(job *api.JobInfo) (removed []Reservation) {
	r.remove(func(p Reservation) bool {
		if p.job == job {
			removed = append(removed, p)
		}
		return p.job == job
	})
	return removed
}

// Drop removes the reservations that the accounts of holders dropped, regardless of their account.
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

// remove removes some reservations. Questions that were refused may be asked again.
func (r *Reservations) remove(some func(Reservation) bool) {
	before := len(r.pending)
	r.pending = slices.DeleteFunc(r.pending, some)
	if len(r.pending) < before {
		r.forgetGiven()
	}
	r.Refunded()
}
