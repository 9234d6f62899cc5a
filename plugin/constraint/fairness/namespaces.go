package fairness

import (
	"cmp"
	"slices"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// namespaces orders the jobs of a queue by the usage of their namespaces (the word namespaces of the annotation
// volcano.sh/fair-share).
//
// Volcano keeps jobs in heaps with keys that must not change while the session runs. So each job gets a start tag
// when the first two jobs of its queue are compared, as in start-time fair queueing. The tag is the usage of its
// namespace then, with the requests of the jobs of the namespace that go before it.
type namespaces struct {
	order  *order
	orders []bool // by queue

	asked sync.Map   // jobs that the other plugins compare for the tags
	mu    sync.Mutex // Volcano compares the jobs of victims in many goroutines
	tags  map[index.Queue]map[api.JobID]float64
}

// OpenNamespaces returns the order, nil where no queue has it. It is called after Open.
func OpenNamespaces(s *constraint.Session, m *Memory, with *arguments.FairShare) *constraint.Hooks {
	if with.HalfLife == 0 || !s.Intake.HasPolicies() {
		return nil
	}

	n := &namespaces{order: &m.order, orders: make([]bool, s.Index.Len())}
	for q := range n.orders {
		n.orders[q] = n.order.ordersNamespaces(index.Queue(q))
	}
	if !slices.Contains(n.orders, true) {
		return nil
	}

	frame := s.Frames.Open()
	defer frame.Close()
	charge := frame.Vector()

	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || !n.orders[q] {
			continue
		}

		for _, task := range job.Tasks {
			if s.Intake.SetHeld(charge, q, task) {
				n.addHeld(q, job.Namespace, charge, 1)
			}
		}
	}

	m.history.Namespaces().Begin()
	n.tags = map[index.Queue]map[api.JobID]float64{}
	return n.hooks()
}

// hooks returns the hooks of usage of namespaces over time.
func (n *namespaces) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:    nil, // usage changes the order alone
		Hold:        nil, // for the same reason
		Fit:         nil, // for the same reason
		FitOwn:      nil, // for the same reason
		Lacks:       nil, // for the same reason
		MayTake:     nil, // for the same reason
		Charge:      nil, // jobs are not ordered in simulations
		Charged:     func(a constraint.Ask) { n.changed(a, 1) },
		Refunded:    func(a constraint.Ask) { n.changed(a, -1) },
		CompareJobs: n.compareJobs,
		OnlyThere:   policy.FairShareKey, // a plugin that orders all jobs leaves nothing to decide
	}
}

// ordersNamespaces reports whether usage orders the namespaces of a queue.
func (o *order) ordersNamespaces(q index.Queue) bool {
	on, _ := o.session.Intake.Policies(q).FairShareNamespaces()
	return on
}

// addHeld adds a charge to the usage of a namespace, or takes it back (sign -1).
func (n *namespaces) addHeld(q index.Queue, namespace string, charge fastres.Vector, sign float64) {
	m := n.order.memory
	for c, d := range m.dims {
		if amount := charge.Get(d); amount > 0 {
			member := usage.Member{Queue: n.order.session.Index.Name(q), Namespace: namespace}
			m.history.Namespaces().Hold(member, c, sign*amount)
		}
	}
}

func (n *namespaces) changed(a constraint.Ask, sign float64) {
	if n.orders[a.Queue] {
		n.addHeld(a.Queue, a.Task.Namespace, a.Request, sign)
	}
}

