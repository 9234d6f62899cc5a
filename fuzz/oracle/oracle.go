package oracle

import (
	"cmp"
	"maps"
	"slices"
)

// Cluster is what accounts and bounds follow from.
type Cluster struct {
	Root     string   // "": queues are flat, and nobody has a parent
	Total    Amounts  // what the cluster has
	Bound    Amounts  // what the root is bound to: Total, or Unlimited
	ZeroLeaf bool     // cpu and memory that a leaf does not set are 0
	ByWeight bool     // what queues deserve follows from their weights
	Cards    []string // none where cards count for nobody
	Queues   []Queue
	Jobs     []Job
}

// Queue is a queue as it is configured.
type Queue struct {
	Name, Parent                    string // Parent "": below the root
	Capability, Deserved, Guarantee Amounts
	Weight                          float64

	// Of cards, where they count: what the three annotations say.
	CardsCount                             bool
	CardQuota, CardDeserved, CardGuarantee Amounts
}

// Job is a job as it is when the session opens.
type Job struct {
	Queue     string
	Min       Amounts // nil: not set
	MinMember int
	Inqueue   bool // the phase of its PodGroup
	Running   bool // the phase of its PodGroup
	Tasks     []Task
}

// Task is a pod. It is Placed, Pending, or neither.
type Task struct {
	Request                Amounts // with the card that it has
	Placed, Pending, Gated bool
}

// Oracle knows the queues of one session.
type Oracle struct {
	cluster Cluster
	names   []string // of all queues, in alphabetical order
	queues  map[string]*queue
}

// queue is a queue with what follows from the configuration, and with the
// accounts of its own jobs, to which those of all queues below are added when
// somebody asks.
type queue struct {
	Queue
	path                                   []string
	capability, bound, deserved, guarantee Amounts
	allocated, request, inqueue, elastic   Amounts
}

// New derives bounds and counts jobs. Of two queues with one name the first
// counts; a root that is missing is made up.
func New(c Cluster) *Oracle {
	o := &Oracle{cluster: c, queues: map[string]*queue{}}
	for _, q := range c.Queues {
		if o.queues[q.Name] == nil {
			o.queues[q.Name] = &queue{Queue: q}
		}
	}
	if c.Root != "" && o.queues[c.Root] == nil {
		o.queues[c.Root] = &queue{Queue: Queue{Name: c.Root}}
	}
	o.names = slices.Sorted(maps.Keys(o.queues))
	for name, q := range o.queues {
		q.path = o.climb(name)
	}
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
	return o
}

// climb returns a queue and all above it. A member of a cycle has nothing above
// it; what hangs from a cycle hangs from one member.
func (o *Oracle) climb(name string) []string {
	path := []string{name}
	for at := name; !o.cycles(at); {
		if at = o.namedParent(at); at == "" {
			break
		}
		path = append(path, at)
	}
	return path
}

// namedParent is the parent that a queue names, "" if there is no such queue.
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
		if at = o.namedParent(at); at == "" || at == name {
			break
		}
	}
	return at == name
}

// Path returns a queue, its parent, and so on up to the top.
func (o *Oracle) Path(name string) []string { return o.queues[name].path }

// within reports whether a queue is another one, or below it.
func (o *Oracle) within(name, other string) bool { return slices.Contains(o.Path(name), other) }

// Broken reports whether a queue does not reach the root.
func (o *Oracle) Broken(name string) bool {
	path := o.Path(name)
	return o.cluster.Root != "" && path[len(path)-1] != o.cluster.Root
}

// Names returns all queues in alphabetical order.
func (o *Oracle) Names() []string { return slices.Clone(o.names) }

// Children returns the queues right below one.
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

// Eligible says why a queue takes no jobs at all, "" if it does.
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
	placed, pending, gated, members := Amounts{}, Amounts{}, Amounts{}, 0
	for _, t := range j.Tasks {
		switch {
		case t.Placed:
			placed = placed.Plus(t.Request)
			members++
		case t.Pending:
			pending = pending.Plus(t.Request)
		}
		if t.Gated {
			gated = gated.Plus(t.Request)
		}
	}
	q.allocated = q.allocated.Plus(placed)
	q.request = q.request.Plus(placed).Plus(pending)
	q.elastic = q.elastic.Plus(placed.beyond(j.Min))
	// A job that runs below its minimum of tasks lost some for good, and waits
	// for nothing.
	if j.Min != nil && (j.Inqueue || j.Running && members >= j.MinMember) {
		q.inqueue = q.inqueue.Plus(promise(j.Min, placed, gated))
	}
}

// promise is what an enqueued job still waits for.
func promise(min, placed, gated Amounts) Amounts { return min.beyond(placed).Minus(gated) }

// sum adds up an account of a queue and of all below it.
func (o *Oracle) sum(name string, account func(*queue) Amounts) Amounts {
	sum := Amounts{}
	for _, below := range o.names {
		if o.within(below, name) {
			sum = sum.Plus(account(o.queues[below]))
		}
	}
	return sum
}

// Allocated, Request, Inqueue and Elastic are the accounts of a queue with all
// that is below it.
func (o *Oracle) Allocated(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.allocated })
}
func (o *Oracle) Request(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.request })
}
func (o *Oracle) Inqueue(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.inqueue })
}
func (o *Oracle) Elastic(name string) Amounts {
	return o.sum(name, func(q *queue) Amounts { return q.elastic })
}

// Charge places a task of a queue.
func (o *Oracle) Charge(name string, request Amounts) {
	o.queues[name].allocated = o.queues[name].allocated.Plus(request)
}

// Refund takes a task of a queue away. More than the queue itself was charged
// is not given back, or its parents would give back what others use.
func (o *Oracle) Refund(name string, request Amounts) {
	o.queues[name].allocated = o.queues[name].allocated.Minus(request)
}

// Promise enqueues a job.
func (o *Oracle) Promise(name string, min, placed, gated Amounts) {
	o.queues[name].inqueue = o.queues[name].inqueue.Plus(promise(min, placed, gated))
}

// Clone returns an independent copy, for a what-if. Amounts are never changed,
// only replaced.
func (o *Oracle) Clone() *Oracle {
	c := &Oracle{cluster: o.cluster, names: o.names, queues: map[string]*queue{}}
	for name, q := range o.queues {
		copied := *q
		c.queues[name] = &copied
	}
	return c
}
