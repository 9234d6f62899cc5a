// Package gates keeps room for pods after their queue allocation gate is removed, until they have a node
// (quota.Reserve).
package gates

import (
	"cmp"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule keeps the reservations of a session.
type Rule struct {
	session *constraint.Session
	active  int // pods with a reservation
	pods    map[api.TaskID]reservation
	rows    fastres.Rows // what was reserved last for each pod
}

// reservation is the reservation of one pod. It is kept when it is released, for its row.
type reservation struct {
	queue  index.Queue
	row    int
	active bool
}

// Open returns the rule of a session in which Volcano removes queue allocation gates.
func Open(s *constraint.Session) *Rule {
	r := &Rule{session: s, pods: map[api.TaskID]reservation{}}
	r.rows.Reset(0, s.Intake.Dims.Length())
	return r
}

// Hooks returns the hooks of queue allocation gates.
func (r *Rule) Hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil,       // the reservation is a part of the job's minimum, which inqueue has
		Hold:          nil,       // a gate is removed after admission
		Withdraw:      nil,       // from the next session on, Begin reserves nothing for the job
		FitCard:       r.fitCard, // another card of a list, as far as it is not reserved
		FitOwn:        nil,       // a reservation lasts until its pod has a node, and FitCard refuses the victims
		Lacks:         r.lacks,   // the room of a victim counts after the reservations
		MayTake:       nil,       // FitCard decides with the victims gone
		Charge:        nil,       // a pod keeps its reservation in a simulation, which refuses rather than admits
		Charged:       r.charged,
		Refunded:      r.refunded,
		CompareQueues: nil, // reservations are no part of share
		Measure:       r.measure,
	}
}

// Begin reserves the requests of pods that wait for a node without their gate. All features are active then, because a
// reservation asks them for the card.
func (r *Rule) Begin() {
	s := r.session
	type pod struct {
		task    *api.TaskInfo
		choices int
	}

	var pods []pod
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || !r.keepsRoom(q, job) {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if task.SchGated || !reserve.OptedIn(task) {
				continue
			}

			p := pod{task: task}
			for request := range s.Cards.Requests(s.Cards.PodRequest(q, task.Pod)) {
				p.choices = max(p.choices, len(request.Selector.Dims))
			}
			pods = append(pods, p)
		}
	}

	// Pods with the fewest cards to choose from go first, so that a longer list takes what these leave.
	slices.SortFunc(pods, func(x, y pod) int {
		return cmp.Or(
			cmp.Compare(x.choices, y.choices),
			x.task.Pod.CreationTimestamp.Compare(y.task.Pod.CreationTimestamp.Time),
			cmp.Compare(x.task.UID, y.task.UID))
	})
	for _, p := range pods {
		r.reserve(s.QueueOf(p.task), p.task)
	}
}

// keepsRoom reports whether pods of a job reserve room. They do not after the job has lost its promise: another job of
// the queue has displaced it, or it was Inqueue for too long. Others are admitted in its place, and need the room.
func (r *Rule) keepsRoom(q index.Queue, job *api.JobInfo) bool {
	if job == nil || job.PodGroup == nil {
		return true
	}

	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupPending:
		return !r.session.Intake.Policies(q).Displaces()
	case scheduling.PodGroupInqueue:
		return r.session.Intake.HasReservation(q, job)
	}
	return true
}

// Allocatable reserves the request of a task if allocate may remove its gate.
func (r *Rule) Allocatable(q index.Queue, task *api.TaskInfo) {
	if reserve.OptedIn(task) && r.keepsRoom(q, r.session.Volcano.Jobs[task.Job]) {
		r.reserve(q, task)
	}
}

