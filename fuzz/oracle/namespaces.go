package oracle

import (
	"maps"
	"slices"
)

// Namespaces bounds what each namespace has in a queue and in all queues below it. It adds up
// the jobs again for every answer.
type Namespaces struct {
	oracle *Oracle
	limits map[string]Amounts // by queue
	jobs   []NamespaceJob

	inqueue map[place]Amounts
	own     map[place]Amounts // what is reserved for jobs of the queue itself
}

type place struct{ queue, namespace string }

// NamespaceJob holds what the jobs of one namespace have in a queue, what they may give back, and
// what is reserved for them. Terminating is the part of Allocated that pods hold until they are gone.
type NamespaceJob struct {
	Queue, Namespace                         string
	Allocated, Terminating, Elastic, Inqueue Amounts
}

// NewNamespaces returns the accounts of jobs, under the limits of queues. What is reserved for a
// namespace counts in a queue as far as the limits have room for it.
func NewNamespaces(o *Oracle, limits map[string]Amounts, jobs []NamespaceJob) *Namespaces {
	n := &Namespaces{o, limits, slices.Clone(jobs), map[place]Amounts{}, map[place]Amounts{}}
	for _, j := range jobs {
		at := place{j.Queue, j.Namespace}
		n.own[at] = n.own[at].Plus(j.Inqueue)
	}
	for _, q := range o.queues {
		q.inqueue = Amounts{}
	}
	for at, inqueue := range n.own {
		q := o.queues[at.queue]
		q.inqueue = q.inqueue.Plus(n.within(at, inqueue))
	}
	for _, name := range o.names {
		o.rollUp(name)
	}
	for _, j := range jobs {
		for _, q := range n.Limited(j.Queue) {
			n.inqueue[place{q, j.Namespace}] = n.rollUp(q, j.Namespace)
		}
	}
	return n
}

// Add adds what a job has more, is reserved more, or both.
func (n *Namespaces) Add(j NamespaceJob) { n.jobs = append(n.jobs, j) }

// Without returns the accounts without what some tasks have.
func (n *Namespaces) Without(gone []NamespaceJob) *Namespaces {
	left := &Namespaces{n.oracle, n.limits, slices.Clone(n.jobs), n.inqueue, n.own}
	for _, j := range gone {
		negative := Amounts{}
		for d, quantity := range j.Allocated {
			negative[d] = -quantity
		}
		left.Add(NamespaceJob{Queue: j.Queue, Namespace: j.Namespace, Allocated: negative})
	}
	return left
}

// Limited returns the queues with a limit on the path of a queue, from the lowest up.
func (n *Namespaces) Limited(queue string) (limited []string) {
	for _, q := range n.oracle.Path(queue) {
		if n.limits[q] != nil {
			limited = append(limited, q)
		}
	}
	return limited
}

// Sum adds up one of the amounts of a namespace in a queue and below.
func (n *Namespaces) Sum(queue, namespace string, of func(NamespaceJob) Amounts) Amounts {
	sum := Amounts{}
	for _, j := range n.jobs {
		if j.Namespace == namespace && n.oracle.within(j.Queue, queue) {
			sum = sum.Plus(of(j))
		}
	}
	return sum
}

// Allocated returns what a namespace has in a queue and below.
func (n *Namespaces) Allocated(queue, namespace string) Amounts {
	return n.Sum(queue, namespace, func(j NamespaceJob) Amounts { return j.Allocated })
}

// Inqueue returns what is reserved for a namespace in a queue with a limit and below.
func (n *Namespaces) Inqueue(queue, namespace string) Amounts {
	return n.inqueue[place{queue, namespace}]
}

// rollUp adds up what is reserved for a namespace when a session opens: that of jobs for which a
// queue has the lowest limit, and of each limit below as far as that has room.
func (n *Namespaces) rollUp(queue, namespace string) Amounts {
	all := Amounts{}
	for _, j := range n.jobs {
		if j.Namespace == namespace && slices.Index(n.Limited(j.Queue), queue) == 0 && !n.oracle.queues[j.Queue].Closed {
			all = all.Plus(j.Inqueue)
		}
	}
	for below := range n.limits {
		if limited := n.Limited(below); len(limited) > 1 && limited[1] == queue && limited[0] == below {
			all = all.Plus(n.promises(below, namespace, n.rollUp(below, namespace)))
		}
	}
	return all
}

