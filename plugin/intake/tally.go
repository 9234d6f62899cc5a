package intake

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// tally holds the accounts of a part of the jobs before they are rolled up. The accounts are by cell: by queue, or by
// queue and holders where holders are limited.
type tally struct {
	reader  reader
	session *Inputs
	tree    *index.Tree
	cards   *cards.Snapshot // nil where cards count nowhere
	holders *Holders

	allocated, request, inqueue, elastic, terminating index.Rows
	jobs                                              []int
	admitted                                          []int  // nil where no queue bounds its jobs
	waiting                                           []bool // any job that requests cards waits for admission

	// Memory for the job that is counted.
	min, placed, excess, gated fastres.Vector
	job                        reserve.Job
	demands                    []assign.Demand

	timeouts []time.Duration // by queue; nil where no queue has a timeout
	now      time.Time
	timed    []Timed

	announced []*api.JobInfo

	devices     bool // some queue has a quota of devices
	deviceUsers []deviceUser
	sharing     []deviceUser // pods that share claims of cards
	lists       []List

	reservations []reserve.Reservation
	newPods      []cards.NewPod
	visited      int            // tasks for which the cards were read
	onNodes      []*api.JobInfo // jobs with cards on nodes
}

// reset makes empty accounts for n cells.
func (t *tally) reset(session *Inputs, holders *Holders, n int) {
	t.reader = reader{dims: &session.Dims}
	t.session = session
	t.tree = session.tree
	t.cards = session.cards
	t.holders = holders
	t.job.Gates = session.settings.Gates
	t.timeouts = session.timeouts
	t.now = session.now
	t.devices = session.devices

	emptied(&t.timed)
	emptied(&t.announced)
	emptied(&t.deviceUsers)
	emptied(&t.sharing)
	emptied(&t.lists)
	emptied(&t.reservations)
	emptied(&t.newPods)
	emptied(&t.onNodes)
	t.visited = 0

	for _, rows := range []*index.Rows{&t.allocated, &t.request, &t.inqueue, &t.elastic, &t.terminating} {
		rows.Reset(n, session.Dims.length)
	}

	t.jobs = append(t.jobs[:0], make([]int, n)...)
	t.admitted = nil
	if session.Admitted != nil {
		t.admitted = make([]int, n)
	}
	t.waiting = append(t.waiting[:0], make([]bool, n)...)

	for _, x := range []*fastres.Vector{&t.min, &t.placed, &t.excess, &t.gated} {
		if x.Len() != session.Dims.length {
			*x = fastres.NewVector(session.Dims.length)
		}
	}
}

// emptied empties a slice, and keeps its memory without what was there.
func emptied[T any](values *[]T) {
	clear(*values)
	*values = (*values)[:0]
}

// readJobs adds the accounts of the jobs to their queues. It returns the names that have no dimension.
func (s *State) readJobs(ix *index.Index, session *Inputs, reservations *reserve.Reservations) (missing []string) {
	jobs := s.jobs
	s.holders.prepare(jobs, session)
	tallies := s.newTallies(session, len(jobs))
	s.crew.share(len(tallies), len(jobs), func(worker, from, to int) { tallies[worker].countAll(jobs[from:to]) })

	reservations.Begin(s.waitingQueues(tallies, session.tree.Len()), session.Dims.names)
	s.orphans.keep(tallies)
	session.Timed = nil
	session.Announced = nil
	session.sharing = nil
	s.deviceUsers = s.deviceUsers[:0]
	s.lists = s.lists[:0]
	visited := s.stock.visited
	for i := range tallies {
		t := &tallies[i]
		s.merge(t, ix, session)
		reservations.Add(t.reservations)
		visited += t.visited
		missing = append(missing, t.reader.missing...)
		t.forget()
	}

	if session.cards != nil {
		session.cards.Visited(visited)
	}
	session.addDeviceClaims(s.deviceUsers)
	session.Lists = s.lists
	return missing
}

// merge adds a tally to the accounts, and its findings to the session.
func (s *State) merge(t *tally, ix *index.Index, session *Inputs) {
	t.addTo(ix, session)
	s.holders.addReservations(t.reservations)
	if session.cards != nil {
		session.cards.AddPods(t.newPods)
	}

	s.deviceUsers = append(s.deviceUsers, t.deviceUsers...)
	s.lists = append(s.lists, t.lists...)
	session.sharing = append(session.sharing, t.sharing...)
	session.Timed = append(session.Timed, t.timed...)
	session.Announced = append(session.Announced, t.announced...)
}

// forget drops the jobs of the session, so that it can be garbage collected.
func (t *tally) forget() {
	clear(t.timed)
	clear(t.announced)
	clear(t.onNodes)
	t.reader = reader{}
	t.session = nil
}

// waitingQueues returns by queue whether any job that requests cards waits for admission.
func (s *State) waitingQueues(tallies []tally, queues int) []bool {
	s.waiting = append(s.waiting[:0], make([]bool, queues)...)
	for i := range tallies {
		for at, waits := range tallies[i].waiting {
			if waits {
				c := s.holders.cell(at)
				s.waiting[c.queue] = true
				s.holders.waits(c)
			}
		}
	}
	return s.waiting
}

// newTallies returns empty tallies, at most one for each processor.
func (s *State) newTallies(session *Inputs, jobs int) []tally {
	// The cost of a tally grows with its cells, so each tally has at least half as many jobs as cells.
	cells := max(session.tree.Len(), len(s.holders.cells))
	n := workersFor(jobs, max(alone, cells/2))

	for len(s.tallies) < n {
		s.tallies = append(s.tallies, tally{})
	}

	for i := range n {
		s.tallies[i].reset(session, &s.holders, cells)
	}
	return s.tallies[:n]
}

// addTo adds a tally to the index, and its numbers of jobs to a session.
func (t *tally) addTo(ix *index.Index, session *Inputs) {
	for i, n := range t.jobs {
		if n == 0 {
			continue
		}

		at := index.Queue(i)
		c := t.holders.cell(i)
		session.Jobs[c.queue] += n
		if t.admitted != nil {
			session.Admitted[c.queue] += t.admitted[at]
		}
		t.addRows(ix, c.queue, at, c.account == index.None)
		if c.account == index.None {
			continue
		}

		t.holders.inqueue.Row(at).Add(t.inqueue.Row(at)) // counts in the queue as far as the limits have room
		accounts := &t.holders.Quota.Accounts
		for _, head := range accounts.Heads(c.account) {
			// A queue that is not open reserves nothing, neither here nor in the queues above (quota.RollUpInqueue).
			t.addRows(accounts, head, at, t.session.Open(c.queue))
		}

		if accounts.IsJoint(c.account) {
			t.addRows(accounts, c.account, at, false) // each holder has its own inqueue
		}
	}
}

// addRows adds the rows of one cell to an account, with inqueue if it is reserved.
func (t *tally) addRows(ix *index.Index, q, cell index.Queue, reserved bool) {
	ix.NoteOwnJobs(q)
	ix.Mutable(q).Add(t.allocated.Row(cell))
	ix.Request.Row(q).Add(t.request.Row(cell))
	if reserved {
		ix.Inqueue.Row(q).Add(t.inqueue.Row(cell))
	}
	ix.Elastic.Row(q).Add(t.elastic.Row(cell))
	ix.Terminating.Row(q).Add(t.terminating.Row(cell))
}