// reserve reserves the request of a task, unless it is reserved already.
func (r *Rule) reserve(q index.Queue, task *api.TaskInfo) {
	if r.Has(task.UID) || q == index.None {
		return
	}

	s := r.session
	frame := s.Frames.Open()
	defer frame.Close()

	a := s.Ask(q, task, frame.Vector())
	for request := range s.Cards.Requests(a.Pod) {
		if len(request.Selector.Dims) > 0 {
			d := r.cardFor(a, request)
			s.Names.AddCard(a.Request, d, float64(request.Of(d)))
		}
	}

	s.Index.NoteOwnJobs(q)
	quota.Reserve(s.Index, q, a.Request)

	kept, again := r.pods[task.UID]
	if !again {
		kept.row = r.rows.Append(a.Request)
	}
	r.rows.Row(kept.row).CopyFrom(a.Request)
	r.pods[task.UID] = reservation{queue: q, row: kept.row, active: true}
	r.active++

	s.Index.Check()
}

// cardFor returns the first card of a list with room in the queue, or else the first one.
//
// An exact assignment would search at each call of Allocatable. The card is only where the room is kept: the node
// decides which card the pod is charged for.
func (r *Rule) cardFor(a constraint.Ask, request cards.Request) fastres.Dim {
	for _, d := range request.Selector.Dims {
		if r.session.FitsCard(&r.session.Books.Now, &a, d, float64(request.Of(d))).OK() {
			return d
		}
	}
	return request.Selector.Dims[0]
}

// charged releases the reservation of a task that gets a node.
func (r *Rule) charged(a constraint.Ask) {
	kept, known := r.pods[a.Task.UID]
	if !known || !kept.active {
		return
	}

	quota.Unreserve(r.session.Index, kept.queue, r.rows.Row(kept.row))
	kept.active = false
	r.pods[a.Task.UID] = kept
	r.active--
	r.session.Index.Check()
}

// refunded reserves again the request of a task that loses the node it got in this session.
//
// DIVERGES: upstream does so for pods that are evicted, too. Then the preemptor cannot get their cards.
func (r *Rule) refunded(a constraint.Ask) {
	if a.Task.Status == api.Pending && reserve.OptedIn(a.Task) {
		r.reserve(a.Queue, a.Task)
	}
}

// fitCard compares with the present reservations, also in drafts and simulations. It lets a task with a reservation
// have another card of its list, as far as that is not reserved.
func (r *Rule) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	if r.active == 0 {
		return constraint.Admitted(a.Queue)
	}
	limit := r.session.LimitOf(a.Queue)
	return quota.FitsBeside(r.session.Index, b.Queues, limit, a.Queue, d, r.beyondOwn(a.Task, d, milli))
}

// beyondOwn returns the part of a quantity that is not reserved for the task itself.
func (r *Rule) beyondOwn(task *api.TaskInfo, d fastres.Dim, milli float64) float64 {
	if task == nil {
		return milli
	}
	if kept := r.pods[task.UID]; kept.active {
		milli -= r.rows.At(kept.row, d)
	}
	return milli
}

// measure compares as fitCard does.
func (r *Rule) measure(refusal *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	s := r.session
	milli = r.beyondOwn(refusal.Task, d, milli)
	if refusal.Admission || r.active == 0 || milli <= 0 {
		return constraint.Shortfall{}
	}

	limit := s.LimitOf(refusal.Queue)
	return s.Exceeded(refusal, quota.Reserved, d, func(q index.Queue) (quota.Numbers, constraint.Against) {
		return quota.BesideNumbers(s.Index, refusal.Books.Queues, limit, q, d, milli), constraint.Capability
	})
}

// lacks reports whether a queue that has both tasks has too little room with its reservations.
func (r *Rule) lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo,
	d fastres.Dim, milli float64) bool {
	milli = r.beyondOwn(a.Task, d, milli)
	if r.active == 0 || milli <= 0 {
		return false
	}

	ix := r.session.Index
	limit := r.session.LimitOf(a.Queue)
	return slices.ContainsFunc(quota.Common(ix, a.Queue, q), func(p index.Queue) bool {
		return quota.BesideNumbers(ix, b.Queues, limit, p, d, milli).Exceeded()
	})
}

// Len returns the number of pods with a reservation. It is for nil rules, too.
func (r *Rule) Len() int {
	if r == nil {
		return 0
	}
	return r.active
}

// Has reports whether something is reserved for a pod. It is for nil rules, too.
func (r *Rule) Has(pod api.TaskID) bool { return r != nil && r.pods[pod].active }
