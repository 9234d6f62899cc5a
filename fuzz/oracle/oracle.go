package oracle

import (
	"cmp"
	"maps"
	"slices"
)

// Cluster is the input of an oracle.
type Cluster struct {
	Root  string  // "" is flat mode: no queue has a parent
	Total Amounts // the resources of the cluster
	Bound Amounts // realCapability of the root

	// OpenRoot selects the rules of Volcano v1.14.2 and later: every queue deserves at least its guarantee. deserved
	// and guarantee of the root are the sums of its children.
	OpenRoot bool

	// Available are the resources of the cluster, in the dimensions with guarantees that are kept free.
	Available Amounts

	// Ending is the part of Available that no node has, and that pods hold which are being deleted.
	Ending Amounts

	ZeroLeaf  bool     // cpu and memory that a leaf does not set are 0
	ByWeight  bool     // deserved follows from weights
	Cards     []string // the dimensions that are cards
	Card      float64  // the quantity of one card, where queues state shares
	Groups    Groups   // of cards; each is a dimension, too
	Resources []string // the resources of cards that the total of the cluster bounds
	Queues    []Queue
	Jobs      []Job
}

// Queue is the configuration of a queue.
type Queue struct {
	Name, Parent                    string // Parent "" is the root
	Closed                          bool   // its jobs get nothing more
	Capability, Deserved, Guarantee Amounts
	Weight                          float64
	Fence                           bool // no reclaim across it
	Times                           Times
	Counts                                  // of admitted jobs
	Overcommit                      float64 // thousandths of deserved that bound admission; 0 is no bound

	// The three annotations of cards, if cards count in the queue.
	CardsCount                             bool
	CardsClosed                            bool // a leaf has 0 of a card that its quota does not name
	CardQuota, CardDeserved, CardGuarantee Amounts
	Shares                                 CardShares // in place of amounts
}

// Job is a job when the session opens.
type Job struct {
	Queue     string
	Min       Amounts // nil: not set
	MinMember int
	Inqueue   bool // the phase of its PodGroup
	Running   bool // the phase of its PodGroup
	Unknown   bool // the phase of its PodGroup: some pods run, and others have no node
	Overdue   bool // it is Inqueue for too long without its minimum
	Tasks     []Task
}

// Task is a pod. It is Placed, Pending, or neither.
type Task struct {
	Request                Amounts // with the card of its node
	Placed, Pending, Gated bool
	Terminating            bool // it is being deleted, and holds Request until then
}

// Oracle holds the queues of one session and their accounts.
type Oracle struct {
	cluster Cluster
	names   []string // of all queues, in alphabetical order
	queues  map[string]*queue
	claims  DeviceClaims // that pods share, with their cards
	sharing []Plain
}

// queue is a queue with its bounds, and with the accounts of its own jobs. The methods of
// Oracle add the accounts of the queues below.
type queue struct {
	Queue
	path                                   []string
	capability, bound, deserved, guarantee Amounts
	allocated, request, inqueue, elastic   Amounts
	all                                    Amounts // inqueue with the promises of the children
	jobs                                   int     // the number of admitted jobs that have not ended
	reserved                               Amounts // for pods that may have a node and have none yet
	terminating                            Amounts // the part of allocated that pods hold until they are gone
}

// New computes bounds and accounts. If two queues have the same name, the first one counts. A
// missing root is added.
func New(c Cluster) *Oracle {
	o := &Oracle{cluster: c, queues: map[string]*queue{}}
	o.addQueues()
	o.resolveShares()

	for _, q := range o.queues {
		o.configure(q)
	}
	if c.Root == "" {
		o.boundFlat()
	} else {
		o.boundBelow(c.Root)
	}
	if c.ByWeight {
		o.split()
	}

	for _, j := range c.Jobs {
		if q := o.queues[j.Queue]; q != nil {
			q.count(j)
		}
	}
	for _, name := range o.names {
		o.rollUp(name)
	}

	return o
}

