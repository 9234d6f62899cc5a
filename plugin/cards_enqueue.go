package plugin

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// readCards reads what a job of q needs of cards, and reports whether it needs
// any.
func (o *session) readCards(q index.Queue, job *api.JobInfo) bool {
	if o.cards == nil || !o.cards.counts[q] {
		return false
	}
	o.own.read(o.cards, job, func(pod *v1.Pod) *demand {
		d, fresh := o.cards.demand(pod)
		if fresh {
			o.cards.pods.put(pod, d)
		}
		return d
	})
	return o.own.cards
}

// enqueueableCards answers whether the cards of the job that was read last can
// be had along with all that was promised before.
func (o *session) enqueueableCards(r refusal) refusal {
	for _, k := range o.own.kinds {
		p := part{k.choice, want{k.resource, k.min}}
		if v := o.allowed(r.Queue, p); k.min > 0 && !v.OK() {
			r.Verdict, r.part = v, p
			return r
		}
	}
	o.dropBrokenPromises()
	o.needs = o.needs[:0]
	for _, p := range o.promises {
		o.needs = append(o.needs, p.Demand)
	}
	o.needs = o.own.needs(o.needs, o.cards, r.Queue)
	if o.assigner.Feasible(o.ix, o.needs) {
		return r
	}
	return o.blame(r)
}

// blame finds what of the last job's cards is too much: a choice that has no
// room anywhere, or else the first that has to share with what was promised.
func (o *session) blame(r refusal) refusal {
	r.Verdict = quota.Verdict{Reason: quota.OverQuota, Queue: r.Queue}
	for _, k := range o.own.kinds {
		if k.min == 0 {
			continue
		}
		p := part{k.choice, want{k.resource, k.min}}
		v := quota.AnyCard(r.Queue, k.dims, func(d fastres.Dim) quota.Verdict {
			return quota.EnqueueableCard(o.ix, r.Queue, d, k.min)
		})
		if !v.OK() {
			severalPods := len(k.dims) > 1 && k.min > o.own.size
			r.Verdict, r.part, r.shared = v, p, severalPods
			return r
		}
		if r.part.choice == nil {
			r.part, r.shared = p, true
		}
	}
	return r
}

// promiseCards charges what the last job that was read was promised: what only
// one card can be to the accounts, and keeps a list of the rest.
func (o *session) promiseCards(q index.Queue, job *api.JobInfo) {
	o.needs = o.own.promised(o.needs[:0], o.cards, q)
	for _, need := range o.needs {
		switch len(need.Cards) {
		case 0: // of no card that anybody has
		case 1:
			promise := o.scratch[0]
			promise.Reset()
			promise.Set(need.Cards[0], need.Size*float64(need.Count))
			o.chargeInqueue(q, promise)
		default:
			o.promises = append(o.promises, promise{job, need})
		}
	}
}

// dropBrokenPromises drops, once in a session, what was promised and cannot be
// kept any more, since a quota was lowered or tasks went where they prefer to.
// Else one such promise would keep everybody out. Older jobs come first.
func (o *session) dropBrokenPromises() {
	if o.kept {
		return
	}
	o.kept = true
	slices.SortFunc(o.promises, func(x, y promise) int {
		return cmp.Or(x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time), cmp.Compare(x.job.UID, y.job.UID),
			cmp.Compare(x.Size, y.Size), slices.Compare(x.Cards, y.Cards))
	})
	var kept []promise
	for rest := o.promises; ; {
		n := o.keepable(kept, rest)
		kept = append(kept, rest[:n]...)
		if n == len(rest) {
			break
		}
		broken := rest[n].Demand
		rest = slices.DeleteFunc(slices.Clone(rest[n+1:]), func(p promise) bool {
			return p.Queue == broken.Queue && p.Size == broken.Size && p.Count >= broken.Count && slices.Equal(p.Cards, broken.Cards)
		})
	}
	o.promises = kept
}

// keepable returns how many of rest, from the first on, can be kept along with
// kept.
func (o *session) keepable(kept, rest []promise) int {
	fit := func(n int) bool {
		o.needs = o.needs[:0]
		for _, p := range kept {
			o.needs = append(o.needs, p.Demand)
		}
		for _, p := range rest[:n] {
			o.needs = append(o.needs, p.Demand)
		}
		return o.assigner.Feasible(o.ix, o.needs)
	}
	if fit(len(rest)) {
		return len(rest)
	}
	low, high := 0, len(rest) // fits, does not
	for high-low > 1 {
		if middle := (low + high) / 2; fit(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
