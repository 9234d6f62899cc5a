package constraint

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// measure asks the quotas of queues, and then the features, for the comparison that refuses a quantity for a reason.
// The reason Admitted stands for any.
func (s *Session) measure(r *Refusal, reason quota.Reason, d fastres.Dim, milli float64) Shortfall {
	refuses := func(short Shortfall) bool {
		return !short.OK() && (reason == quota.Admitted || short.Reason == reason)
	}

	short := s.measureQuotas(r, d, milli)
	features := s.with(onMeasure)
	for i := 0; i < len(features) && !refuses(short); i++ {
		short = features[i].Measure(r, d, milli)
	}
	if !refuses(short) {
		return Shortfall{}
	}

	short.Dim = d
	short.Quantity = cmp.Or(short.Quantity, milli) // a count has its own
	return short
}

// measureQuotas compares with the quotas of queues, except quotas of devices, which are a feature.
func (s *Session) measureQuotas(r *Refusal, d fastres.Dim, milli float64) Shortfall {
	if _, device := s.Names.Class(d); device {
		return Shortfall{}
	}

	reason := quota.OverQuota
	limit := s.LimitOf(r.Queue)
	against := Capability
	if r.Verdict.Reason == quota.OverDeserved {
		reason = quota.OverDeserved
		limit = &s.Index.Deserved
	}
	if limit == &s.Index.Deserved {
		against = Deserved
	}

	return s.Exceeded(r, reason, d, func(q index.Queue) (quota.Numbers, Against) {
		switch {
		case !r.Admission:
			return quota.AllocatableNumbers(r.Books.Queues, limit, q, d, milli), against
		case quota.Overcommits(s.Index, q, d):
			return quota.EnqueueableNumbersOf(s.Index, r.Queue, q, d, milli), Overcommit
		}
		return quota.EnqueueableNumbersOf(s.Index, r.Queue, q, d, milli), Capability
	})
}

// Exceeded returns the comparison in the first queue of a refusal in which numbers exceed the bound.
func (s *Session) Exceeded(r *Refusal, reason quota.Reason, d fastres.Dim,
	numbers func(index.Queue) (quota.Numbers, Against)) Shortfall {
	for _, q := range r.path {
		n, against := numbers(q)
		if !n.Exceeded() {
			continue
		}

		// An inherited capability is compared in the queue that sets it.
		if _, device := s.Names.Class(d); against == Capability && !device {
			q = s.source(q, d)
			atSource, _ := numbers(q)
			n.Total = atSource.Total
		}
		return Shortfall{Verdict: quota.Verdict{Reason: reason, Queue: q}, Numbers: n, Against: against}
	}
	return Shortfall{}
}

// source returns the queue that sets the capability of q in a dimension: q itself, or the ancestor that it inherits the
// bound from. It is q where no queue sets the capability.
func (s *Session) source(q index.Queue, d fastres.Dim) index.Queue {
	bound := s.Index.RealCapability.At(q, d)
	for _, p := range s.Index.Path(q) {
		if s.Index.RealCapability.At(p, d) != bound {
			break
		}

		if s.sets(p, d) {
			return p
		}
	}
	return q
}

// sets reports whether a queue has a capability or quota of its own in a dimension.
func (s *Session) sets(q index.Queue, d fastres.Dim) bool {
	if s.Names.IsCard(d) {
		_, ok := s.Cards.Quotas(q)[d]
		return ok
	}

	queue := s.Intake.Queues[q]
	if queue == nil {
		return false
	}

	_, ok := queue.Queue.Spec.Capability[v1.ResourceName(s.Names.Name(d))]
	return ok
}

// Levels returns the bounds of a queue and its ancestors that a quantity does not fit under. A refusal has only the
// lowest of them.
func (s *Session) Levels(q index.Queue, d fastres.Dim, quantity float64, admission bool) (all []Shortfall) {
	r := Refusal{
		Verdict:   quota.Verdict{Reason: quota.OverQuota, Queue: q},
		Admission: admission,
		Queue:     q,
		Books:     &s.Books.Now,
	}

	path := s.Index.Path(q)
	for i := range path {
		r.path = path[i : i+1]
		if short := s.measure(&r, quota.OverQuota, d, quantity); !short.OK() {
			all = append(all, short)
		}
	}
	return all
}
