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
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/quota"
)

// Journal holds the last reported reason of each waiting job. The text stays the same while the reason does, even if
// the usage of other jobs changes. So events and pod conditions are not written again in every session.
type Journal struct {
	entries map[api.JobID]*entry
	waiting waitingJobs
	now     refusal // memory of one call
}

// refusal holds the values by which two reasons are the same.
type refusal struct {
	reason    quota.Reason
	admission bool   // of the job, as opposed to its pods
	where     string // the queue that refuses, or why it does not reach the root
	cards     string // the refused cards
	holder    quota.Holder
	exceeded  []fastres.Dim
	numbers   []float64 // requests, the quotas of cards, and times
	detail    string    // such as the job that goes first
}

func (r *refusal) equal(other *refusal) bool {
	return r.reason == other.reason &&
		r.admission == other.admission &&
		r.where == other.where &&
		r.cards == other.cards &&
		r.holder == other.holder &&
		slices.Equal(r.exceeded, other.exceeded) &&
		slices.Equal(r.numbers, other.numbers) &&
		r.detail == other.detail
}

// clone returns a copy that shares no memory.
func (r *refusal) clone() refusal {
	copied := *r
	copied.exceeded = slices.Clone(r.exceeded)
	copied.numbers = slices.Clone(r.numbers)
	return copied
}

// entry is the last refusal of a job, its text, and the count in which the job waits.
type entry struct {
	refusal

	text    string
	json    string      // the reason, for the annotation of the PodGroup
	since   metav1.Time // when the job began to wait for admission
	cause   cause
	counted uint64 // session in which the job was last counted
	passed  uint64 // session in which the quotas last admitted a pod of the job
	waiting *waitingCount
}

// startingSessions is the number of sessions in which Volcano's cache may still be reading its first objects.
const startingSessions = 60

// NewJournal returns an empty Journal.
func NewJournal() *Journal {
	return &Journal{entries: map[api.JobID]*entry{}, waiting: waitingJobs{by: map[cause]*waitingCount{}}}
}

// Len returns the number of jobs with an entry.
func (j *Journal) Len() int { return len(j.entries) }

// Refuse sets the reason of a waiting job, and the condition of a job that is not admitted. Volcano copies the reason
// to the conditions of the pods. Refuse reports whether the reason is new.
func (j *Journal) Refuse(e *Explainer, job *api.JobInfo, r *constraint.Refusal) (isNew bool) {
	j.now.read(e, job, r)
	last := j.entries[job.UID]
	if last != nil && last.refusal.equal(&j.now) {
		j.show(job, last)
		return false
	}

	reason := e.Explain(r)
	next := &entry{
		refusal: j.now.clone(),
		text:    reason.String(),
		json:    reason.annotation(),
		cause:   e.cause(string(job.Queue), r, reason),
	}

	// The wait for admission goes on, even if the reason is a new one.
	if last != nil && last.admission {
		next.since = last.since
	} else {
		next.since = waitsSince(job, metav1.Now())
	}

	j.entries[job.UID] = next
	j.show(job, next)
	return true
}

// read sets the values of a refusal of a job.
func (r *refusal) read(e *Explainer, job *api.JobInfo, from *constraint.Refusal) {
	r.reason = from.Verdict.Reason
	r.admission = from.Admission
	r.cards = e.Cards.Describe(from.Cards)
	r.holder = holderOf(from)
	r.exceeded = appendDims(r.exceeded[:0], from)
	r.numbers = e.appendNumbers(r.numbers[:0], from)
	r.detail = ""
	if len(from.Shortfalls) > 0 {
		r.detail = from.Shortfalls[0].Detail // no text has another one
	}

	q := from.Verdict.Queue
	switch {
	case from.Verdict.Reason == quota.BrokenQueue:
		r.where = e.Index.Broken(q).Error()
	case q != index.None:
		r.where = e.Index.Name(q)
	default:
		r.where = string(job.Queue)
	}
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
		setNotAdmitted(job, last.since, string(last.cause.rule), last.text)
	}

	if last.admission || !job.IsReady() {
		j.waiting.count(last)
		annotate(job, last.json)
	}
}

