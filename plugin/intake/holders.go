package intake

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync/atomic"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Holders holds the accounts of the holders of jobs in queues that limit them, and the reservations of their jobs that
// several cards can satisfy.
type Holders struct {
	Quota        quota.Holders
	Reservations reserve.Reservations

	limits limits

	cells        []cell                // by row of a tally; nil where no queue has a limit
	cellAt       map[string]int        // cells by queue and holders, see appendHoldersText
	jobs         []limitedJob          // of queues with a limit on their path
	byJob        map[api.JobID]int     // positions in jobs
	last         atomic.Int64          // the position of the job that was found last
	inqueue      index.Rows            // by cell with an account: the reservations of its jobs
	waiting      []bool                // by account: any job that requests cards waits for admission
	reservations []reserve.Reservation // of the session that is read

	// Memory for one job.
	holders []quota.Holder
	text    []byte
}

// cell is the group of jobs that one row of a tally counts: all jobs of a queue, or its jobs with the same holders.
type cell struct {
	queue   index.Queue
	account index.Queue // of the holders; None where no queue limits any of them
}

// limitedJob is a job of a queue with a limit on its path.
type limitedJob struct {
	id   api.JobID
	cell int
}

// prepare makes the accounts of the holders of jobs. It also makes a cell for each queue, and one for each queue and
// all limited holders of a job, so that each job is counted once.
func (n *Holders) prepare(jobs []*api.JobInfo, session *Inputs) {
	if n.limits.none() {
		*n = Holders{} // the accounts under the last limits
		return
	}

	members := n.group(jobs, session.tree)
	limited := func(q index.Queue, holder quota.Holder) bool { return n.limits.row(q, holder) >= 0 }
	accounts := n.Quota.Reset(session.tree, session.Dims.length, members, limited)
	for i, account := range accounts {
		n.cells[session.tree.Len()+i].account = account
	}

	for account, place := range n.Quota.Places() {
		limit := n.limits.rows.Row(n.limits.row(place.Queue, place.Holder))
		n.Quota.Accounts.RealCapability.Row(account).CopyFrom(limit)
	}

	n.inqueue.Reset(len(n.cells), session.Dims.length)
	n.reservations = n.reservations[:0]
	n.waiting = append(n.waiting[:0], make([]bool, n.Quota.Accounts.Len())...)
}

// group puts the jobs with limited holders into cells. It returns the members of the cells that follow the cells of all
// queues.
func (n *Holders) group(jobs []*api.JobInfo, tree *index.Tree) (members []quota.HolderJobs) {
	if n.byJob == nil {
		n.cellAt = map[string]int{}
		n.byJob = map[api.JobID]int{}
	}
	clear(n.cellAt)
	clear(n.byJob)
	clear(n.jobs)
	n.jobs = n.jobs[:0]
	n.cells = n.cells[:0]
	for q := range index.Queue(tree.Len()) {
		n.cells = append(n.cells, cell{q, index.None})
	}

	for _, job := range jobs {
		q := tree.Lookup(string(job.Queue))
		if q == index.None || len(n.limits.keys[q]) == 0 {
			continue
		}

		n.holders = n.limits.appendHolders(n.holders[:0], tree.Path(q), job)
		if len(n.holders) == 0 {
			continue
		}

		n.text = appendHoldersText(binary.AppendUvarint(n.text[:0], uint64(q)), n.holders)
		at, known := n.cellAt[string(n.text)]
		if !known {
			at = len(n.cells)
			n.cellAt[string(n.text)] = at
			n.cells = append(n.cells, cell{q, index.None})
			members = append(members, quota.HolderJobs{Queue: q, Holders: slices.Clone(n.holders)})
		}
		n.byJob[job.UID] = len(n.jobs)
		n.jobs = append(n.jobs, limitedJob{job.UID, at})
	}
	return members
}

// appendHoldersText appends a text that is equal for two jobs if and only if they have the same holders.
func appendHoldersText(to []byte, holders []quota.Holder) []byte {
	for _, h := range holders {
		to = append(binary.AppendUvarint(to, uint64(len(h.Key))), h.Key...)
		to = append(binary.AppendUvarint(to, uint64(len(h.Value))), h.Value...)
	}
	return to
}

