package quota

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Holders bounds the resources of the jobs of one holder in a queue and in all queues below it. A holder
// is a namespace, a user, a group, or a value of a label (the annotation volcano.sh/card.quota.by):
//
//	allocated + request ≤ limit                     for a task
//	min + allocated + inqueue − elastic ≤ limit     for a job
//
// in the dimensions that the limit names. This holds for each queue with a limit on the path of the job's
// queue, and for each holder by itself. A job counts for each of its holders.
//
// A holder has an account in each queue with a limit for it. An account is a queue of a separate index,
// with the limit as realCapability. Its parent is the account of the holder in the next queue up with a
// limit. So the rules of this package apply to accounts as to queues: Allocatable, CardFits, Enqueueable,
// charges, refunds and overlays. If no queue has a limit, there are no accounts.
//
// Jobs that count for several holders have a joint account without a limit. Its path has the accounts of
// all these holders (index.BuildForest). So each question about a job is one walk of one path, for any
// number of keys that its queues limit.
//
// # Example
//
// team limits each namespace to 8 cards, and its child train to 4. Namespace a has 3 cards in
// train and 5 in serve, the other child; namespace b has none.
//
//	a in train  3 ≤ 4      a in team  8 ≤ 8
//	one more card of a in train: refused at team     one of b: admitted
//
// If team limits each user to 2 cards as well, then a job of namespace b and user u has the path
//
//	the account of both,  b in train,  b in team,  u in team
//
// Upstream: none.
type Holders struct {
	Accounts index.Index

	at     map[Place]index.Queue
	places []Place // by account; a joint account has the queue None
}

// Holder identifies the jobs that share a limit.
type Holder struct {
	Key   string `json:"key"`   // HolderNamespace, HolderUser, HolderGroup, or HolderLabel and the name of a label
	Value string `json:"value"` // "" for the jobs without the key
}

// The keys of holders.
const (
	HolderNamespace = "namespace"
	HolderUser      = "user"
	HolderGroup     = "group"
	HolderLabel     = "label:" // begins the key of a label
)

// String formats the holder for people, such as: user <alice>.
func (h Holder) String() string {
	label, isLabel := strings.CutPrefix(h.Key, HolderLabel)
	switch {
	case isLabel && h.Value == "":
		return "jobs without the label <" + label + ">"
	case isLabel:
		return "label <" + label + "=" + h.Value + ">"
	case h.Value == "":
		return "jobs without a " + h.Key
	}

	return h.Key + " <" + h.Value + ">"
}

// Place is a holder in a queue that has a limit for it.
type Place struct {
	Queue index.Queue
	Holder
}

// HolderJobs are the jobs of a queue that count for the same holders. The holders are distinct.
type HolderJobs struct {
	Queue   index.Queue
	Holders []Holder
}

// Reset makes empty accounts for jobs, with no limits yet. limited reports whether a queue has a limit for a holder.
// Reset returns the account of each of the given jobs. It is None if no queue on the path of the jobs limits one of
// their holders.
func (h *Holders) Reset(t *index.Tree, dims int, jobs []HolderJobs,
	limited func(index.Queue, Holder) bool) (accounts []index.Queue) {
	h.number(t, jobs, limited)
	nodes := make([]index.ForestNode, 0, len(h.places)+len(jobs))
	for _, place := range h.places {
		node := index.ForestNode{Name: place.name()}
		if above := h.lowest(t.Path(place.Queue)[1:], place.Holder); above != index.None {
			node.Parents = []index.Queue{above}
		}
		nodes = append(nodes, node)
	}

	joints := map[string]index.Queue{} // the accounts of several holders
	for _, job := range jobs {
		heads := h.headsOf(t, job)
		account := index.None
		switch len(heads) {
		case 0:
		case 1:
			account = heads[0]
		default:
			name := jointName(heads)
			known := false
			account, known = joints[name]
			if !known {
				account = index.Queue(len(nodes))
				nodes = append(nodes, index.ForestNode{Name: name, Parents: heads})
				joints[name] = account
				h.places = append(h.places, Place{Queue: index.None})
			}
		}
		accounts = append(accounts, account)
	}

	h.Accounts.Reset(index.BuildForest(nodes), dims)
	for account := range index.Queue(h.Accounts.Len()) {
		h.Accounts.RealCapability.Row(account).Fill(fastres.MaxQuantity)
	}

	return accounts
}

