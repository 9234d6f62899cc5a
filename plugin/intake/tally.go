package intake

import (
	"runtime"
	"slices"
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// tally is the accounts of a part of the jobs, not yet rolled up. They are by cell: by queue, or
// by queue and holders where holders are limited.
type tally struct {
	reader  reader
	session *Session
	tree    *index.Tree
	cards   *cards.Session // nil where cards count nowhere
	holders *Holders

	allocated, request, inqueue, elastic, terminating index.Rows
	jobs                                              []int
	admitted                                          []int  // nil where no queue bounds its jobs
	waiting                                           []bool // some job that requests cards waits for admission

	// Of the job that is counted.
	min, placed, excess, gated fastres.Vector
	job                        reserve.Job
	demands                    []assign.Demand

	timeouts []time.Duration // by queue; nil where jobs may be Inqueue for any time
	now      time.Time
	timed    []Timed

	announced []*api.JobInfo

	devices     bool // some queue has a quota of devices
	deviceUsers []deviceUser
	sharing     []deviceUser // whose pods share claims of cards
	lists       []List

	reservations []reserve.Reservation
	newPods      []cards.NewPod
	visited      int            // tasks whose cards were read
	onNodes      []*api.JobInfo // those with cards on nodes
}

// reset makes accounts for n cells.
func (t *tally) reset(session *Session, holders *Holders, n int) {
	t.holders = holders
	t.reader = reader{dims: &session.Dims}
	t.session = session
	t.tree = session.tree
	t.cards = session.cards
	t.job.Gates = session.settings.Gates
	clear(t.timed)
	t.timeouts = session.timeouts
	t.now = session.now
	t.timed = t.timed[:0]
	clear(t.announced)
	t.announced = t.announced[:0]
	clear(t.deviceUsers)
	t.devices, t.deviceUsers = session.devices, t.deviceUsers[:0]
	clear(t.sharing)
	t.sharing = t.sharing[:0]
	t.lists = t.lists[:0]
	clear(t.reservations)
	clear(t.newPods)
	clear(t.onNodes)
	t.onNodes = t.onNodes[:0]
	t.reservations = t.reservations[:0]
	t.newPods = t.newPods[:0]
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

// readJobs adds what the jobs use, request and have reserved to the accounts of
// their queues. It returns the names that have no dimension.
func (s *State) readJobs(ix *index.Index, session *Session, reservations *reserve.Reservations) (missing []string) {
	jobs := s.jobs
	s.holders.prepare(jobs, session)
	tallies := s.newTallies(session, len(jobs))
	s.crew.share(len(tallies), len(jobs), func(worker, from, to int) { tallies[worker].countAll(jobs[from:to]) })
	reservations.Begin(s.waitingQueues(tallies, session.tree.Len()), session.Dims.names)
	s.orphans.keep(tallies)
	visited := 0
	session.Timed, session.Announced = nil, nil
	s.deviceUsers = s.deviceUsers[:0]
	s.lists = s.lists[:0]
	session.sharing = nil
	for i := range tallies {
		t := &tallies[i]
		t.addTo(ix, session)
		reservations.Add(t.reservations)
		s.holders.addReservations(t.reservations)
		if session.cards != nil {
			session.cards.AddPods(t.newPods)
		}
		s.deviceUsers, s.lists = append(s.deviceUsers, t.deviceUsers...), append(s.lists, t.lists...)
		session.sharing = append(session.sharing, t.sharing...)
		session.Timed = append(session.Timed, t.timed...)
		session.Announced = append(session.Announced, t.announced...)
		clear(t.timed) // so that the session can be garbage collected
		clear(t.announced)
		clear(t.onNodes)
		visited += t.visited
		missing = append(missing, t.reader.missing...)
		t.reader, t.session = reader{}, nil // so that the session can be garbage collected
	}
	if session.cards != nil {
		session.cards.Visited(visited + s.stock.visited)
	}
	session.addDeviceClaims(s.deviceUsers)
	session.Lists = s.lists
	return missing
}

// waitingQueues returns the queues with jobs that request cards and wait for admission.
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

// newTallies returns an empty tally for each processor. The costs of a tally are those of its cells, so there is no more
// than one for half as many jobs.
func (s *State) newTallies(session *Session, jobs int) []tally {
	cells := max(session.tree.Len(), len(s.holders.cells))
	n := min(runtime.GOMAXPROCS(0), 1+jobs/max(chunk, cells/2))
	for len(s.tallies) < n {
		s.tallies = append(s.tallies, tally{})
	}
	for i := range n {
		s.tallies[i].reset(session, &s.holders, cells)
	}
	return s.tallies[:n]
}

// addTo adds a tally to the index, and its numbers of jobs to a session.
func (t *tally) addTo(ix *index.Index, session *Session) {
	for i, n := range t.jobs {
		if n == 0 {
			continue
		}
		at, c := index.Queue(i), t.holders.cell(i)
		session.Jobs[c.queue] += n
		if t.admitted != nil {
			session.Admitted[c.queue] += t.admitted[at]
		}
		t.addRows(ix, c.queue, at, c.account == index.None)
		if c.account != index.None {
			t.holders.inqueue.Row(at).Add(t.inqueue.Row(at)) // counts in the queue as far as the limits have room
			// Of a queue that is not open, nothing is reserved, as nothing is in the queues above
			// (quota.RollUpInqueue).
			accounts := &t.holders.Quota.Accounts
			for _, head := range accounts.Heads(c.account) {
				t.addRows(accounts, head, at, t.session.Open(c.queue))
			}
			if accounts.IsJoint(c.account) {
				t.addRows(accounts, c.account, at, false) // inqueue is that of each holder
			}
		}
	}
}

// addRows adds one cell to an account, with what is reserved or without.
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

// countAll counts some jobs. A job whose queue does not exist counts nowhere.
func (t *tally) countAll(jobs []*api.JobInfo) {
	for _, job := range jobs {
		if q := t.tree.Lookup(string(job.Queue)); q != index.None {
			t.count(q, t.holders.cellOf(q, job.UID), job)
		}
	}
}

// count adds one job of q to the accounts of the cell at:
//
//	request = allocated + pending
//	elastic = max(0, allocated − min)
//	inqueue = max(0, min − allocated − gated), of an admitted job
//
// Volcano keeps the sums over a job's tasks, so count visits tasks only where some
// are neither allocated nor pending, and where gates or cards matter.
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func (t *tally) count(q, at index.Queue, job *api.JobInfo) {
	allocated, pending := CountTasks(job)
	reserved := t.hasReservation(q, job, allocated)
	reserves := reserved && HasMinimum(job)
	t.jobs[at]++
	if t.admitted != nil && InProgress(job) {
		t.admitted[at]++
	}
	if t.devices {
		t.findDeviceClaims(q, job)
	}
	counted := t.cards.Counted(q)
	if counted {
		t.countCards(q, at, job, reserved)
	}
	if allocated == 0 && pending == len(job.Tasks) {
		t.reader.add(t.request.Row(at), job.TotalRequest)
		if counted {
			t.job.ExemptPending(t.request.Row(at))
		}
		if !reserves {
			return
		}
	}
	t.reader.setMinimum(t.min, job)
	if counted {
		t.job.ExemptMinimum(t.cards, t.min)
	}
	t.placed.Reset()
	if allocated > 0 {
		t.reader.add(t.placed, job.Allocated)
		if counted {
			t.job.ExemptAllocated(t.placed)
		}
		t.allocated.Row(at).Add(t.placed)
		t.request.Row(at).Add(t.placed)
		t.excess.SetExceeded(t.placed, t.min)
		t.elastic.Row(at).Add(t.excess)
	}
	if pending < len(job.Tasks) {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			t.reader.add(t.request.Row(at), task.Resreq)
		}
		if counted {
			t.job.ExemptPending(t.request.Row(at))
		}
	}
	if reserves {
		t.gated.Reset()
		if !counted || t.job.HasGates() {
			t.reader.setGated(t.gated, t.job.Gates, job, allocated)
		}
		if counted {
			t.job.ExemptGated(t.gated)
		}
		quota.Reservation(t.excess, t.min, t.placed, t.gated)
		t.inqueue.Row(at).Add(t.excess)
	}
}

// findDeviceClaims finds the tasks of a job that have resource claims.
func (t *tally) findDeviceClaims(q index.Queue, job *api.JobInfo) {
	for _, task := range job.Tasks {
		if release.HasDeviceClaims(task) {
			t.deviceUsers = append(t.deviceUsers, deviceUser{q, task})
		}
	}
}

// countCards adds the cards of one job to the accounts of its queue. reserved: what the job
// lacks of its minimum is reserved.
func (t *tally) countCards(q, at index.Queue, job *api.JobInfo, reserved bool) {
	t.job.Read(t.cards, job, t.cards.CollectingReader(&t.newPods))
	t.visited += len(job.Tasks)
	for _, task := range t.job.Sharing() {
		t.sharing = append(t.sharing, deviceUser{q, task})
	}
	if !t.job.HasCards() {
		return
	}
	if t.session.budgeted != nil && t.session.budgeted[q] && announces(job, t.job.Tasks()) {
		t.announced = append(t.announced, job)
	}
	if t.job.Placed() {
		t.onNodes = append(t.onNodes, job)
	}
	t.job.AddAllocated(t.cards, t.allocated.Row(at))
	t.job.AddAllocated(t.cards, t.request.Row(at))
	for _, x := range []fastres.Vector{t.allocated.Row(at), t.request.Row(at), t.terminating.Row(at)} {
		t.job.AddTerminating(t.cards, x)
	}
	t.job.AddPending(t.cards, t.request.Row(at))
	if t.session.settings.FairShare.On {
		for _, list := range t.job.Lists() {
			t.lists = append(t.lists, List{q, list})
		}
	}
	t.job.AddElastic(t.cards, t.elastic.Row(at))
	if !reserved {
		t.waiting[at] = t.waiting[at] || job.IsPending()
		return
	}
	inqueue := t.inqueue.Row(at)
	t.demands = t.job.AppendReservation(t.demands[:0], t.cards, q)
	before := len(t.reservations)
	t.reservations = reserve.Split(t.reservations, job, t.demands, func(d fastres.Dim, milli float64) {
		t.cards.Add(inqueue, d, card.Milli(milli))
	})
	if !t.session.Open(q) {
		t.reservations = t.reservations[:before] // they keep nothing from other queues
	}
}

// CountTasks returns how many tasks of a job have a status that
// api.AllocatedStatus counts, and how many are pending. Most jobs have all their
// tasks in one status.
func CountTasks(job *api.JobInfo) (allocated, pending int) {
	tasks := job.TaskStatusIndex
	running := len(tasks[api.Running])
	if running == len(job.Tasks) {
		return running, 0
	}
	pending = len(tasks[api.Pending])
	if pending == len(job.Tasks) {
		return 0, pending
	}
	return running + len(tasks[api.Bound]) + len(tasks[api.Binding]) + len(tasks[api.Allocated]), pending
}

// HasMinimum reports whether a job states minimum resources.
func HasMinimum(job *api.JobInfo) bool {
	return job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil
}

// announces reports whether a job or one of its pods may announce a length.
func announces(job *api.JobInfo, tasks []*api.TaskInfo) bool {
	if job.PodGroup != nil && job.PodGroup.Annotations[policy.ExpectedRuntimeKey] != "" {
		return true
	}
	return slices.ContainsFunc(tasks, func(task *api.TaskInfo) bool {
		return task.Pod.Spec.ActiveDeadlineSeconds != nil || task.Pod.Annotations[policy.ExpectedRuntimeKey] != ""
	})
}

// InProgress reports whether a job is admitted and has not ended: it is Inqueue or Running, or
// Unknown, which means that some of its pods run and others have no node.
func InProgress(job *api.JobInfo) bool {
	if job.PodGroup == nil {
		return false
	}
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue, scheduling.PodGroupRunning, scheduling.PodGroupUnknown:
		return true
	}
	return false
}

// admitted reports whether the rest of a job's minimum is reserved: the job is
// Inqueue, or Running with at least minMember allocated tasks. A job that ran and
// lost tasks for good, such as a Spark job without its driver, reserves nothing.
func admitted(job *api.JobInfo, allocated int) bool {
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return allocated >= int(job.PodGroup.Spec.MinMember)
	}
	return false
}