// addQueues reads the queues, and finds their paths.
func (o *Oracle) addQueues() {
	for _, q := range o.cluster.Queues {
		if o.queues[q.Name] == nil {
			o.queues[q.Name] = &queue{Queue: q}
		}
	}

	root := o.cluster.Root
	if root != "" && o.queues[root] == nil {
		o.queues[root] = &queue{Queue: Queue{Name: root}}
	}

	o.names = slices.Sorted(maps.Keys(o.queues))
	for name, q := range o.queues {
		q.path = o.climb(name)
	}
}

// climb returns a queue and its ancestors. A queue in a cycle has no ancestors.
func (o *Oracle) climb(name string) []string {
	path := []string{name}
	for at := name; !o.cycles(at); {
		at = o.namedParent(at)
		if at == "" {
			break
		}

		path = append(path, at)
	}

	return path
}

// namedParent returns the parent that a queue names, or "" if it does not exist.
func (o *Oracle) namedParent(name string) string {
	if o.cluster.Root == "" || name == o.cluster.Root {
		return ""
	}

	parent := cmp.Or(o.queues[name].Parent, o.cluster.Root)
	if o.queues[parent] == nil {
		return ""
	}

	return parent
}

// cycles reports whether a queue is its own ancestor.
func (o *Oracle) cycles(name string) bool {
	at := name
	for range o.queues {
		at = o.namedParent(at)
		if at == "" || at == name {
			break
		}
	}

	return at == name
}

// Path returns a queue and its ancestors, from the queue up.
func (o *Oracle) Path(name string) []string { return o.queues[name].path }

// within reports whether a queue is another queue or below it.
func (o *Oracle) within(name, other string) bool { return slices.Contains(o.Path(name), other) }

// Broken reports whether a queue does not reach the root.
func (o *Oracle) Broken(name string) bool {
	path := o.Path(name)
	return o.cluster.Root != "" && path[len(path)-1] != o.cluster.Root
}

// Names returns all queues in alphabetical order.
func (o *Oracle) Names() []string { return slices.Clone(o.names) }

// Children returns the child queues of a queue.
func (o *Oracle) Children(name string) (children []string) {
	for _, q := range o.names {
		if path := o.Path(q); len(path) > 1 && path[1] == name {
			children = append(children, q)
		}
	}

	return children
}

// Leaf reports whether a queue has no children.
func (o *Oracle) Leaf(name string) bool { return len(o.Children(name)) == 0 }

// Eligible returns why a queue takes no jobs, or "".
func (o *Oracle) Eligible(name string) string {
	switch {
	case o.queues[name] == nil:
		return "unknown"
	case o.Broken(name):
		return "broken"
	case !o.Leaf(name):
		return "inner"
	}

	return ""
}

// count adds a job to the accounts of its queue.
func (q *queue) count(j Job) {
	if j.Inqueue || j.Running || j.Unknown {
		q.jobs++
	}

	placed := Amounts{}
	pending := Amounts{}
	gated := Amounts{}
	members := 0
	for _, t := range j.Tasks {
		switch {
		case t.Placed:
			placed = placed.Plus(t.Request)
			members++
		case t.Pending:
			pending = pending.Plus(t.Request)
		case t.Terminating:
			q.allocated = q.allocated.Plus(t.Request)
			q.request = q.request.Plus(t.Request)
			q.terminating = q.terminating.Plus(t.Request)
		}
		if t.Gated {
			gated = gated.Plus(t.Request)
		}
	}

	q.allocated = q.allocated.Plus(placed)
	q.request = q.request.Plus(placed).Plus(pending)
	q.elastic = q.elastic.Plus(placed.beyond(j.Min))
	// A Running job with fewer than minMember tasks reserves nothing.
	if j.Min != nil && (j.Inqueue && !j.Overdue || j.Running && members >= j.MinMember) {
		q.inqueue = q.inqueue.Plus(reservation(j.Min, placed, gated))
	}
}

// reservation returns the resources that an admitted job still waits for.
func reservation(min, placed, gated Amounts) Amounts { return min.beyond(placed).Minus(gated) }

