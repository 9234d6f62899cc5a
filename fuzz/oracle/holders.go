package oracle

import (
	"maps"
	"slices"
	"strings"
)

// Holders bounds the resources of each holder of jobs in a queue and in all queues below it. A holder is a namespace, a
// user, a group, or a value of a label. Holders adds up the jobs again for every answer.
type Holders struct {
	oracle *Oracle
	limits map[string]Limits // by queue
	jobs   []HolderJob

	inqueue map[place]Amounts
	own     map[place]Amounts // reservations of jobs of the queue itself with the same limited holders
}

// Holder is a value of a key of jobs. Jobs without the key have the value "".
type Holder struct{ Key, Value string }

// Limits are the limits of a queue by key and by value. "*" limits each other value by itself. An empty limit is none.
type Limits map[string]map[string]Amounts

// of returns the limit of a holder, nil for none.
func (l Limits) of(h Holder) Amounts {
	limit, named := l[h.Key][h.Value]
	if !named && h.Value != "" {
		limit = l[h.Key]["*"]
	}
	return limit
}

// place is a queue, and a holder or several: as text, so that places can be compared.
type place struct{ queue, holders string }

func (h Holder) String() string { return h.Key + "=" + h.Value }

// HolderJob holds the resources of a job in a queue: its pods, the part that it may give back, and its reservation.
// Terminating is the part of Allocated that pods hold until they are gone.
type HolderJob struct {
	Queue                                    string
	Holders                                  []Holder // each once
	Allocated, Terminating, Elastic, Inqueue Amounts
}

// NewHolders returns the accounts of jobs, under the limits of queues. Reservations of jobs count in a queue as far as
// the limits of all their holders have room for them.
func NewHolders(o *Oracle, limits map[string]Limits, jobs []HolderJob) *Holders {
	n := &Holders{o, limits, slices.Clone(jobs), map[place]Amounts{}, map[place]Amounts{}}
	alike := map[place]HolderJob{}
	for _, j := range jobs {
		at := n.alike(j.Queue, j.Holders)
		n.own[at] = n.own[at].Plus(j.Inqueue)
		alike[at] = j
	}

	for _, q := range o.queues {
		q.inqueue = Amounts{}
	}

	for at, inqueue := range n.own {
		q := o.queues[at.queue]
		q.inqueue = q.inqueue.Plus(n.within(at.queue, alike[at].Holders, inqueue))
	}

	for _, name := range o.names {
		o.rollUp(name)
	}

	for _, j := range jobs {
		for _, h := range j.Holders {
			for _, q := range n.Limited(j.Queue, h) {
				n.inqueue[place{q, h.String()}] = n.rollUp(q, h)
			}
		}
	}

	return n
}

// alike returns the place of the jobs of a queue with the same limited holders.
func (n *Holders) alike(queue string, holders []Holder) place {
	var limited []string
	for _, h := range holders {
		if len(n.Limited(queue, h)) > 0 {
			limited = append(limited, h.String())
		}
	}

	slices.Sort(limited)
	return place{queue, strings.Join(limited, "\n")}
}

// Add adds pods or reservations of a job.
func (n *Holders) Add(j HolderJob) { n.jobs = append(n.jobs, j) }

// Without returns the accounts without some tasks.
func (n *Holders) Without(gone []HolderJob) *Holders {
	left := &Holders{n.oracle, n.limits, slices.Clone(n.jobs), n.inqueue, n.own}
	for _, j := range gone {
		negative := Amounts{}
		for d, quantity := range j.Allocated {
			negative[d] = -quantity
		}
		left.Add(HolderJob{Queue: j.Queue, Holders: j.Holders, Allocated: negative})
	}

	return left
}

// Limited returns the queues with a limit for a holder on the path of a queue, from the lowest up.
func (n *Holders) Limited(queue string, h Holder) (limited []string) {
	for _, q := range n.oracle.Path(queue) {
		if n.limits[q].of(h) != nil {
			limited = append(limited, q)
		}
	}

	return limited
}

// Sum adds up one of the amounts of a holder in a queue and below.
func (n *Holders) Sum(queue string, h Holder, amount func(HolderJob) Amounts) Amounts {
	sum := Amounts{}
	for _, j := range n.jobs {
		if slices.Contains(j.Holders, h) && n.oracle.within(j.Queue, queue) {
			sum = sum.Plus(amount(j))
		}
	}

	return sum
}

// Allocated returns the resources of the pods of a holder in a queue and below.
func (n *Holders) Allocated(queue string, h Holder) Amounts {
	return n.Sum(queue, h, func(j HolderJob) Amounts { return j.Allocated })
}

// Inqueue returns the reservations of a holder in a queue with a limit and below.
func (n *Holders) Inqueue(queue string, h Holder) Amounts {
	return n.inqueue[place{queue, h.String()}]
}

