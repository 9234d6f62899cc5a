// Package claims charges queues for the cards of resource claims that pods share.
package claims

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// rule charges a queue, and each queue above it, for a claim when the first pod that names the claim gets a node there.
// It refunds the claim when the last such pod leaves (quota.ChargeDeviceClaims). A claim that was made for one pod is a
// part of the request of the pod, and not the business of this rule.
//
// A pod that shares a claim is not evicted for its cards: the other pods keep them.
type rule struct {
	session *constraint.Session
}

// Open returns the hooks, nil where no pod of the session shares a claim.
func Open(s *constraint.Session) *constraint.Hooks {
	if s.Cards == nil || !s.Intake.HasSharedClaims() {
		return nil
	}

	// The future is without claims that only pods hold that are being deleted.
	s.Intake.LeavingClaims(s.Index, s.Books.LeaveClaims)
	return (&rule{s}).hooks()
}

// hooks returns the hooks of cards of resource claims.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      r.admitJob,
		Hold:          nil, // pods that share a claim ask again before they get a node
		Fit:           r.fit,
		FitCard:       nil, // claims are decided on as a whole
		FitNode:       r.fitNode,
		FitOwn:        nil, // no pod is evicted for what several pods share
		Lacks:         nil, // for the same reason
		MayTake:       nil, // for the same reason
		Charge:        r.charge,
		Refund:        r.refund,
		Charged:       r.charged,
		Refunded:      r.refunded,
		CompareQueues: nil, // the accounts have the cards
	}
}

func (r *rule) pod(a constraint.Ask) *cards.PodRequest {
	return r.session.Cards.PodRequest(a.Queue, a.Task.Pod)
}

// fit decides on the claims of a task without a node: each request of a claim has a card that fits. Accounts that hold
// the claim get nothing more.
func (r *rule) fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	if a.Task == nil || a.Task.NodeName != "" {
		return constraint.Admitted(a.Queue)
	}

	for claim, request := range r.session.Cards.SharedOpen(r.pod(a)) {
		v := quota.AnyCard(a.Queue, request.Selector.Dims, func(d fastres.Dim) quota.Verdict {
			devices := r.session.Cards.Spread(nil, d, request.Amount)
			return r.fits(b, a, []index.DeviceClaim{{Name: claim, Devices: devices}})
		})
		if !v.OK() {
			r.setRefused(a, request.Selector.Dims, request.Amount)
			return v
		}
	}
	return constraint.Admitted(a.Queue)
}

// setRefused sets a.Request to the refused cards, if the request may be replaced.
func (r *rule) setRefused(a constraint.Ask, dims []fastres.Dim, amount card.Milli) {
	if !a.Replace {
		return
	}
	a.Request.Reset()
	for _, d := range dims {
		r.session.Names.AddCard(a.Request, d, float64(amount))
	}
}

// fitNode decides on the claims of a task on a node, together with the other cards that it has there.
func (r *rule) fitNode(b *quota.Books, a constraint.Ask, node string) quota.Verdict {
	pod := r.pod(a)
	claims := r.session.Cards.SharedOn(pod, node)
	if len(claims) == 0 {
		return constraint.Admitted(a.Queue)
	}

	if own := r.session.Cards.OwnOn(pod, node); len(own) > 0 {
		claims = append(claims, index.DeviceClaim{Devices: own})
	}
	return r.fits(b, a, claims)
}

// fits decides on claims, now and then: under the quotas of all queues that do not hold them, and by all features.
func (r *rule) fits(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	for ; b != nil; b = b.Then {
		if v := quota.DeviceClaimsFit(b.Queues, r.session.Limit, r.session.Names, a.Queue, claims); !v.OK() {
			return v
		}
		if v := r.session.FitsClaims(b, &a, claims); !v.OK() {
			return v
		}
	}
	return constraint.Admitted(a.Queue)
}

// admitJob decides on the claims of a job's pods that the queue does not hold. Nothing is reserved for them: few claims
// of a job are shared, and its pods ask again before they get a node.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
	seen := map[string]bool{}
	for _, task := range a.Job.Tasks {
		pod := r.session.Cards.PodRequest(a.Queue, task.Pod)

		for claim, request := range r.session.Cards.SharedOpen(pod) {
			if seen[claim] {
				continue
			}
			if v := r.admitRequest(a, claim, request); !v.OK() {
				return v
			}
		}

		// A claim can have several requests, so it counts as seen only now.
		for claim := range r.session.Cards.SharedOpen(pod) {
			seen[claim] = true
		}
	}
	return constraint.Admitted(a.Queue)
}

// admitRequest decides on one request of a claim. A refusal adds the cards of the request to a.Minimum.
func (r *rule) admitRequest(a constraint.JobAsk, claim string, request cards.Request) quota.Verdict {
	amount := float64(request.Amount)
	v := quota.AnyCard(a.Queue, request.Selector.Dims, func(d fastres.Dim) quota.Verdict {
		return quota.EnqueueableClaim(r.session.Index, a.Queue, claim, d, amount)
	})
	if v.OK() {
		return v
	}

	for _, d := range request.Selector.Dims {
		r.session.Names.AddCard(a.Minimum, d, amount)
	}
	return v
}

// change is a charge or a refund of claims.
type change func(quota.Accounts, index.Queue, []index.DeviceClaim)

func (r *rule) charge(b *quota.Books, a constraint.Ask) {
	r.changeIn(b, a, quota.ChargeDeviceClaims)
}

func (r *rule) refund(b *quota.Books, a constraint.Ask, _ fastres.Vector) {
	r.changeIn(b, a, quota.RefundDeviceClaims)
}

// changeIn changes the claims of a task on the accounts of a what-if.
func (r *rule) changeIn(b *quota.Books, a constraint.Ask, change change) {
	claims := r.session.Cards.SharedOn(r.pod(a), a.Task.NodeName)
	if len(claims) == 0 {
		return
	}

	change(b.Queues, a.Queue, claims)
	if account := r.session.Intake.AccountOf(a.Task.Job); account != index.None && b.Holders != nil {
		change(b.Holders, account, claims)
	}
}

// charged follows a task that gets a node.
func (r *rule) charged(a constraint.Ask) {
	pod := r.pod(a)
	r.follow(a, r.session.Cards.SharedOn(pod, a.Task.NodeName), quota.ChargeDeviceClaims)
	r.session.Cards.Share(pod, a.Task.NodeName)
}

// refunded follows a task that leaves its node.
func (r *rule) refunded(a constraint.Ask) {
	pod := r.pod(a)
	r.follow(a, r.session.Cards.SharedOn(pod, a.Task.NodeName), quota.RefundDeviceClaims)
	r.session.Cards.Unshare(pod, a.Task.NodeName)
}

// follow changes the accounts of the session, and what derives from them.
func (r *rule) follow(a constraint.Ask, claims []index.DeviceClaim, change change) {
	s := r.session
	if len(claims) == 0 {
		return
	}

	var holders *index.Index
	account := s.Intake.AccountOf(a.Task.Job)
	if account != index.None {
		holders = &s.Intake.Holders.Quota.Accounts
		holders.NoteOwnJobs(account)
	}
	s.Books.FollowClaims(a.Queue, account, holders, claims, change)

	for _, claim := range claims {
		for _, device := range claim.Devices {
			a.Request.Set(device.Dim, a.Request.Get(device.Dim)) // present, for the metrics
		}
	}
}
