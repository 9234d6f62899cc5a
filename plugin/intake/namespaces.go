package intake

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Namespaces are the accounts of namespaces in queues that limit them, and the reservations of
// their jobs that several cards can satisfy.
type Namespaces struct {
	Quota        quota.Namespaces
	Reservations reserve.Reservations

	limited []bool     // by queue; nil where no queue has a limit
	limits  index.Rows // by queue
	tally   tally
}

// readLimits reads the limits of the queues. Names without a dimension are added to those that
// r misses.
func (n *Namespaces) readLimits(session *Session, r *reader) {
	n.limited = nil
	if !session.HasPolicies() {
		return
	}
	for q := range index.Queue(session.tree.Len()) {
		values := session.Policies(q)
		cards, resources := values[policy.NamespaceCards], values[policy.NamespaceCapability]
		if !cards.Set && !resources.Set {
			continue
		}
		if n.limited == nil {
			n.limited = make([]bool, session.tree.Len())
			n.limits.Reset(session.tree.Len(), session.Dims.length)
		}
		n.limited[q] = true
		row := n.limits.Row(q)
		r.addList(row, resources.Resources)
		for d := range fastres.Dim(row.Len()) {
			_, named := resources.Resources[v1.ResourceName(r.name(d))]
			if !named {
				row.Set(d, fastres.MaxQuantity)
			}
		}
		if session.cards == nil {
			continue
		}
		for _, entry := range cards.Cards {
			if d := session.Dims.names.InternCard(entry.Name); int(d) < row.Len() {
				row.Set(d, float64(entry.Cards)*1000)
			}
		}
	}
}

// name returns the name of a dimension, "" for one to spare.
func (r *reader) name(d fastres.Dim) string {
	if names := r.dims.names; int(d) < names.Len() && !names.IsCard(d) {
		return names.Name(d)
	}
	return ""
}

// read counts the jobs of namespaces that are limited.
func (n *Namespaces) read(ssn *framework.Session, session *Session) {
	if n.limited == nil {
		*n = Namespaces{} // what jobs had under the last limits
		return
	}
	n.Quota.Reset(session.tree, session.Dims.length, n.limited, func(yield func(index.Queue, string) bool) {
		for _, job := range ssn.Jobs {
			if q := session.tree.Lookup(string(job.Queue)); q != index.None && !yield(q, job.Namespace) {
				return
			}
		}
	})
	ix, t := &n.Quota.Accounts, &n.tally
	for account, place := range n.Quota.Places() {
		ix.RealCapability.Row(account).CopyFrom(n.limits.Row(place.Queue))
	}
	t.reset(session, ix.Len())
	t.devices, t.admitted, t.limits = false, nil, true
	for _, job := range ssn.Jobs {
		q := session.tree.Lookup(string(job.Queue))
		if at := n.Quota.Account(q, job.Namespace); at != index.None {
			t.count(q, at, job)
		}
	}
	for at := range index.Queue(ix.Len()) {
		if t.jobs[at] > 0 {
			t.addRows(ix, at)
		}
	}
	n.Reservations.Begin(t.waiting)
	n.Reservations.Add(t.reservations)
	ix.RollUp()
	quota.RollUpInqueue(ix, func(index.Queue) bool { return true })
	t.reader = reader{} // so that the session can be garbage collected
	clear(t.timed)
}

// NamespaceOf returns the account in which a job counts, None where no queue limits its
// namespace. It is safe for many goroutines.
func (s *Session) NamespaceOf(q index.Queue, job *api.JobInfo) index.Queue {
	if s.Namespaces == nil {
		return index.None
	}
	return s.Namespaces.Quota.Account(q, job.Namespace)
}
