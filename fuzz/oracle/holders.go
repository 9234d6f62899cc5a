package oracle

import (
	"maps"
	"slices"
	"strings"
)

// Holders bounds what each holder of jobs has in a queue and in all queues below it: a namespace, a user, a
// group, or a value of a label. It adds up the jobs again for every answer.
type Holders struct {
	oracle *Oracle
	limits map[string]Limits // by queue
	jobs   []HolderJob

	inqueue map[place]Amounts
	own     map[place]Amounts // what is reserved for jobs of the queue itself with the same limited holders
}

// Holder is a value of a key of jobs. The value "" is that of jobs without the key.
type Holder struct{ Key, Value string }

// Limits are those of a queue by key, and by value: "*" is for each other value by itself. An empty limit is none.
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

// HolderJob holds what a job has in a queue, what it may give back, and what is reserved for it.
// Terminating is the part of Allocated that pods hold until they are gone.
type HolderJob struct {
	Queue                                    string
	Holders                                  []Holder // each once
	Allocated, Terminating, Elastic, Inqueue Amounts
}

// NewHolders returns the accounts of jobs, under the limits of queues. What is reserved for jobs counts in a
// queue as far as the limits of all their holders have room for it.
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

// alike is the place of the jobs of a queue that have the same limited holders.
func (n *Holders) alike(queue string, of []Holder) place {
	var limited []string
	for _, h := range of {
		if len(n.Limited(queue, h)) > 0 {
			limited = append(limited, h.String())
		}
	}
	slices.Sort(limited)
	return place{queue, strings.Join(limited, "\n")}
}

// Add adds what a job has more, is reserved more, or both.
func (n *Holders) Add(j HolderJob) { n.jobs = append(n.jobs, j) }

// Without returns the accounts without what some tasks have.
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
func (n *Holders) Sum(queue string, h Holder, of func(HolderJob) Amounts) Amounts {
	sum := Amounts{}
	for _, j := range n.jobs {
		if slices.Contains(j.Holders, h) && n.oracle.within(j.Queue, queue) {
			sum = sum.Plus(of(j))
		}
	}
	return sum
}

// Allocated returns what a holder has in a queue and below.
func (n *Holders) Allocated(queue string, h Holder) Amounts {
	return n.Sum(queue, h, func(j HolderJob) Amounts { return j.Allocated })
}

// Inqueue returns what is reserved for a holder in a queue with a limit and below.
func (n *Holders) Inqueue(queue string, h Holder) Amounts {
	return n.inqueue[place{queue, h.String()}]
}

// rollUp adds up what is reserved for a holder when a session opens: that of jobs for which a
// queue has the lowest limit, and of each limit below as far as that has room.
func (n *Holders) rollUp(queue string, h Holder) Amounts {
	all := Amounts{}
	for _, j := range n.jobs {
		if slices.Contains(j.Holders, h) && slices.Index(n.Limited(j.Queue, h), queue) == 0 && !n.oracle.queues[j.Queue].Closed {
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
	part, allocated := Amounts{}, n.Allocated(queue, h)
	elastic := n.Sum(queue, h, func(j HolderJob) Amounts { return j.Elastic })
	for d, quantity := range inqueue {
		part[d] = quantity
		if limit, named := n.limits[queue].of(h)[d]; named {
			part[d] = min(quantity, max(0, limit-allocated[d]+elastic[d]))
		}
	}
	return part
}

// within returns the part of what is reserved for the jobs of a queue and some holders for which all
// limits have room.
func (n *Holders) within(queue string, of []Holder, inqueue Amounts) Amounts {
	for _, h := range of {
		for _, q := range n.Limited(queue, h) {
			inqueue = n.promises(q, h, inqueue)
		}
	}
	return inqueue
}

// reserve changes what is reserved for the jobs of a queue and some holders, and what counts in the
// queue and above.
func (n *Holders) reserve(queue string, of []Holder, after func(before Amounts) Amounts) {
	at := n.alike(queue, of)
	before := n.own[at]
	n.own[at] = after(before)
	was, is := n.within(queue, of, before), n.within(queue, of, n.own[at])
	n.oracle.promise(queue, is.Minus(was))
	n.oracle.withdraw(queue, was.Minus(is))
}

// Promise reserves something for a job that is admitted.
func (n *Holders) Promise(queue string, of []Holder, reserved Amounts) {
	n.reserve(queue, of, func(before Amounts) Amounts { return before.Plus(reserved) })
	for _, h := range of {
		more := reserved
		for _, q := range n.Limited(queue, h) {
			at := place{q, h.String()}
			before := n.inqueue[at]
			n.inqueue[at] = before.Plus(more)
			more = n.promises(q, h, n.inqueue[at]).Minus(n.promises(q, h, before))
		}
	}
}

// Withdraw takes back what Promise adds.
func (n *Holders) Withdraw(queue string, of []Holder, reserved Amounts) {
	n.reserve(queue, of, func(before Amounts) Amounts { return before.Minus(reserved) })
	for _, h := range of {
		less := reserved
		for _, q := range n.Limited(queue, h) {
			at := place{q, h.String()}
			before := n.inqueue[at]
			n.inqueue[at] = before.Minus(less)
			less = n.promises(q, h, before).Minus(n.promises(q, h, n.inqueue[at]))
		}
	}
}

// Clone returns an independent copy with the copy of an oracle, for a simulation.
func (n *Holders) Clone(o *Oracle) *Holders {
	return &Holders{o, n.limits, slices.Clone(n.jobs), maps.Clone(n.inqueue), maps.Clone(n.own)}
}

// Refusal is a limit without room, none where Queue is "".
type Refusal struct {
	Queue string
	Holder
}

// Fits returns the first limit that has no room for a task of a queue: of one holder, that of the lowest queue.
func (n *Holders) Fits(queue string, of []Holder, request Amounts) Refusal {
	for _, h := range of {
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

// FitsOwn reports whether the limits of the queue itself have room for a task once pods
// that are being deleted are gone. Only pods of the queue count there, which the queue does not reclaim.
func (n *Holders) FitsOwn(queue string, of []Holder, request Amounts) bool {
	then := n.Future()
	return !slices.ContainsFunc(of, func(h Holder) bool { return n.limits[queue].of(h) != nil && !then.has(queue, h, request) })
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
func (n *Holders) Admits(queue string, of []Holder, min Amounts) Refusal {
	for _, h := range of {
		for _, q := range n.Limited(queue, h) {
			allocated, inqueue := n.Allocated(q, h), n.Inqueue(q, h)
			elastic := n.Sum(q, h, func(j HolderJob) Amounts { return j.Elastic })
			for _, d := range min.requested() {
				if limit, named := n.limits[q].of(h)[d]; named && min[d]+allocated[d]+inqueue[d]-elastic[d] > limit {
					return Refusal{q, h}
				}
			}
		}
	}
	return Refusal{}
}
