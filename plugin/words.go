package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
			numbers = append(numbers, o.ix.Capability.Row(int(r.Queue)).Get(d))
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

// words say why, in cores, Mi and whole units of everything else. Dimensions
// come in the order of their names, so that equal reasons read the same.
func (o *session) words(r refusal) string {
	if r.Reason == quota.UnknownQueue {
		return "The job's queue does not exist"
	}
	queue := o.ix.Name(r.Queue)
	switch r.Reason {
	case quota.BrokenQueue:
		return fmt.Sprintf("Queue <%s> takes no jobs: %v", queue, o.ix.Broken(r.Queue))
	case quota.InnerQueue:
		return fmt.Sprintf("Queue <%s> has child queues, so takes no jobs itself", queue)
	case quota.ClosedQueue:
		return fmt.Sprintf("Queue <%s> is not open", queue)
	}
	if r.part.choice != nil {
		return o.cardWords(r)
	}
	bound, word := o.bound(r)
	var parts []string
	for _, d := range o.exceeding(nil, r) {
		parts = append(parts, insufficient(queue, o.names.Name(d), amount(d, r.request.Get(d)),
			amount(d, r.request.Get(d)+o.used(r, r.Queue, d)), word, amount(d, bound.Get(d))))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Queue <%s> has no quota for a resource that is requested", queue)
	}
	return strings.Join(parts, "; ")
}

func insufficient(queue, what, requested, sum, word, bound string) string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>, but %s is <%s>",
		queue, what, requested, sum, word, bound)
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
		used += o.ix.Inqueue.Row(int(q)).Get(d) - o.ix.Elastic.Row(int(q)).Get(d)
	}
	return used
}

// bound is what the sum was held against, and its word.
func (o *session) bound(r refusal) (fastres.Vector, string) {
	q := int(r.Queue)
	if r.Reason == quota.OverDeserved || o.weighted && !r.enqueue {
		return o.ix.Deserved.Row(q), "deserved"
	}
	return o.ix.RealCapability.Row(q), "capability"
}

// amount is a quantity as people read it: cpu in cores, memory in Mi, pods as
// they are, everything else in whole units.
func amount(d fastres.Dim, quantity float64) string {
	switch d {
	case fastres.Memory:
		return number(quantity/(1<<20)) + "Mi"
	case fastres.Pods:
		return number(quantity)
	default:
		return number(quantity / 1000)
	}
}

func number(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 3, 64), "0"), ".")
}
