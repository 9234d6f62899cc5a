package fairness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// The word nodes= of the annotation volcano.sh/order. Order alone gives no nodes to a large job: small jobs
// take every card that is free for a moment. So a job that has waited long enough holds its cards:
// pods of other jobs get them only within what their queues deserve.

// holds are the cards that jobs hold, from one session to the next.
type holds struct {
	byCard map[string]holding
	ended  map[api.JobID]time.Time // when the last hold of a job ended: its wait begins again
}

type holding struct {
	job   api.JobID
	until time.Time
}

// cardHolds is the rule of a session in which jobs hold cards.
type cardHolds struct {
	session *constraint.Session
	held    []heldCard
}

type heldCard struct {
	dim fastres.Dim
	by  *waiting
}

// waiting is a job that lacks nothing but nodes.
type waiting struct {
	job   *api.JobInfo
	queue index.Queue
	needs fastres.Vector // for its minimum
	since time.Time
}

// OpenHold ends and begins holds, and returns their rule, nil where no job holds a card. It is called
// after the other constraints, which decide whether a job lacks nothing but nodes.
func OpenHold(s *constraint.Session, m *Memory) *constraint.Hooks {
	if m.history == nil || !s.Intake.HasPolicies() {
		m.holds = holds{}
		return nil
	}

	h := &cardHolds{session: s}
	jobs := h.waiting(m.holds.ended)
	m.holds.expire(s, jobs)

	next := map[string]holding{}
	for c, d := range m.dims {
		card := m.columns[c].Name
		if !m.columns[c].Card {
			continue
		}

		by := h.holder(jobs, d, m.holds.byCard[card])
		if by == nil {
			continue
		}

		next[card] = m.holds.byCard[card]
		if next[card].job != by.job.UID {
			next[card] = holding{by.job.UID, s.Now.Add(h.limit(by.queue))}
		}
		h.held = append(h.held, heldCard{d, by})
	}

	m.holds.byCard = next
	if len(h.held) == 0 {
		return nil
	}
	return h.hooks()
}

// hooks returns the hooks of cards that a job holds.
func (h *cardHolds) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // a promise places no pod
		Hold:          nil, // for the same reason
		FitCard:       h.fitCard,
		FitOwn:        h.fitCard, // no eviction makes room under a hold
		Lacks:         nil,       // for the same reason
		MayTake:       nil,       // FitOwn decides
		Charge:        nil,       // a hold is no account
		Charged:       nil,       // for the same reason
		CompareQueues: nil,       // a hold follows the order and changes nothing
		Measure:       h.measure,
	}
}

// expire ends the holds that have lasted for their time, and the holds of jobs that do not wait any more.
func (m *holds) expire(s *constraint.Session, jobs []*waiting) {
	maps.DeleteFunc(m.ended, func(id api.JobID, _ time.Time) bool { return s.Volcano.Jobs[id] == nil })
	for card, x := range m.byCard {
		at := slices.IndexFunc(jobs, func(w *waiting) bool { return w.job.UID == x.job })
		if at >= 0 && s.Now.Before(x.until) {
			continue
		}

		if at >= 0 {
			jobs[at].since = s.Now
		}

		if m.ended == nil {
			m.ended = map[api.JobID]time.Time{}
		}
		m.ended[x.job] = s.Now
		delete(m.byCard, card)
	}
}

// limit is how long a job of a queue waits until it holds cards, and how long it holds them.
func (h *cardHolds) limit(q index.Queue) time.Duration {
	return h.session.Intake.Policies(q).FairShareHold()
}

// waiting returns the admitted jobs of queues with the annotation that lack nothing but nodes, the one
// that waits for the longest time first.
func (h *cardHolds) waiting(ended map[api.JobID]time.Time) (jobs []*waiting) {
	s := h.session

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || h.limit(q) == 0 || !s.Intake.Eligible(q).OK() {
			continue
		}
		if job.PodGroup == nil || job.PodGroup.Status.Phase == scheduling.PodGroupPending {
			continue
		}

		if w := h.needsOf(q, job); w != nil {
			if at := ended[job.UID]; at.After(w.since) {
				w.since = at
			}
			jobs = append(jobs, w)
		}
	}

	slices.SortFunc(jobs, func(x, y *waiting) int {
		return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.job.UID, y.job.UID))
	})
	return jobs
}

