// Package claims charges queues for the cards of resource claims that pods share.
package claims

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule charges a queue, and each queue above it, for a claim when the first pod that names the claim gets a node there,
// and refunds it when the last one leaves (quota.ChargeDeviceClaims). A claim that was made for one pod alone is a part
// of what the pod requests, and no business of this rule.
//
// A pod that shares a claim is not evicted for its cards: the others keep them.
type Rule struct {
	session *constraint.Session
}

var (
	_ constraint.TaskRule  = &Rule{}
	_ constraint.NodeRule  = &Rule{}
	_ constraint.GroupRule = &Rule{}
	_ constraint.JobRule   = &Rule{}
	_ constraint.Account   = &Rule{}
	_ constraint.Watcher   = &Rule{}
)

// Open returns the rule, nil where no pod of the session shares a claim. What only pods that are being deleted hold is
// not there in the future.
func Open(s *constraint.Session) any {
	if s.Cards == nil || !s.Intake.HasSharedClaims() {
		return nil
	}
	for q, claims := range s.Intake.LeavingClaims(s.Index) {
		s.Books.LeaveClaims(q, claims)
	}
	return &Rule{s}
}

func admitted(q index.Queue) quota.Verdict { return quota.Verdict{Reason: quota.Admitted, Queue: q} }

func (r *Rule) pod(a constraint.Ask) *cards.PodRequest {
	return r.session.Cards.PodRequest(a.Queue, a.Task.Pod)
}

// Fit decides on the claims of a task without a node: each request of a claim has a card that fits. Accounts that hold
// the claim get nothing more.
func (r *Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	if a.Task == nil || a.Task.NodeName != "" {
		return admitted(a.Queue)
	}
	pod := r.pod(a)
	for claim, request := range r.session.Cards.SharedOpen(pod) {
		v := quota.AnyCard(a.Queue, request.Selector.Dims, func(d fastres.Dim) quota.Verdict {
			return r.fits(b, a, []index.DeviceClaim{{Name: claim, Devices: r.session.Cards.Spread(nil, d, request.Amount)}})
		})
		if !v.OK() {
			return r.refuse(a, v, request.Selector.Dims, request.Amount)
		}
	}
	return admitted(a.Queue)
}

// refuse makes a.Request what is refused, where it may.
func (r *Rule) refuse(a constraint.Ask, v quota.Verdict, dims []fastres.Dim, amount card.Milli) quota.Verdict {
	if a.Replace {
		a.Request.Reset()
		for _, d := range dims {
			r.session.Names.AddCard(a.Request, d, float64(amount))
		}
	}
	return v
}

// FitNode decides on the claims of a task on a node, together with the other cards that it has there.
func (r *Rule) FitNode(b *quota.Books, a constraint.Ask, node string) quota.Verdict {
	pod := r.pod(a)
	claims := r.session.Cards.SharedOn(pod, node)
	if len(claims) == 0 {
		return admitted(a.Queue)
	}
	if own := r.session.Cards.OwnOn(pod, node); len(own) > 0 {
		claims = append(claims, index.DeviceClaim{Devices: own})
	}
	return r.fits(b, a, claims)
}

// fits decides on claims: under the quotas of all queues that do not hold them, and by the rules of all constraints.
func (r *Rule) fits(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	for ; b != nil; b = b.Then {
		if v := quota.DeviceClaimsFit(b.Queues, r.session.Limit, r.session.Names, a.Queue, claims); !v.OK() {
			return v
		}
		if v := r.session.FitsClaims(b, &a, claims); !v.OK() {
			return v
		}
	}
	return admitted(a.Queue)
}

// FitCard has nothing to say: claims are decided on as a whole.
func (r *Rule) FitCard(_ *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return admitted(a.Queue)
}

// AsksGroups is false, for the same reason.
func (r *Rule) AsksGroups() bool { return false }

// Lacks has nothing to say: nobody is evicted for what several pods share.
func (r *Rule) Lacks(*quota.Books, constraint.Ask, index.Queue, *api.TaskInfo, fastres.Dim, float64) bool {
	return false
}

// FitOwn has nothing to say, for the same reason.
func (r *Rule) FitOwn(_ *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return admitted(a.Queue)
}

// AdmitJob decides on the claims of a job's pods that the queue does not hold. Nothing is reserved for them: a claim
// that pods share is one of few in a job, and its pods ask again before they get a node.
func (r *Rule) AdmitJob(a constraint.JobAsk) quota.Verdict {
	seen := map[string]bool{}
	for _, task := range a.Job.Tasks {
		pod := r.session.Cards.PodRequest(a.Queue, task.Pod)
		for claim, request := range r.session.Cards.SharedOpen(pod) {
			if seen[claim] {
				continue
			}
			v := quota.AnyCard(a.Queue, request.Selector.Dims, func(d fastres.Dim) quota.Verdict {
				return quota.EnqueueableClaim(r.session.Index, a.Queue, claim, d, float64(request.Amount))
			})
			if !v.OK() {
				for _, d := range request.Selector.Dims {
					r.session.Names.AddCard(a.Minimum, d, float64(request.Amount))
				}
				return v
			}
		}
		for claim := range r.session.Cards.SharedOpen(pod) {
			seen[claim] = true
		}
	}
	return admitted(a.Queue)
}

func (r *Rule) Charge(b *quota.Books, a constraint.Ask) {
	r.change(b, a, quota.ChargeDeviceClaims)
}

func (r *Rule) Refund(b *quota.Books, a constraint.Ask, _ fastres.Vector) {
	r.change(b, a, quota.RefundDeviceClaims)
}

type change func(quota.Accounts, index.Queue, []index.DeviceClaim)

// change charges or refunds the claims of a task on the accounts of a what-if.
func (r *Rule) change(b *quota.Books, a constraint.Ask, change change) {
	if claims := r.session.Cards.SharedOn(r.pod(a), a.Task.NodeName); len(claims) > 0 {
		change(b.Queues, a.Queue, claims)
		if at := r.session.Intake.AccountOf(a.Task.Job); at != index.None && b.Holders != nil {
			change(b.Holders, at, claims)
		}
	}
}

// Charged follows a task that gets a node, and Refunded one that leaves it.
func (r *Rule) Charged(a constraint.Ask) {
	pod := r.pod(a)
	r.follow(a, r.session.Cards.SharedOn(pod, a.Task.NodeName), quota.ChargeDeviceClaims)
	r.session.Cards.Share(pod, a.Task.NodeName)
}

func (r *Rule) Refunded(a constraint.Ask) {
	pod := r.pod(a)
	r.follow(a, r.session.Cards.SharedOn(pod, a.Task.NodeName), quota.RefundDeviceClaims)
	r.session.Cards.Unshare(pod, a.Task.NodeName)
}

// follow changes the accounts of the session, and what derives from them.
func (r *Rule) follow(a constraint.Ask, claims []index.DeviceClaim, change change) {
	s := r.session
	if len(claims) == 0 {
		return
	}
	var holders *index.Index
	at := s.Intake.AccountOf(a.Task.Job)
	if at != index.None {
		holders = &s.Intake.Holders.Quota.Accounts
		holders.NoteOwnJobs(at)
	}
	s.Books.FollowClaims(a.Queue, at, holders, claims, change)
	for _, claim := range claims {
		for _, of := range claim.Devices {
			a.Request.Set(of.Dim, a.Request.Get(of.Dim)) // present, for the metrics
		}
	}
}
