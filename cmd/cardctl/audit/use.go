package audit

import (
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// The texts of findings about use. Their arguments are amounts, numbers and names.
const (
	noneText       = "used none of its quota of %s in the last %d days"
	unusedText     = "used less than %s of its quota of %s on average in the last %d days"
	idleText       = "at least %s of its guarantee of %s idled on average in the last %d days"
	idleNowText    = "%s of its guarantee of %s idles now; the time before is not known"
	borrowsText    = "deserves none, has %s now, and has had %s on average (half-life %s)"
	borrowsNowText = "deserves none, and has %s now; the time before is not known"
)

// little is an average of cards, or of another resource, that counts as no use.
const little = 0.1

// isGroup reports whether a holding is a group of cards. The record has cards alone, and a group need not be deserved.
func isGroup(h queues.Holding) bool { return strings.HasPrefix(h.Resource, card.GroupPrefix) }

// unusedQuotas finds quotas of which a queue with all queues below it has used less than little on average. A queue
// below one that is found is not named again.
func (a *auditor) unusedQuotas() {
	found := map[[2]string]bool{}
	for i := range a.queues {
		q := &a.queues[i]
		for _, h := range q.Resources {
			if !q.Bounds[h.Resource] || h.Capability == nil || *h.Capability < 1 || a.half == 0 || isGroup(h) {
				continue
			}
			r, known := a.record(q, h.Resource)
			a.count(r, known)
			if found[[2]string{q.Parent, h.Resource}] {
				found[[2]string{q.Queue, h.Resource}] = true
				continue
			}
			if most := usage.MostOnAverage(r.Average, a.span, a.half); known && most < little && h.Allocated == 0 {
				found[[2]string{q.Queue, h.Resource}] = true
				f := Finding{Check: UnusedQuota, Queue: q.Queue, Resource: h.Resource, Basis: Record, Amount: h.Capability, Used: &most}
				quota := explain.Amount(h.Resource, *h.Capability)
				if most == 0 {
					a.add(f, noneText, quota, a.report.Days)
				} else {
					a.add(f, unusedText, explain.Tenths(h.Resource, little), quota, a.report.Days)
				}
			}
		}
	}
}

// idleGuarantees finds guarantees of leaf queues of which more than half idles: nobody else can use them.
func (a *auditor) idleGuarantees() {
	for i := range a.queues {
		q := &a.queues[i]
		if a.inner[q.Queue] {
			continue // its guarantee is that of the queues below it
		}
		for _, h := range q.Resources {
			if h.Guarantee <= 0 || isGroup(h) {
				continue
			}
			r, known := a.record(q, h.Resource)
			if !q.Bounds[h.Resource] && a.half > 0 {
				a.count(r, known)
			}
			a.idleGuarantee(q, h, r, known)
		}
	}
}

func (a *auditor) idleGuarantee(q *queues.Queue, h queues.Holding, r queues.Record, known bool) {
	f := Finding{Check: IdleGuarantee, Queue: q.Queue, Resource: h.Resource, Amount: &h.Guarantee}
	has, guarantee := h.Allocated+h.Inqueue, explain.Amount(h.Resource, h.Guarantee)
	if !known {
		f.Basis, f.Used = Now, &has
		if has < h.Guarantee/2 {
			a.add(f, idleNowText, explain.Amount(h.Resource, h.Guarantee-has), guarantee)
		}
		return
	}
	most := usage.MostOnAverage(r.Average, a.span, a.half)
	f.Basis, f.Used = Record, &most
	if most < h.Guarantee/2 {
		a.add(f, idleText, explain.Tenths(h.Resource, h.Guarantee-most), guarantee, a.report.Days)
	}
}

// onlyBorrow finds leaf queues that have a card, or have had it, and deserve none: others that deserve it can reclaim
// all of it.
func (a *auditor) onlyBorrow() {
	for i := range a.queues {
		q := &a.queues[i]
		if a.inner[q.Queue] {
			continue
		}
		for _, h := range q.Resources {
			if !h.Card || isGroup(h) || h.Deserved == nil || *h.Deserved > 0 || h.Guarantee > 0 {
				continue
			}
			f := Finding{Check: OnlyBorrows, Queue: q.Queue, Resource: h.Resource, Basis: Now, Used: &h.Allocated}
			now := explain.Amount(h.Resource, h.Allocated)
			if a.half > 0 && q.Past != nil {
				r := q.Past.Records[h.Resource]
				if average := r.Average; average >= little && r.Covered >= a.half { // before, it is mostly assumed
					f.Basis, f.Used = Record, &average
					a.add(f, borrowsText, now, explain.Tenths(h.Resource, average), queues.ShortTime(a.half))
					continue
				}
			}
			if h.Allocated > 0 {
				a.add(f, borrowsNowText, now)
			}
		}
	}
}