// sum adds up an account of a queue and of all queues below it.
func (o *Oracle) sum(name string, account func(*queue) Amounts) Amounts {
	sum := Amounts{}
	for _, below := range o.names {
		if o.within(below, name) {
			sum = sum.Plus(account(o.queues[below]))
		}
	}

	return sum
}

// Allocated, Request, Inqueue and Elastic are the accounts of a queue and of all queues below
// it.
func (o *Oracle) Allocated(name string) Amounts {
	return o.withShared(name, o.sum(name, func(q *queue) Amounts { return q.allocated }))
}
func (o *Oracle) Request(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.request })
}
func (o *Oracle) Inqueue(name string) Amounts { return o.queues[name].all }
func (o *Oracle) Elastic(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.elastic })
}

// Future returns allocated of a queue and all queues below it, once pods that are being deleted are gone.
func (o *Oracle) Future(name string) Amounts {
	return o.withShared(name, o.sum(name, func(q *queue) Amounts { return q.allocated.Minus(q.terminating) }))
}

// Charge adds the request of a task to a queue.
func (o *Oracle) Charge(name string, request Amounts) {
	o.queues[name].allocated = o.queues[name].allocated.Plus(request)
}

// Refund subtracts the request of a task from a queue, at most the charges of the queue itself. Otherwise its parents
// would refund charges of other queues. The refund of a group follows from the refunds of its cards.
func (o *Oracle) Refund(name string, request Amounts) {
	refund := maps.Clone(request)
	for d := range request {
		if _, group := o.cluster.Groups[d]; group {
			delete(refund, d)
		} else {
			refund[d] = min(refund[d], o.queues[name].allocated[d])
		}
	}

	o.queues[name].allocated = o.queues[name].allocated.Minus(o.cluster.Groups.With(refund))
}

// Reserved returns the reservations in a queue and in all queues below it.
func (o *Oracle) Reserved(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.reserved })
}

// Reserve reserves the request of a pod, and Unreserve takes it back.
func (o *Oracle) Reserve(name string, request Amounts) {
	o.queues[name].reserved = o.queues[name].reserved.Plus(request)
}
func (o *Oracle) Unreserve(name string, request Amounts) {
	o.queues[name].reserved = o.queues[name].reserved.Minus(request)
}

// rollUp sets inqueue of a queue to the sum of its jobs and of the promises of its children.
func (o *Oracle) rollUp(name string) Amounts {
	q := o.queues[name]
	q.all = Amounts{}.Plus(q.inqueue)
	for _, child := range o.Children(name) {
		if below := o.rollUp(child); !o.queues[child].Closed {
			q.all = q.all.Plus(o.promises(child, below))
		}
	}

	return q.all
}

// promises returns the part of an inqueue for which a queue has room.
func (o *Oracle) promises(name string, inqueue Amounts) Amounts {
	allocated := o.Allocated(name)
	elastic := o.Elastic(name)
	bound := o.Bound(name)
	part := Amounts{}
	for d, quantity := range inqueue {
		part[d] = min(quantity, max(0, bound[d]-allocated[d]+elastic[d]))
	}

	return part
}

// Promise adds the reservation of an admitted job to a queue.
func (o *Oracle) Promise(name string, min, placed, gated Amounts) {
	o.change(name, reservation(min, placed, gated), Amounts.Plus)
}

// change changes the inqueue of a queue. Its parent gets the change of the queue's promises, and so on up to the root.
func (o *Oracle) change(name string, by Amounts, change func(inqueue, by Amounts) Amounts) {
	for _, p := range o.Path(name) {
		before := o.queues[p].all
		after := change(before, by)
		o.queues[p].all = after
		by = o.promises(p, after).difference(o.promises(p, before))
	}
}

// Clone returns an independent copy, for a simulation. Amounts are replaced, never changed.
func (o *Oracle) Clone() *Oracle {
	c := &Oracle{
		cluster: o.cluster,
		names:   o.names,
		queues:  map[string]*queue{},
		claims:  o.claims,
		sharing: slices.Clone(o.sharing),
	}
	for name, q := range o.queues {
		copied := *q
		c.queues[name] = &copied
	}

	return c
}
