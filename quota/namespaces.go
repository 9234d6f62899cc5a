package quota

import (
	"iter"
	"slices"
	"strconv"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Namespaces bounds what the jobs of one namespace have in a queue and in all queues below it
// (the annotations volcano.sh/capability.namespace and volcano.sh/card.quota.namespace):
//
//	allocated + request ≤ limit                     for a task
//	min + allocated + inqueue − elastic ≤ limit     for a job
//
// in the dimensions that the limit names, for each queue with a limit on the path of the job's
// queue, and for each namespace by itself.
//
// A namespace in a queue with a limit has an account. An account is a queue of an index of its
// own, with the limit as realCapability, and its parent is the account of the namespace in the
// next queue up that has a limit. Where no account has a parent, the accounts are flat: a root
// would be one more level to look at (BenchmarkPolicies). So the rules of this package hold for
// accounts as they hold for queues: Allocatable, CardFits, Enqueueable, charges, refunds and
// overlays. There are no accounts where no queue has a limit.
//
// # Example
//
// team limits each namespace to 8 cards, and its child train to 4. Namespace a has 3 cards in
// train and 5 in serve, the other child; namespace b has none.
//
//	a in train  3 ≤ 4      a in team  8 ≤ 8
//	one more card of a in train: refused at team     one of b: admitted
//
// Upstream: none.
type Namespaces struct {
	Accounts index.Index

	limited  []bool // by queue; nil where no queue has a limit
	tree     *index.Tree
	accounts []map[string]index.Queue // by queue and namespace; nil for a queue without a limit
	places   []Place                  // by account; a root, which is none, has the queue None
}

// Place is a namespace in a queue that limits namespaces.
type Place struct {
	Queue     index.Queue
	Namespace string
}

// rootAccount is the name of the root of accounts. It has no limit.
const rootAccount = "/"

// Reset makes empty accounts for the namespaces of jobs, with no limits yet. limited are the
// queues that have one, nil for none. jobs iterates over the queues and namespaces of jobs.
func (n *Namespaces) Reset(t *index.Tree, dims int, limited []bool, jobs iter.Seq2[index.Queue, string]) {
	n.limited, n.tree, n.places = limited, t, n.places[:0]
	if limited == nil {
		return
	}
	n.accounts = slices.Grow(n.accounts[:0], t.Len())[:t.Len()]
	for q := range n.accounts {
		switch {
		case !limited[q]:
			n.accounts[q] = nil
		case n.accounts[q] == nil:
			n.accounts[q] = map[string]index.Queue{}
		default:
			clear(n.accounts[q])
		}
	}
	var nodes []index.Node
	root := ""
	for q, namespace := range jobs {
		below := -1 // the node of the account below
		for _, p := range t.Path(q) {
			if !limited[p] {
				continue
			}
			place := Place{p, namespace}
			if below >= 0 {
				nodes[below].Parent, root = place.name(), rootAccount
			}
			if _, known := n.accounts[p][namespace]; known {
				break // and so are the accounts above
			}
			n.accounts[p][namespace] = index.None
			below = len(nodes)
			nodes = append(nodes, index.Node{Name: place.name()})
		}
	}
	n.Accounts.Reset(index.BuildTree(nodes, root), dims)
	n.places = append(n.places, make([]Place, n.Accounts.Len())...)
	if n.Accounts.Rooted() {
		n.places[n.Accounts.Root()].Queue = index.None
	}
	for q, of := range n.accounts {
		for namespace := range of {
			place := Place{index.Queue(q), namespace}
			account := n.Accounts.Lookup(place.name())
			of[namespace], n.places[account] = account, place
		}
	}
	for account := range index.Queue(n.Accounts.Len()) {
		n.Accounts.RealCapability.Row(account).Fill(fastres.MaxQuantity)
	}
}

func (p Place) name() string { return strconv.Itoa(int(p.Queue)) + "/" + p.Namespace }

// Active reports whether some queue limits namespaces.
func (n *Namespaces) Active() bool { return n.limited != nil }

// Account returns the account in which jobs of q and a namespace count: that of q, or of the
// nearest ancestor with a limit. It is None where none has one. It is safe for many goroutines.
func (n *Namespaces) Account(q index.Queue, namespace string) index.Queue {
	if n.limited == nil || q == index.None {
		return index.None
	}
	for _, p := range n.tree.Path(q) {
		if !n.limited[p] {
			continue
		}
		if account, ok := n.accounts[p][namespace]; ok {
			return account
		}
		return index.None
	}
	return index.None
}

// Place returns the place of an account.
func (n *Namespaces) Place(account index.Queue) Place { return n.places[account] }

// Places iterates over the accounts, without the root.
func (n *Namespaces) Places() iter.Seq2[index.Queue, Place] {
	return func(yield func(index.Queue, Place) bool) {
		for account, place := range n.places {
			if place.Queue != index.None && !yield(index.Queue(account), place) {
				return
			}
		}
	}
}

// usable returns the part of what is reserved for the jobs of one queue and of the namespace of an
// account that counts in the queue, in dimension d:
//
//	min(inqueue, max(0, limit − allocated + elastic))    for each limit on the path
//
// What a namespace cannot use keeps nothing from the others.
func (n *Namespaces) usable(account index.Queue, d fastres.Dim, inqueue float64) float64 {
	for _, p := range n.Accounts.Path(account) {
		inqueue = usable(&n.Accounts, p, d, inqueue)
	}
	return inqueue
}

// CountInqueue adds what is reserved for the jobs of q and of the namespace of an account to inqueue
// of q, as far as the limits have room for it. Call it before RollUpInqueue, and after the accounts
// are rolled up.
func (n *Namespaces) CountInqueue(ix *index.Index, q, account index.Queue, own fastres.Vector) {
	for d := range own.Present() {
		ix.Inqueue.Row(q).Increase(d, n.usable(account, d, own.Get(d)))
	}
}

// ChargeInqueue adds a reservation of q and of the namespace of an account to own, what is reserved
// for all such jobs, to inqueue of q and above, and to that of the account and above.
func (n *Namespaces) ChargeInqueue(ix *index.Index, q, account index.Queue, own, reservation fastres.Vector) {
	n.changeInqueue(ix, q, account, own, reservation, 1)
	ChargeInqueue(&n.Accounts, account, reservation)
}

// WithdrawInqueue takes back what ChargeInqueue adds.
func (n *Namespaces) WithdrawInqueue(ix *index.Index, q, account index.Queue, own, reservation fastres.Vector) {
	n.changeInqueue(ix, q, account, own, reservation, -1)
	WithdrawInqueue(&n.Accounts, account, reservation)
}

func (n *Namespaces) changeInqueue(ix *index.Index, q, account index.Queue, own, reservation fastres.Vector, sign float64) {
	for d := range reservation.Present() {
		before := own.Get(d)
		own.Increase(d, sign*reservation.Get(d))
		changeInqueue(ix, q, d, n.usable(account, d, own.Get(d))-n.usable(account, d, before))
	}
}

// Refusal converts a verdict about accounts to one about queues.
func (n *Namespaces) Refusal(v Verdict) Verdict {
	if v.Queue != index.None {
		v.Queue = n.places[v.Queue].Queue
	}
	if v.Reason == OverQuota {
		v.Reason = OverNamespace
	}
	return v
}
