package intake

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
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

	cells        []cell                   // by row of a tally; nil where no queue has a limit
	inqueue      index.Rows               // by cell with an account: what is reserved for its jobs
	byNamespace  []map[string]index.Queue // by queue: the rows of its namespaces, nil where they are not limited
	waiting      []bool                   // by account: some job that requests cards waits for admission
	reservations []reserve.Reservation    // of the session that is read
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

// LimitProblems returns the resources of a limit of namespaces that the plugin does not count, in
// the order of their names. The limit has no effect on them.
func (s Settings) LimitProblems(limit v1.ResourceList) (problems []card.Problem) {
	dims := Dimensions{ignored: api.IgnoredDevicesList.List()}
	for _, name := range slices.Sorted(maps.Keys(limit)) {
		_, _, device := deviceKey(name)
		why := ""
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory:
			continue
		case !s.Scalars:
			why = "capacity-card counts cpu, memory and cards; " + card.NamespaceKey + " limits cards"
		case device:
			why = "devices of resource claims have no limits of namespaces"
		case name != v1.ResourcePods && !dims.isScalar(named{name, unknown}):
			why = "Volcano does not count it"
		default:
			continue
		}
		problems = append(problems, card.Problem{Key: policy.NamespaceCapabilityKey,
			Reason: fmt.Sprintf("%q has no effect: %s", index.Shorten(string(name), 100), why)})
	}
	return problems
}

// FairShareProblems returns the annotations about usage over time that have no effect with the
// arguments of the plugin.
func (s Settings) FairShareProblems(values *policy.Values) (problems []card.Problem) {
	for _, name := range values.FairShareKeys() {
		switch {
		case !s.FairShare.On:
			problems = append(problems, card.Problem{Key: name, Reason: "has no effect without the argument fairShareHalfLife"})
		case name == policy.FairShareWeightKey && !s.FairShare.ByWeight:
			problems = append(problems, card.Problem{Key: name, Reason: "has no effect without the argument fairShareBy: weight"})
		}
	}
	return problems
}

// UncountedProblems returns the resources of a bound of a queue, such as its capability, that the
// plugin does not count, in the order of their names. Problem.Key is the resource.
func (s Settings) UncountedProblems(bound v1.ResourceList) (problems []card.Problem) {
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		if _, _, device := deviceKey(name); s.Scalars || device || name == v1.ResourceCPU || name == v1.ResourceMemory {
			continue
		}
		problems = append(problems, card.Problem{Key: string(name),
			Reason: "has no effect: capacity-card counts cpu, memory and cards; " + card.QuotaKey + " bounds cards"})
	}
	return problems
}

// name returns the name of a dimension, "" for one to spare.
func (r *reader) name(d fastres.Dim) string {
	if names := r.dims.names; int(d) < names.Len() && !names.IsCard(d) {
		return names.Name(d)
	}
	return ""
}

// cell names the jobs that one tally row counts: all jobs of a queue, or those of one namespace in it.
type cell struct {
	queue   index.Queue
	account index.Queue // of the namespace; None where no queue limits it
}