// promises returns the part of an inqueue for which the limit of a queue has room.
func (n *Namespaces) promises(queue, namespace string, inqueue Amounts) Amounts {
	part, allocated := Amounts{}, n.Allocated(queue, namespace)
	elastic := n.Sum(queue, namespace, func(j NamespaceJob) Amounts { return j.Elastic })
	for d, quantity := range inqueue {
		part[d] = quantity
		if limit, named := n.limits[queue][d]; named {
			part[d] = min(quantity, max(0, limit-allocated[d]+elastic[d]))
		}
	}
	return part
}

// within returns the part of what is reserved for the jobs of a queue and a namespace for which all
// limits have room.
func (n *Namespaces) within(at place, inqueue Amounts) Amounts {
	for _, q := range n.Limited(at.queue) {
		inqueue = n.promises(q, at.namespace, inqueue)
	}
	return inqueue
}

// reserve changes what is reserved for the jobs of a queue and a namespace, and what counts in the
// queue and above.
func (n *Namespaces) reserve(at place, after Amounts) {
	before := n.own[at]
	n.own[at] = after
	was, is := n.within(at, before), n.within(at, after)
	n.oracle.promise(at.queue, is.Minus(was))
	n.oracle.withdraw(at.queue, was.Minus(is))
}

// Promise reserves something for a job that is admitted.
func (n *Namespaces) Promise(queue, namespace string, more Amounts) {
	at := place{queue, namespace}
	n.reserve(at, n.own[at].Plus(more))
	for _, q := range n.Limited(queue) {
		at := place{q, namespace}
		before := n.inqueue[at]
		n.inqueue[at] = before.Plus(more)
		more = n.promises(q, namespace, n.inqueue[at]).Minus(n.promises(q, namespace, before))
	}
}

// Withdraw takes back what Promise adds.
func (n *Namespaces) Withdraw(queue, namespace string, less Amounts) {
	at := place{queue, namespace}
	n.reserve(at, n.own[at].Minus(less))
	for _, q := range n.Limited(queue) {
		at := place{q, namespace}
		before := n.inqueue[at]
		n.inqueue[at] = before.Minus(less)
		less = n.promises(q, namespace, before).Minus(n.promises(q, namespace, n.inqueue[at]))
	}
}

// Clone returns an independent copy with the copy of an oracle, for a simulation.
func (n *Namespaces) Clone(o *Oracle) *Namespaces {
	return &Namespaces{o, n.limits, slices.Clone(n.jobs), maps.Clone(n.inqueue), maps.Clone(n.own)}
}

// Fits returns the lowest queue whose limit has no room for a task of a namespace, or "".
func (n *Namespaces) Fits(queue, namespace string, request Amounts) string {
	for _, q := range n.Limited(queue) {
		allocated := n.Allocated(q, namespace)
		for _, d := range request.requested() {
			if limit, named := n.limits[q][d]; named && allocated[d]+request[d] > limit {
				return q
			}
		}
	}
	return ""
}

// FitsOwn reports whether the limit of the queue itself has room for a task of a namespace once pods
// that are being deleted are gone. Only pods of the queue count there, which the queue does not reclaim.
func (n *Namespaces) FitsOwn(queue, namespace string, request Amounts) bool {
	return n.limits[queue] == nil || n.Future().Fits(queue, namespace, request) != queue
}

// Future returns the accounts once pods that are being deleted are gone.
func (n *Namespaces) Future() *Namespaces {
	var gone []NamespaceJob
	for _, j := range n.jobs {
		gone = append(gone, NamespaceJob{Queue: j.Queue, Namespace: j.Namespace, Allocated: j.Terminating})
	}
	return n.Without(gone)
}

// Admits returns the lowest queue whose limit has no room for the minimum of a job, or "".
func (n *Namespaces) Admits(queue, namespace string, min Amounts) string {
	for _, q := range n.Limited(queue) {
		allocated, inqueue := n.Allocated(q, namespace), n.Inqueue(q, namespace)
		elastic := n.Sum(q, namespace, func(j NamespaceJob) Amounts { return j.Elastic })
		for _, d := range min.requested() {
			if limit, named := n.limits[q][d]; named && min[d]+allocated[d]+inqueue[d]-elastic[d] > limit {
				return q
			}
		}
	}
	return ""
}