// headsOf returns the lowest account of each holder of jobs that has one.
func (h *Holders) headsOf(t *index.Tree, jobs HolderJobs) (heads []index.Queue) {
	for _, holder := range jobs.Holders {
		if head := h.lowest(t.Path(jobs.Queue), holder); head != index.None {
			heads = append(heads, head)
		}
	}
	return heads
}

func jointName(heads []index.Queue) string {
	var name strings.Builder
	for _, head := range heads {
		name.WriteString("+" + strconv.Itoa(int(head)))
	}
	return name.String()
}

// number finds the places of jobs and gives them numbers. Parents have lower numbers than their children.
func (h *Holders) number(t *index.Tree, jobs []HolderJobs, limited func(index.Queue, Holder) bool) {
	h.places = h.places[:0]
	if h.at == nil {
		h.at = map[Place]index.Queue{}
	}
	clear(h.at)

	for _, job := range jobs {
		for _, p := range t.Path(job.Queue) {
			for _, holder := range job.Holders {
				place := Place{p, holder}
				if _, known := h.at[place]; !known && limited(p, holder) {
					h.at[place] = index.None
					h.places = append(h.places, place)
				}
			}
		}
	}

	slices.SortFunc(h.places, func(x, y Place) int {
		return cmp.Or(cmp.Compare(x.Queue, y.Queue), cmp.Compare(x.Key, y.Key), cmp.Compare(x.Value, y.Value))
	})
	for account, place := range h.places {
		h.at[place] = index.Queue(account)
	}
}

// lowest returns the account of a holder in the first queue of a path that limits it, None if no queue does.
func (h *Holders) lowest(path []index.Queue, holder Holder) index.Queue {
	for _, p := range path {
		if account, ok := h.at[Place{p, holder}]; ok {
			return account
		}
	}

	return index.None
}

func (p Place) name() string { return strconv.Itoa(int(p.Queue)) + "/" + p.Key + "/" + p.Value }

// Place returns the place of an account. The place of a joint account has the queue None.
func (h *Holders) Place(account index.Queue) Place { return h.places[account] }

// Places iterates over the accounts of one holder.
func (h *Holders) Places() iter.Seq2[index.Queue, Place] {
	return func(yield func(index.Queue, Place) bool) {
		for account, place := range h.places {
			if place.Queue != index.None && !yield(index.Queue(account), place) {
				return
			}
		}
	}
}

// usable returns the part of the reservations of an account that counts in the queue of its jobs, in
// dimension d:
//
//	min(inqueue, max(0, limit − allocated + elastic))    for each limit on the path
//
// Reservations that a holder cannot use do not count for the others.
func (h *Holders) usable(account index.Queue, d fastres.Dim, inqueue float64) float64 {
	for _, p := range h.Accounts.Path(account) {
		inqueue = usable(&h.Accounts, p, d, inqueue)
	}
	return inqueue
}

// CountInqueue adds own to inqueue of q, as far as the limits have room for it. own is the sum of the
// reservations of the jobs of q and of an account. Call CountInqueue before RollUpInqueue, and after the
// accounts are rolled up.
func (h *Holders) CountInqueue(ix *index.Index, q, account index.Queue, own fastres.Vector) {
	for d := range own.Present() {
		ix.Inqueue.Row(q).Increase(d, h.usable(account, d, own.Get(d)))
	}
}

// ChangeInqueue adds a reservation of a job of q and of an account to three sums: own, the reservations of
// all such jobs; inqueue of q and its ancestors; and inqueue of each holder and its ancestors. sign is 1, or
// -1 to take the reservation back.
func (h *Holders) ChangeInqueue(ix *index.Index, q, account index.Queue, own, reservation fastres.Vector,
	sign float64) {
	for d := range reservation.Present() {
		before := own.Get(d)
		own.Increase(d, sign*reservation.Get(d))

		after := h.usable(account, d, own.Get(d))
		changeInqueueIn(ix, q, d, after-h.usable(account, d, before))
	}

	for _, head := range h.Accounts.Heads(account) {
		ChangeInqueue(&h.Accounts, head, reservation, sign)
	}
}

// Refusal converts a verdict about accounts to a verdict about queues.
func (h *Holders) Refusal(v Verdict) Verdict {
	if v.Queue == index.None {
		return v
	}

	place := h.places[v.Queue]
	v.Queue = place.Queue
	if v.Reason == OverQuota {
		v.Reason = place.Reason()
	}

	return v
}

// Reason returns the reason of a refusal by a limit of the holder.
func (h Holder) Reason() Reason {
	if h.Key == HolderNamespace {
		return OverNamespace
	}
	return OverHolder
}
