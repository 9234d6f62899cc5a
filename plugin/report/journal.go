package report

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/quota"
)

// Journal holds the last reported reason of each waiting job. The text stays while
// the reason does, whatever other jobs use meanwhile, so that events and pod
// conditions are not written again in every session.
type Journal struct {
	entries map[api.JobID]*entry
	waiting waitingJobs

	dims    []fastres.Dim // memory of one call
	numbers []float64     // memory of one call
	details []string      // memory of one call
}

// entry holds the values by which two reasons are the same, the text, and what the
// job counts as.
type entry struct {
	reason    quota.Reason
	admission bool   // the job is not admitted, as opposed to its pods
	where     string // the queue that refuses, or why it does not reach the root
	exceeded  []fastres.Dim
	cards     string // that are refused
	holder    quota.Holder
	numbers   []float64 // requests, and the quotas of cards
	details   []string  // of budgets of cards

	text    string
	since   metav1.Time // when the job began to wait for admission
	cause   cause
	counted uint64 // session in which the job was last counted
	waiting *waitingCount
}

// NewJournal returns an empty Journal.
func NewJournal() *Journal {
	return &Journal{entries: map[api.JobID]*entry{}, waiting: waitingJobs{by: map[cause]*waitingCount{}}}
}

// Len is the number of jobs that have a reason.
func (j *Journal) Len() int { return len(j.entries) }

// Refuse sets the reason of a waiting job, which Volcano copies to the conditions
// of its pods, and the condition of a job that is not admitted. It reports whether
// the reason is new.
func (j *Journal) Refuse(e *Explainer, job *api.JobInfo, r *constraint.Refusal) (isNew bool) {
	where := string(job.Queue)
	switch q := r.Verdict.Queue; {
	case r.Verdict.Reason == quota.BrokenQueue:
		where = e.Index.Broken(q).Error()
	case q != index.None:
		where = e.Index.Name(q)
	}
	j.dims = appendDims(j.dims[:0], r)
	j.numbers = e.appendNumbers(j.numbers[:0], r)
	j.details = appendDetails(j.details[:0], r)
	cards := e.Cards.Describe(r.Cards)
	last := j.entries[job.UID]
	if last == nil || last.reason != r.Verdict.Reason || last.admission != r.Admission || last.where != where || last.cards != cards ||
		last.holder != holderOf(r) || !slices.Equal(last.exceeded, j.dims) || !slices.Equal(last.numbers, j.numbers) ||
		!slices.Equal(last.details, j.details) {
		reason := e.Explain(r)
		next := &entry{reason: r.Verdict.Reason, admission: r.Admission, where: where, exceeded: slices.Clone(j.dims), cards: cards,
			holder: holderOf(r), numbers: slices.Clone(j.numbers), details: slices.Clone(j.details), text: reason.String(),
			cause: e.cause(string(job.Queue), r, reason)}
		if last != nil && last.admission {
			next.since = last.since
		} else {
			next.since = waitsSince(job, metav1.Now())
		}
		j.entries[job.UID], last = next, next
		isNew = true
	}
	j.show(job, last)
	return isNew
}

// show sets the reason and the condition of a job that waits.
func (j *Journal) show(job *api.JobInfo, last *entry) {
	job.JobFitErrors = last.text
	switch {
	case !last.admission:
	case job.ReadyTaskNum() >= job.MinAvailable:
		// It has its minimum, as after a restart: Volcano sets it Running when the session closes.
		setAdmitted(job, metav1.Now())
	default:
		setNotAdmitted(job, last.since, last.text)
	}
	if last.admission || !job.IsReady() {
		j.waiting.count(last)
	}
}

// Admit drops the reason of a job that is admitted. It returns how long the job
// waited: 0 for one that was never refused.
func (j *Journal) Admit(job *api.JobInfo) time.Duration {
	now := metav1.Now()
	since := waitsSince(job, now)
	if last := j.entries[job.UID]; last != nil && last.admission {
		since = last.since
	}
	delete(j.entries, job.UID)
	setAdmitted(job, now)
	return max(0, now.Sub(since.Time))
}

// Displace sets the reason of a job that is not admitted any more, until the next session asks
// about it.
func (j *Journal) Displace(job *api.JobInfo, reason string) {
	job.JobFitErrors = reason
	setNotAdmitted(job, metav1.Now(), reason)
}

