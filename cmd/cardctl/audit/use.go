package audit

import (
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// The texts of findings about usage. Their arguments are amounts, numbers and names.
const (
	noneText       = "used none of its quota of %s in the last %d days"
	unusedText     = "used less than %s of its quota of %s on average in the last %d days"
	idleText       = "at least %s of its guarantee of %s idled on average in the last %d days"
	idleNowText    = "%s of its guarantee of %s idles now; the time before is not known"
	borrowsText    = "deserves none, has %s now, and has had %s on average (half-life %s)"
	borrowsNowText = "deserves none, and has %s now; the time before is not known"
)

// little is the average of cards, or of another resource, below which a quota counts as unused.
const little = 0.1

// isGroup reports whether a holding is a group of cards. The record has no groups, and a queue need not deserve a
// group.
func isGroup(h queues.Holding) bool { return strings.HasPrefix(h.Resource, card.GroupPrefix) }

// unusedQuotas finds quotas that a queue with all queues below it did not use, except for little on average.
func (a *auditor) unusedQuotas() {
	if a.half == 0 {
		return
	}

	type quota struct{ queue, resource string }
	unused := map[quota]bool{}
	for _, q := range a.queues {
		for _, h := range q.Resources {
			if !q.Bounds[h.Resource] || h.Capability == nil || *h.Capability < 1 || isGroup(h) {
				continue
			}

			r, known := a.record(q, h.Resource)
			a.count(r, known)

			// Below an unused quota, no other quota is used.
			if unused[quota{q.Parent, h.Resource}] {
				unused[quota{q.name, h.Resource}] = true
				continue
			}

			most := usage.MostOnAverage(r.Average, a.span, a.half)
			if known && most < little && h.Allocated == 0 {
				unused[quota{q.name, h.Resource}] = true
				a.unusedQuota(q, h, most)
			}
		}
	}
}

// unusedQuota adds the finding on an unused quota. most is the upper bound for the average usage.
func (a *auditor) unusedQuota(q *queue, h queues.Holding, most float64) {
	f := q.finding(UnusedQuota, h.Resource, Record)
	f.Amount = h.Capability
	f.Used = &most

	quota := explain.Amount(h.Resource, *h.Capability)
	if most == 0 {
		a.add(f, noneText, quota, a.report.Days)
	} else {
		a.add(f, unusedText, explain.Tenths(h.Resource, little), quota, a.report.Days)
	}
}

// eachLeaf looks at the resources of leaf queues, without groups of cards.
func (a *auditor) eachLeaf(look func(*queue, queues.Holding)) {
	for _, q := range a.queues {
		for _, h := range q.Resources {
			if q.leaf && !isGroup(h) {
				look(q, h)
			}
		}
	}
}

// idleGuarantee finds a guarantee of a leaf queue that idles by more than half. No other queue can use that half. The
// guarantee of an inner queue is the sum of its children.
func (a *auditor) idleGuarantee(q *queue, h queues.Holding) {
	if h.Guarantee <= 0 {
		return
	}

	r, known := a.record(q, h.Resource)
	// A resource with a bound counts in unusedQuotas.
	if !q.Bounds[h.Resource] && a.half > 0 {
		a.count(r, known)
	}

	f := q.finding(IdleGuarantee, h.Resource, Now)
	f.Amount = &h.Guarantee
	guarantee := explain.Amount(h.Resource, h.Guarantee)

	if !known {
		now := h.Allocated + h.Inqueue
		f.Used = &now
		if now < h.Guarantee/2 {
			a.add(f, idleNowText, explain.Amount(h.Resource, h.Guarantee-now), guarantee)
		}
		return
	}

	most := usage.MostOnAverage(r.Average, a.span, a.half)
	f.Basis = Record
	f.Used = &most
	if most < h.Guarantee/2 {
		a.add(f, idleText, explain.Tenths(h.Resource, h.Guarantee-most), guarantee, a.report.Days)
	}
}

// onlyBorrows finds a leaf queue that uses or used a card and deserves none. Queues that deserve the card can reclaim
// all of it.
func (a *auditor) onlyBorrows(q *queue, h queues.Holding) {
	if !h.Card || h.Deserved == nil || *h.Deserved > 0 || h.Guarantee > 0 {
		return
	}

	var r queues.Record
	if q.Past != nil && a.half > 0 {
		r = q.Past.Records[h.Resource]
	}

	f := q.finding(OnlyBorrows, h.Resource, Now)
	now := explain.Amount(h.Resource, h.Allocated)

	switch {
	// Before a half-life, most of the average is an assumption.
	case r.Average >= little && r.Covered >= a.half:
		f.Basis = Record
		f.Used = &r.Average
		a.add(f, borrowsText, now, explain.Tenths(h.Resource, r.Average), queues.ShortTime(a.half))
	case h.Allocated > 0:
		f.Used = &h.Allocated
		a.add(f, borrowsNowText, now)
	}
}

// finding returns a finding on a queue.
func (q *queue) finding(check Check, resource string, basis Basis) Finding {
	return Finding{Check: check, Queue: q.name, Resource: resource, Basis: basis}
}