// Admit drops the reason of a job that is admitted. It returns how long the job has waited: 0 for a job that was never
// refused.
func (j *Journal) Admit(job *api.JobInfo) time.Duration {
	now := metav1.Now()
	since := waitsSince(job, now)
	if last := j.entries[job.UID]; last != nil && last.admission {
		since = last.since
	}

	delete(j.entries, job.UID)
	setAdmitted(job, now)
	endAnnotation(job)
	return max(0, now.Sub(since.Time))
}

// Displace sets the reason of a job that is not admitted any more. It holds until the next session asks about the job.
func (j *Journal) Displace(job *api.JobInfo, reason string) {
	job.JobFitErrors = reason
	setNotAdmitted(job, metav1.Now(), Displaced, reason)
	endAnnotation(job)
}

// Pass notes that the quotas admit a pod of a job in this session.
func (j *Journal) Pass(id api.JobID) {
	if last := j.entries[id]; last != nil {
		last.passed = j.waiting.session
	}
}

// Close ends a session with these jobs: it sets the series of the jobs that wait, and deletes the annotations of jobs
// that have their minimum of pods, or wait for nodes alone.
func (j *Journal) Close(jobs map[api.JobID]*api.JobInfo) {
	j.waiting.publish()
	for id, last := range j.entries {
		job := jobs[id]
		if job == nil {
			continue
		}

		admitted := last.passed == j.waiting.session && last.counted != j.waiting.session
		if admitted || job.ReadyTaskNum() >= job.MinAvailable {
			endAnnotation(job)
		}
	}
}

// appendDims appends the dimensions in which a refused request does not fit. There are none for a request for cards,
// and none if the limit of a holder refuses.
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

// appendNumbers appends the quantities that make a new reason when they change: requests, the cause of each card of a
// list, the bounds and times of annotations, and the quotas of cards in the queue and its ancestors. The usage of a
// queue makes no new reason, nor does a bound that changes with the nodes.
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
		case f.Reason.OfHolder(), f.Against == constraint.Counted, f.Against == constraint.Overcommit && !r.OfCards():
			numbers = append(numbers, f.Bound)
		case f.Against == constraint.CardBudget, f.Reason == quota.HeldByOrder:
			numbers = append(numbers, f.Bound, float64(f.Until.Unix()))
		}
	}

	if !r.OfCards() || r.Verdict.Reason.OfHolder() {
		return numbers
	}

	// Each of these quotas can refuse a card of a list.
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

// devicesExceeded is upstream's word for a quota of devices of any class.
const devicesExceeded = "dra-resource-exceeded"

// Event returns the event for the last refusal of a job. The drop-ins keep the type, reason and opening words of
// upstream, because programs may match them.
func (j *Journal) Event(e *Explainer, job *api.JobInfo, dropIn bool) record.PodGroupEvent {
	last := j.entries[job.UID]
	reason := string(scheduling.PodGroupUnschedulableType)
	if !dropIn {
		return record.PodGroupEvent{Type: v1.EventTypeWarning, Reason: reason, Message: last.text}
	}

	// Several classes of devices have the same name.
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

// Open begins a session with these jobs. It drops the reasons of jobs that are gone.
func (j *Journal) Open(jobs map[api.JobID]*api.JobInfo) {
	// The scheduler before a restart has left annotations. With an empty entry, Close deletes them as if this one had
	// written them.
	if j.waiting.session < startingSessions {
		for id, job := range jobs {
			if j.entries[id] == nil && job.PodGroup != nil && job.PodGroup.Annotations[card.ReasonKey] != "" {
				j.entries[id] = &entry{}
			}
		}
	}

	j.waiting.session++
	for id := range j.entries {
		if _, ok := jobs[id]; !ok {
			delete(j.entries, id)
		}
	}
}

// RenewNames converts dimensions when names get new ones. renew returns the new dimension for an old one.
func (j *Journal) RenewNames(renew func(fastres.Dim) fastres.Dim) {
	for _, entry := range j.entries {
		for i, d := range entry.exceeded {
			entry.exceeded[i] = renew(d)
		}
		slices.Sort(entry.exceeded)
	}
}