// PublishWaiting sets the series of the jobs that wait, at the end of a session.
func (j *Journal) PublishWaiting() { j.waiting.publish() }

// appendDims appends the dimensions in which a refused request does not fit. A request for cards has none,
// nor has one that a namespace may not have.
func appendDims(dims []fastres.Dim, r *constraint.Refusal) []fastres.Dim {
	switch r.Verdict.Reason {
	case quota.OverQuota, quota.OverDeserved, quota.Reserved:
		if !r.OfCards() {
			for _, f := range r.Shortfalls {
				dims = append(dims, f.Dim)
			}
		}
	}
	return dims
}

// appendNumbers appends the quantities that make a refusal another one: requests, the cause of each card of a
// list, the bounds that annotations set, and the quotas of cards in the queue and its ancestors, any of which
// can refuse a card of a list. What a queue uses does not, nor does a bound that changes with the nodes.
func (e *Explainer) appendNumbers(numbers []float64, r *constraint.Refusal) []float64 {
	list := r.OfList()
	for _, f := range r.Shortfalls {
		switch {
		case list:
			numbers = append(numbers, float64(f.Reason), float64(f.Queue))
		case !r.OfCards() || f.Reason.OfHolder():
			numbers = append(numbers, f.Quantity)
		}
		switch {
		case f.Reason.OfHolder(), f.Against == constraint.MaxJobs, f.Against == constraint.Overcommit && !r.OfCards():
			numbers = append(numbers, f.Bound)
		case f.Against == constraint.CardBudget:
			numbers = append(numbers, f.Bound, float64(f.Until.Unix()))
		}
	}
	if !r.OfCards() || r.Verdict.Reason.OfHolder() {
		return numbers
	}
	numbers = append(numbers, float64(r.Cards.Amount))
	for _, q := range e.Index.Path(r.Verdict.Queue) {
		for _, d := range r.Cards.Selector.Dims {
			numbers = append(numbers, e.Index.Capability.At(q, d))
			if r.Admission && quota.Overcommits(e.Index, q, d) {
				numbers = append(numbers, e.Index.Admission.At(q, d))
			}
			for _, share := range e.Names.Groups(d) {
				numbers = append(numbers, e.Index.Capability.At(q, share.Group))
			}
		}
	}
	return numbers
}

// appendDetails appends what budgets of cards say beside numbers.
func appendDetails(details []string, r *constraint.Refusal) []string {
	for _, f := range r.Shortfalls {
		if f.Against == constraint.CardBudget {
			details = append(details, f.Detail)
		}
	}
	return details
}

// devicesExceeded is upstream's word for a quota of devices, of whatever class.
const devicesExceeded = "dra-resource-exceeded"

// Event returns the event of the last refusal of a job. The drop-ins keep
// upstream's type, reason and opening words, which programs may match.
func (j *Journal) Event(e *Explainer, job *api.JobInfo, dropIn bool) record.PodGroupEvent {
	last := j.entries[job.UID]
	reason := string(scheduling.PodGroupUnschedulableType)
	if !dropIn {
		return record.PodGroupEvent{Type: v1.EventTypeWarning, Reason: reason, Message: last.text}
	}
	var names []string
	for _, d := range last.exceeded {
		name := e.Names.Name(d)
		if _, device := e.Names.Class(d); device {
			name = devicesExceeded
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if last.cards != "" {
		names = append(names, last.cards)
	}
	opening := util.FormatResourceNames("queue resource quota insufficient", "insufficient", names)
	return record.PodGroupEvent{Type: v1.EventTypeNormal, Reason: reason, Message: opening + "; " + last.text}
}

// Open begins a session with these jobs: it drops the reasons of jobs that are gone.
func (j *Journal) Open(jobs map[api.JobID]*api.JobInfo) {
	j.waiting.session++
	for id := range j.entries {
		if _, ok := jobs[id]; !ok {
			delete(j.entries, id)
		}
	}
}

// RenewNames converts dimensions when the names start anew. renew returns the new
// dimension of an old one.
func (j *Journal) RenewNames(renew func(fastres.Dim) fastres.Dim) {
	for _, entry := range j.entries {
		for i, d := range entry.exceeded {
			entry.exceeded[i] = renew(d)
		}
		slices.Sort(entry.exceeded)
	}
}