// cell returns the cell that a row of a tally counts.
func (n *Holders) cell(at int) cell {
	if n.limits.none() {
		return cell{index.Queue(at), index.None}
	}
	return n.cells[at]
}

// cellOf returns the row of a tally that counts a job of q. It is safe for many goroutines.
func (n *Holders) cellOf(q index.Queue, job api.JobID) index.Queue {
	if at, limited := n.find(job); limited {
		return index.Queue(at)
	}
	return q
}

// find returns the cell of a job of a queue with a limit on its path. It is safe for many goroutines.
func (n *Holders) find(job api.JobID) (cell int, limited bool) {
	// Hooks ask about the same job for all of its tasks and nodes.
	if last := int(n.last.Load()); last < len(n.jobs) && n.jobs[last].id == job {
		return n.jobs[last].cell, true
	}

	i, limited := n.byJob[job]
	if !limited {
		return 0, false
	}

	n.last.Store(int64(i))
	return n.jobs[i].cell, true
}

// addReservations adds reservations of queues to the holders of their jobs. A list of cards is assigned within the
// limits of each holder separately.
func (n *Holders) addReservations(all []reserve.Reservation) {
	if n.limits.none() {
		return
	}
	for _, r := range all {
		if account := n.account(r.Job()); account != index.None {
			for _, head := range n.Quota.Accounts.Heads(account) {
				n.reservations = append(n.reservations, r.In(head))
			}
		}
	}
}

// waits notes that a job of a cell that requests cards waits for admission.
func (n *Holders) waits(c cell) {
	if c.account != index.None {
		for _, head := range n.Quota.Accounts.Heads(c.account) {
			n.waiting[head] = true
		}
	}
}

// rollUp adds the accounts of holders in queues to their accounts in the queues above. It adds the reservations of
// holders to inqueue of their queues.
func (n *Holders) rollUp(ix *index.Index, names *index.Names) {
	if n.limits.none() {
		return
	}

	n.Reservations.Begin(n.waiting, names)
	n.Reservations.Add(n.reservations)
	clear(n.reservations) // so that the session can be garbage collected

	n.Quota.Accounts.RollUp()
	quota.RollUpInqueue(&n.Quota.Accounts, func(index.Queue) bool { return true })
	for i, c := range n.cells {
		if c.account != index.None {
			n.Quota.CountInqueue(ix, c.queue, c.account, n.inqueue.Row(index.Queue(i)))
		}
	}
}

// ChangeInqueue adds a reservation of a job of q to the account of its holders. sign is 1, or -1 to take it back.
func (n *Holders) ChangeInqueue(ix *index.Index, q, account index.Queue, job *api.JobInfo, reservation fastres.Vector,
	sign float64) {
	n.Quota.ChangeInqueue(ix, q, account, n.inqueue.Row(n.cellOf(q, job.UID)), reservation, sign)
}

// CardLimits iterates over the limits of an account for cards and groups of cards.
func (n *Holders) CardLimits(names *index.Names, account index.Queue) iter.Seq2[fastres.Dim, float64] {
	return func(yield func(fastres.Dim, float64) bool) {
		limit := n.Quota.Accounts.RealCapability.Row(account)
		for d := range fastres.Dim(min(limit.Len(), names.Len())) {
			bounds := names.IsCard(d) && limit.Get(d) < fastres.MaxQuantity
			if bounds && !yield(d, limit.Get(d)) {
				return
			}
		}
	}
}

// Keys returns the keys that any queue limits, in order.
func (n *Holders) Keys() (all []string) {
	for _, keys := range n.limits.keys {
		for _, key := range keys {
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	slices.SortFunc(all, policy.CompareHolderKeys)
	return all
}

// account returns the account of a job, None where no queue limits one of its holders.
func (n *Holders) account(job api.JobID) index.Queue {
	if at, limited := n.find(job); limited {
		return n.cells[at].account
	}
	return index.None
}

// AccountOf returns the account of the holders of a job. It returns None where no queue limits any of them, and for a
// job that is not in the session. It is safe for many goroutines.
func (s *Inputs) AccountOf(job api.JobID) index.Queue {
	if s.Holders == nil {
		return index.None
	}
	return s.Holders.account(job)
}
