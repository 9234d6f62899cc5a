package plugin

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// refusal is a verdict with what it was about.
type refusal struct {
	quota.Verdict
	request fastres.Vector
	// enqueue: the request is a job's minimum, and what others were promised
	// counts; else it is a task's.
	enqueue bool
	// part is what of a task's cards, or of a job's minimum, is refused; without a
	// choice it is the request. shared: it can be of several cards at once, and what
	// was promised to others that can take the same cards counts.
	part   part
	shared bool
}

// refusalOf makes a refusal of an answer about the task whose request was read
// last. p is what of its cards is refused, if it is cards.
func (o *session) refusalOf(v quota.Verdict, p part) refusal {
	return refusal{Verdict: v, request: o.scratch[0], part: p}
}

// told is what was last said about a waiting job. The words stay while the
// reason does, whatever others use meanwhile, so that neither events nor pod
// conditions are written anew in every session.
type told struct {
	reason  quota.Reason
	where   string // the queue that refuses, or what is wrong with its parents
	exceeds []fastres.Dim
	cards   string    // those that are refused
	numbers []float64 // what is requested, and the quota of cards
	words   string
}

// refuse notes why a job waits where Volcano takes it into the conditions of
// the job and of its pods, and reports whether the reason is new.
func (o *session) refuse(job *api.JobInfo, r refusal) (fresh bool) {
	where := string(job.Queue)
	switch {
	case r.Reason == quota.BrokenQueue:
		where = o.ix.Broken(r.Queue).Error()
	case r.Queue != index.None:
		where = o.ix.Name(r.Queue)
	}
	o.exceeds = o.exceeding(o.exceeds[:0], r)
	o.numbers = o.numbersOf(o.numbers[:0], r, o.exceeds)
	cards := o.cardsOf(r.part)
	was := o.told[job.UID]
	if was == nil || was.reason != r.Reason || was.where != where || was.cards != cards ||
		!slices.Equal(was.exceeds, o.exceeds) || !slices.Equal(was.numbers, o.numbers) {
		was = &told{reason: r.Reason, where: where, exceeds: slices.Clone(o.exceeds), cards: cards,
			numbers: slices.Clone(o.numbers), words: o.words(r)}
		o.told[job.UID] = was
		fresh = true
	}
	job.JobFitErrors = was.words
	return fresh
}

// numbersOf appends the numbers that make a refusal another one. What a queue
// uses does not, nor does a bound that moves with the nodes.
func (o *session) numbersOf(numbers []float64, r refusal, exceeds []fastres.Dim) []float64 {
	for _, d := range exceeds {
		numbers = append(numbers, r.request.Get(d))
	}
	if r.part.choice != nil {
		numbers = append(numbers, r.part.milli)
		for _, d := range r.part.dims {
			numbers = append(numbers, o.ix.Capability.Row(r.Queue).Get(d))
		}
	}
	return numbers
}

// record makes the PodGroup event of a refusal that refuse found to be new. The
// drop-ins keep upstream's type, reason and opening words, which others may match
// on.
func (o *session) record(job *api.JobInfo) {
	said := o.told[job.UID]
	if !o.variant.scalars {
		o.recordPodGroup(job.PodGroup, v1.EventTypeWarning, string(scheduling.PodGroupUnschedulableType), said.words)
		return
	}
	var names []string
	for _, d := range said.exceeds {
		names = append(names, o.names.Name(d))
	}
	if said.cards != "" {
		names = append(names, said.cards)
	}
	opening := util.FormatResourceNames("queue resource quota insufficient", "insufficient", names)
	o.recordPodGroup(job.PodGroup, v1.EventTypeNormal, string(scheduling.PodGroupUnschedulableType),
		opening+"; "+said.words)
}

// rules are the names of package quota's reasons.
var rules = map[quota.Reason]Rule{
	quota.UnknownQueue: UnknownQueue, quota.BrokenQueue: BrokenQueue, quota.InnerQueue: InnerQueue, quota.ClosedQueue: ClosedQueue,
	quota.OverQuota: OverQuota, quota.OverDeserved: OverDeserved,
	quota.MixedResources: MixedCards, quota.ResourceMismatch: OtherCards, quota.UntypedPod: UnnamedCards,
}

// words say why a refusal is one.
func (o *session) words(r refusal) string { return o.explain(r).String() }

// explain makes a value of a refusal. Dimensions come in the order of their
// names, so that equal reasons read the same.
func (o *session) explain(r refusal) *Reason {
	reason := &Reason{Rule: rules[r.Reason]}
	if r.Queue == index.None {
		return reason
	}
	reason.Queue = o.ix.Name(r.Queue)
	switch {
	case r.Reason == quota.BrokenQueue:
		reason.Detail = o.ix.Broken(r.Queue).Error()
	case r.part.choice != nil:
		o.explainCards(reason, r)
	default:
		bound, word := o.bound(r)
		for _, d := range o.exceeding(nil, r) {
			request := r.request.Get(d)
			reason.Shortages = append(reason.Shortages, o.shortage(r.Queue, d, request, request+o.used(r, r.Queue, d), word, bound.Get(d)))
		}
	}
	return reason
}

// shortage is a bound of q that is exceeded, in the units that people read.
func (o *session) shortage(q index.Queue, d fastres.Dim, requested, sum float64, word string, bound float64) Shortage {
	return Shortage{
		Queue: o.ix.Name(q), Resource: o.names.Name(d), Against: word,
		Requested: readable(d, requested), Total: readable(d, sum), Bound: readable(d, bound),
	}
}

// exceeding appends the dimensions in which a refused request does not fit, in
// the order of their names.
func (o *session) exceeding(dims []fastres.Dim, r refusal) []fastres.Dim {
	if r.Reason != quota.OverQuota && r.Reason != quota.OverDeserved || r.part.choice != nil {
		return dims
	}
	bound, _ := o.bound(r)
	for d := range r.request.Requested() {
		if r.request.Get(d)+o.used(r, r.Queue, d) > bound.Get(d) {
			dims = append(dims, d)
		}
	}
	slices.SortFunc(dims, func(x, y fastres.Dim) int { return cmp.Compare(o.names.Name(x), o.names.Name(y)) })
	return dims
}

// used is what q has of d already, as the rule that refused counts it.
func (o *session) used(r refusal, q index.Queue, d fastres.Dim) float64 {
	used := o.ix.Allocated(q).Get(d)
	if r.enqueue {
		used += o.ix.Inqueue.Row(q).Get(d) - o.ix.Elastic.Row(q).Get(d)
	}
	return used
}

// bound is what the sum was held against, and its word.
func (o *session) bound(r refusal) (fastres.Vector, string) {
	q := r.Queue
	if r.Reason == quota.OverDeserved || o.weighted && !r.enqueue {
		return o.ix.Deserved.Row(q), "deserved"
	}
	return o.ix.RealCapability.Row(q), "capability"
}

// readable is a quantity in the units that people read: cpu in cores, memory in
// bytes, pods as they are, everything else in whole units.
func readable(d fastres.Dim, quantity float64) float64 {
	if d == fastres.Memory || d == fastres.Pods {
		return quantity
	}
	return quantity / 1000
}