// compareJobs compares the start tags of two jobs of one queue.
func (n *namespaces) compareJobs(l, r *api.JobInfo) int {
	q := n.order.session.Index.Lookup(string(l.Queue))
	if q == index.None || l.Queue != r.Queue || !n.orders[q] {
		return 0
	}
	if _, own := n.asked.Load(l); own {
		return 0
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	tags := n.tags[q]
	if tags == nil {
		tags = n.tagsOf(q)
		n.tags[q] = tags
	}
	return cmp.Compare(tags[l.UID], tags[r.UID])
}

// tagsOf returns the start tags of the jobs of a queue.
func (n *namespaces) tagsOf(q index.Queue) map[api.JobID]float64 {
	var jobs []*api.JobInfo
	for _, job := range n.order.session.Volcano.Jobs {
		if n.order.session.Index.Lookup(string(job.Queue)) == q {
			question := *job
			jobs = append(jobs, &question)
			n.asked.Store(&question, true)
		}
	}
	defer n.asked.Clear()

	slices.SortFunc(jobs, func(l, r *api.JobInfo) int { // as the other plugins do
		if n.order.session.Volcano.JobOrderFn(l, r) {
			return -1
		}
		return 1
	})

	tags := map[api.JobID]float64{}
	before := map[string][]float64{}
	for _, job := range jobs {
		sum := before[job.Namespace]
		if sum == nil {
			sum = make([]float64, len(n.order.memory.dims))
			before[job.Namespace] = sum
		}

		tags[job.UID] = n.tag(q, job, sum)
	}
	return tags
}

// tag returns the start tag of a job. It adds the requests of the job to before, the requests of its namespace before
// other jobs. A job without pending pods may lose pods: its tag is the usage of the columns that it holds.
func (n *namespaces) tag(q index.Queue, job *api.JobInfo, before []float64) (tag float64) {
	o := n.order
	requests, columns := n.requests(q, job)
	who := usage.Member{Queue: o.session.Index.Name(q), Namespace: job.Namespace}

	for _, c := range columns {
		if total := o.session.Intake.Total.Get(o.memory.dims[c]); total > 0 {
			used := o.memory.history.Namespaces().Average(who, o.gamma, c)
			tag = max(tag, (used+before[c])*o.memory.weights[c]/total)
		}
		before[c] += requests[c]
	}
	return tag
}

// requests returns the requests of the pending pods of a job by column, with the first card of each list. It also
// returns the columns that count: the columns of pending pods with all cards of lists, or else the columns of running
// pods.
func (n *namespaces) requests(q index.Queue, job *api.JobInfo) (requests []float64, columns []int) {
	s, m := n.order.session, n.order.memory
	sum := fastres.NewVector(s.Intake.Dims.Length())
	one := fastres.NewVector(s.Intake.Dims.Length())
	requests = make([]float64, len(m.dims))

	for _, task := range job.TaskStatusIndex[api.Pending] {
		pod, _ := s.Intake.SetTask(one, q, task)
		sum.Add(one)
		columns = n.addCards(sum, pod, columns)
	}

	for c, d := range m.dims {
		requests[c] = sum.Get(d)
		if requests[c] > 0 && n.order.countsIn(q, c) && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}

	if len(columns) > 0 {
		return requests, columns
	}
	return requests, n.heldColumns(q, job)
}

// addCards adds the first card of each list of a pod to a sum, and the columns of all its cards to columns.
func (n *namespaces) addCards(sum fastres.Vector, pod *cards.PodRequest, columns []int) []int {
	s := n.order.session
	for r := range s.Cards.Requests(pod) {
		if len(r.Selector.Dims) > 0 {
			first := r.Selector.Dims[0]
			s.Names.AddCard(sum, first, float64(r.Of(first)))
		}

		for _, d := range r.Selector.Dims {
			if c, counts := n.order.memory.columnOf(d); counts && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	return columns
}

// heldColumns returns the columns that the running pods of a job hold and that count.
func (n *namespaces) heldColumns(q index.Queue, job *api.JobInfo) (columns []int) {
	held := fastres.NewVector(n.order.session.Intake.Dims.Length())
	for _, task := range job.Tasks {
		if !n.order.session.Intake.SetHeld(held, q, task) {
			continue
		}

		for c, d := range n.order.memory.dims {
			if held.Get(d) > 0 && n.order.countsIn(q, c) && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	return columns
}