// rollUp adds up the reservations of a holder when a session opens. Jobs count for the lowest queue with a limit on
// their path. A limit below counts as far as it has room.
func (n *Holders) rollUp(queue string, h Holder) Amounts {
	all := Amounts{}
	for _, j := range n.jobs {
		if !slices.Contains(j.Holders, h) || n.oracle.queues[j.Queue].Closed {
			continue
		}
		if slices.Index(n.Limited(j.Queue, h), queue) == 0 {
			all = all.Plus(j.Inqueue)
		}
	}

	for below := range n.limits {
		if limited := n.Limited(below, h); len(limited) > 1 && limited[1] == queue && limited[0] == below {
			all = all.Plus(n.promises(below, h, n.rollUp(below, h)))
		}
	}

	return all
}

// promises returns the part of an inqueue for which the limit of a queue has room.
func (n *Holders) promises(queue string, h Holder, inqueue Amounts) Amounts {
	part := Amounts{}
	allocated := n.Allocated(queue, h)
	elastic := n.Sum(queue, h, func(j HolderJob) Amounts { return j.Elastic })
	for d, quantity := range inqueue {
		part[d] = quantity
		if limit, named := n.limits[queue].of(h)[d]; named {
			part[d] = min(quantity, max(0, limit-allocated[d]+elastic[d]))
		}
	}

	return part
}

// within returns the part of the reservations of jobs of a queue and some holders that fits under all limits.
func (n *Holders) within(queue string, holders []Holder, inqueue Amounts) Amounts {
	for _, h := range holders {
		for _, q := range n.Limited(queue, h) {
			inqueue = n.promises(q, h, inqueue)
		}
	}

	return inqueue
}

// Promise adds the reservation of an admitted job.
func (n *Holders) Promise(queue string, holders []Holder, reserved Amounts) {
	n.change(queue, holders, reserved, Amounts.Plus)
}

// Withdraw reverts Promise, as long as no other account has changed since.
func (n *Holders) Withdraw(queue string, holders []Holder, reserved Amounts) {
	n.change(queue, holders, reserved, Amounts.Minus)
}

// change changes the reservations of jobs of a queue with these holders. The inqueue of the queue changes as far as the
// limits have room, and so does each inqueue of a holder.
func (n *Holders) change(queue string, holders []Holder, reserved Amounts, change func(inqueue, by Amounts) Amounts) {
	jobs := n.alike(queue, holders)
	was := n.within(queue, holders, n.own[jobs])
	n.own[jobs] = change(n.own[jobs], reserved)
	is := n.within(queue, holders, n.own[jobs])
	n.oracle.change(queue, is.difference(was), change)

	for _, h := range holders {
		by := reserved
		for _, q := range n.Limited(queue, h) {
			at := place{q, h.String()}
			before := n.inqueue[at]
			n.inqueue[at] = change(before, by)
			by = n.promises(q, h, n.inqueue[at]).difference(n.promises(q, h, before))
		}
	}
}

// Clone returns an independent copy with the copy of an oracle, for a simulation.
func (n *Holders) Clone(o *Oracle) *Holders {
	return &Holders{o, n.limits, slices.Clone(n.jobs), maps.Clone(n.inqueue), maps.Clone(n.own)}
}

// Refusal is a limit without room. Queue is "" for none.
type Refusal struct {
	Queue string
	Holder
}

// Fits returns the first limit that has no room for a task of a queue, from the lowest queue up for each holder.
func (n *Holders) Fits(queue string, holders []Holder, request Amounts) Refusal {
	for _, h := range holders {
		for _, q := range n.Limited(queue, h) {
			if !n.has(q, h, request) {
				return Refusal{q, h}
			}
		}
	}

	return Refusal{}
}

// has reports whether the limit of a queue for a holder has room for a task.
func (n *Holders) has(queue string, h Holder, request Amounts) bool {
	allocated := n.Allocated(queue, h)
	for _, d := range request.requested() {
		if limit, named := n.limits[queue].of(h)[d]; named && allocated[d]+request[d] > limit {
			return false
		}
	}

	return true
}

// FitsOwn reports whether the limits of the queue itself have room for a task once pods that are being deleted are
// gone. Only pods of the queue itself count there, and the queue does not reclaim them.
func (n *Holders) FitsOwn(queue string, holders []Holder, request Amounts) bool {
	then := n.Future()
	return !slices.ContainsFunc(holders, func(h Holder) bool {
		return n.limits[queue].of(h) != nil && !then.has(queue, h, request)
	})
}

// Future returns the accounts once pods that are being deleted are gone.
func (n *Holders) Future() *Holders {
	var gone []HolderJob
	for _, j := range n.jobs {
		gone = append(gone, HolderJob{Queue: j.Queue, Holders: j.Holders, Allocated: j.Terminating})
	}
	return n.Without(gone)
}

// Admits returns the first limit that has no room for the minimum of a job.
func (n *Holders) Admits(queue string, holders []Holder, min Amounts) Refusal {
	for _, h := range holders {
		for _, q := range n.Limited(queue, h) {
			allocated := n.Allocated(q, h)
			inqueue := n.Inqueue(q, h)
			elastic := n.Sum(q, h, func(j HolderJob) Amounts { return j.Elastic })
			for _, d := range min.requested() {
				limit, named := n.limits[q].of(h)[d]
				if named && min[d]+allocated[d]+inqueue[d]-elastic[d] > limit {
					return Refusal{q, h}
				}
			}
		}
	}

	return Refusal{}
}