// prepare makes the accounts of the namespaces of jobs, and a cell for each queue and namespace
// that is limited. So jobs are counted once for both.
func (n *Namespaces) prepare(jobs []*api.JobInfo, session *Session) {
	if n.limited == nil {
		*n = Namespaces{} // what jobs had under the last limits
		return
	}
	tree := session.tree
	n.cells = n.cells[:0]
	n.byNamespace = slices.Grow(n.byNamespace[:0], tree.Len())[:tree.Len()]
	for q := range index.Queue(tree.Len()) {
		n.cells = append(n.cells, cell{q, index.None})
		switch above := tree.Parent(q); {
		case !n.limited[q] && (above == index.None || n.byNamespace[above] == nil):
			n.byNamespace[q] = nil
		case n.byNamespace[q] == nil:
			n.byNamespace[q] = map[string]index.Queue{}
		default:
			clear(n.byNamespace[q])
		}
	}
	var namespaces []string // of the cells after those of all queues
	for _, job := range jobs {
		q := tree.Lookup(string(job.Queue))
		if q == index.None || n.byNamespace[q] == nil {
			continue
		}
		if _, known := n.byNamespace[q][job.Namespace]; !known {
			n.byNamespace[q][job.Namespace] = index.Queue(len(n.cells))
			n.cells, namespaces = append(n.cells, cell{q, index.None}), append(namespaces, job.Namespace)
		}
	}
	limited := n.cells[tree.Len():]
	n.Quota.Reset(tree, session.Dims.length, n.limited, func(yield func(index.Queue, string) bool) {
		for i, namespace := range namespaces {
			if !yield(limited[i].queue, namespace) {
				return
			}
		}
	})
	for i, namespace := range namespaces {
		limited[i].account = n.Quota.Account(limited[i].queue, namespace)
	}
	for account, place := range n.Quota.Places() {
		n.Quota.Accounts.RealCapability.Row(account).CopyFrom(n.limits.Row(place.Queue))
	}
	n.inqueue.Reset(len(n.cells), session.Dims.length)
	n.reservations = n.reservations[:0]
	n.waiting = append(n.waiting[:0], make([]bool, n.Quota.Accounts.Len())...)
}

// cell returns what row at of a tally counts.
func (n *Namespaces) cell(at int) cell {
	if n.limited == nil {
		return cell{index.Queue(at), index.None}
	}
	return n.cells[at]
}

// cellOf returns the row of a tally that counts jobs of q and a namespace. It is safe for many
// goroutines.
func (n *Namespaces) cellOf(q index.Queue, namespace string) index.Queue {
	if n.limited == nil || n.byNamespace[q] == nil {
		return q
	}
	return n.byNamespace[q][namespace]
}

// addReservations adds reservations of queues to the namespaces of their jobs.
func (n *Namespaces) addReservations(all []reserve.Reservation) {
	if n.limited == nil {
		return
	}
	for _, r := range all {
		if account := n.Quota.Account(r.Queue(), r.Namespace()); account != index.None {
			n.reservations = append(n.reservations, r.In(account))
		}
	}
}

// rollUp adds what the namespaces have in queues to what they have in the queues above, and what is
// reserved for them to inqueue of their queues.
func (n *Namespaces) rollUp(ix *index.Index, names *index.Names) {
	if n.limited == nil {
		return
	}
	n.Reservations.Begin(n.waiting, names)
	n.Reservations.Add(n.reservations)
	clear(n.reservations) // so that the session can be garbage collected
	n.Quota.Accounts.RollUp()
	quota.RollUpInqueue(&n.Quota.Accounts, func(index.Queue) bool { return true })
	for i, c := range n.cells {
		if c.account != index.None {
			n.Quota.CountInqueue(ix, c.queue, c.account, n.inqueue.Row(index.Queue(i)))
		}
	}
}

// ChargeInqueue adds a reservation of a job of q, whose namespace has an account, and WithdrawInqueue
// takes it back.
func (n *Namespaces) ChargeInqueue(ix *index.Index, q, account index.Queue, job *api.JobInfo, reservation fastres.Vector) {
	n.Quota.ChargeInqueue(ix, q, account, n.inqueue.Row(n.cellOf(q, job.Namespace)), reservation)
}
func (n *Namespaces) WithdrawInqueue(ix *index.Index, q, account index.Queue, job *api.JobInfo, reservation fastres.Vector) {
	n.Quota.WithdrawInqueue(ix, q, account, n.inqueue.Row(n.cellOf(q, job.Namespace)), reservation)
}

// NamespaceOf returns the account of a namespace in q, None where no queue limits it, and for no
// queue. It is safe for many goroutines.
func (s *Session) NamespaceOf(q index.Queue, namespace string) index.Queue {
	if s.Namespaces == nil || q == index.None {
		return index.None
	}
	return s.Namespaces.Quota.Account(q, namespace)
}