// needsOf returns the requests that a job lacks to its minimum. It is nil if the job has its minimum, or if a quota
// refuses them.
func (h *cardHolds) needsOf(q index.Queue, job *api.JobInfo) *waiting {
	s := h.session
	tasks := constraint.Lacking(job, func(x, y *api.TaskInfo) int { return cmp.Compare(x.UID, y.UID) })
	if tasks == nil {
		return nil
	}

	w := &waiting{job: job, queue: q, needs: fastres.NewVector(s.Intake.Dims.Length())}
	one := fastres.NewVector(w.needs.Len())
	complete := true
	for _, task := range tasks {
		pod, known := s.Intake.SetTask(one, q, task)
		w.needs.Add(one)
		complete = complete && known

		if !h.addCards(w.needs, pod) {
			return nil
		}

		if created := task.Pod.CreationTimestamp.Time; created.After(w.since) {
			w.since = created
		}
	}

	a := constraint.Ask{Task: tasks[0], Queue: q, Request: w.needs, Complete: complete}
	if !s.Fits(&s.Books.Now, &a).OK() {
		return nil
	}
	return w
}

// addCards adds the cards of a pod to the cards that a job needs, and reports whether the nodes have as many.
func (h *cardHolds) addCards(needs fastres.Vector, pod *cards.PodRequest) bool {
	if pod.None() {
		return true
	}

	for r := range h.session.Cards.Requests(pod) {
		d, exists := h.cardOfList(r.Selector.Dims, needs, float64(r.Amount))
		if !exists {
			return false
		}
		h.session.Names.AddCard(needs, d, float64(r.Of(d)))
	}
	return true
}

// cardOfList returns the first card of a list that the nodes have enough of for a job.
func (h *cardHolds) cardOfList(list []fastres.Dim, needs fastres.Vector, amount float64) (fastres.Dim, bool) {
	for _, d := range list {
		if needs.Get(d)+amount <= h.session.Intake.Total.Get(d) {
			return d, true
		}
	}
	return 0, false
}

// holder returns the job that holds a card: the one that did before, or else the first in the order of
// queues that has waited long enough, nil for none.
func (h *cardHolds) holder(jobs []*waiting, d fastres.Dim, before holding) *waiting {
	for _, w := range jobs {
		if w.job.UID == before.job && w.needs.Get(d) > 0 {
			return w
		}
	}

	for _, w := range jobs {
		if w.needs.Get(d) > 0 && h.session.Now.Sub(w.since) >= h.limit(w.queue) && h.isFirst(w.queue, d) {
			return w
		}
	}
	return nil
}

// isFirst reports whether no queue that waits for a card goes before q.
func (h *cardHolds) isFirst(q index.Queue, d fastres.Dim) bool {
	s := h.session
	ix := s.Index
	for r := range index.Queue(ix.Len()) {
		if r == q || !s.Intake.Eligible(r).OK() || ix.Request.At(r, d) <= ix.AllocatedAt(r, d) {
			continue
		}

		switch rp, qp := s.Intake.Queues[r].Queue.Spec.Priority, s.Intake.Queues[q].Queue.Spec.Priority; {
		case rp > qp, rp == qp && s.OrderQueues(r, q) < 0:
			return false
		}
	}
	return true
}

// fitCard refuses what would be borrowed of a card that another job holds. A pod with an earmark gets the cards of its
// victims.
func (h *cardHolds) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	if h.holderBefore(b, a.Task, a.Queue, d, milli) != nil {
		return quota.Verdict{Reason: quota.HeldForFairShare, Queue: a.Queue}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// holderBefore returns the job that holds a quantity of a card which q would borrow for a task, nil for none.
func (h *cardHolds) holderBefore(b *quota.Books, task *api.TaskInfo, q index.Queue, d fastres.Dim,
	milli float64) *waiting {

	for _, x := range h.held {
		if x.dim == d && (task == nil || task.Job != x.by.job.UID && !h.session.Books.Waits(task)) &&
			b.Queues.AllocatedAt(q, d)+milli > h.session.Index.Deserved.At(q, d) {
			return x.by
		}
	}
	return nil
}

// measure names the job that holds the card.
func (h *cardHolds) measure(r *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	if r.Admission {
		return constraint.Shortfall{}
	}

	q := r.Path()[0]
	w := h.holderBefore(r.Books, r.Task, q, d, milli)
	if w == nil {
		return constraint.Shortfall{}
	}

	return constraint.Shortfall{
		Verdict: quota.Verdict{Reason: quota.HeldForFairShare, Queue: q},
		Detail:  fmt.Sprintf("job <%s/%s> of queue <%s>", w.job.Namespace, w.job.Name, h.session.Index.Name(w.queue)),
	}
}

// HolderOf returns the job that holds a card in the session that was opened last, "" for none.
func (m *Memory) HolderOf(card string) api.JobID { return m.holds.byCard[card].job }
