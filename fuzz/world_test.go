package fuzz

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// world is one cluster, in the engine and in the oracle, with the tasks and jobs of its
// events.
type world struct {
	t      *testing.T
	rand   *rand.Rand
	ix     *index.Index
	names  *index.Names
	oracle *oracle.Oracle

	byWeight   bool // deserved follows from weights
	kept       quota.Guarantees
	bounded    quota.Jobs
	boundsJobs bool // some queue bounds its jobs
	victims    quota.Victims
	left       index.Overlay // without the victims
	scratch    fastres.Vector
	pending    quota.Pending
	tasks      []*task
	jobs       []*job
	returns    quota.Returns
	groups     oracle.Groups // of cards: then the scalars are cards
}

type task struct {
	queue   string
	request oracle.Amounts
	placed  bool
}

type job struct {
	workload.Job
	placed, gated oracle.Amounts
}

// newWorld draws a cluster and builds its world.
func newWorld(t *testing.T, r *rand.Rand) *world {
	return build(t, r, draw(r), &index.Index{}, &index.Names{}, inOrder)
}

// draw draws a cluster. Some have broken queues, and jobs in queues that take no jobs.
func draw(r *rand.Rand) workload.Cluster {
	c := workload.Draw(r)
	if c.Hierarchy && r.IntN(6) == 0 {
		c.Queues = append(c.Queues, workload.Queue{Name: "orphan", Parent: "gone", Guarantee: workload.Resources{"cpu": 500}},
			workload.Queue{Name: "orphans-child", Parent: "orphan"}, workload.Queue{Name: "tail", Parent: "loop-a"},
			workload.Queue{Name: "loop-a", Parent: "loop-b"}, workload.Queue{Name: "loop-b", Parent: "loop-a"})
	}
	for i := range c.Jobs {
		if r.IntN(10) == 0 { // in any queue, also inner or broken, or in a queue that does not exist
			c.Jobs[i].Queue = append(c.Queues, workload.Queue{Name: "gone"})[r.IntN(len(c.Queues)+1)].Name
		}
	}
	return c
}

// inOrder is a shuffle that keeps the order.
func inOrder(int, func(i, j int)) {}

// build builds the world of a cluster, in an index and with names that may have served
// another cluster. shuffle changes the order of queues, jobs and names. No verdict depends
// on either.
func build(t *testing.T, r *rand.Rand, c workload.Cluster, ix *index.Index, known *index.Names, shuffle func(n int, swap func(i, j int))) *world {
	w := &world{t: t, rand: r, ix: ix, names: known}
	w.build(c, shuffle)
	return w
}

func (w *world) build(c workload.Cluster, shuffle func(n int, swap func(i, j int))) {
	c.Queues, c.Jobs = slices.Clone(c.Queues), slices.Clone(c.Jobs)
	shuffle(len(c.Queues), func(i, j int) { c.Queues[i], c.Queues[j] = c.Queues[j], c.Queues[i] })
	shuffle(len(c.Jobs), func(i, j int) { c.Jobs[i], c.Jobs[j] = c.Jobs[j], c.Jobs[i] })
	total, named := oracle.Amounts{}, []workload.Resources{}
	for _, n := range c.Nodes {
		total = total.Plus(amounts(n.Allocatable))
		named = append(named, n.Allocatable)
	}
	for _, q := range c.Queues {
		named = append(named, q.Capability, q.Deserved, q.Guarantee)
	}
	for _, j := range c.Jobs {
		named = append(named, j.MinResources)
		for _, task := range j.Tasks {
			named = append(named, task.Request)
		}
	}
	names := w.intern(named, shuffle)
	from := oracle.Cluster{Total: total, Bound: total, Groups: w.groups}
	if c.Hierarchy {
		from.Root = "root"
	}
	if len(c.Nodes) == 4 { // some clusters have rootCapability: unlimited
		from.Bound = oracle.Amounts{}
		for _, name := range append(names, oracle.CPU, oracle.Memory, oracle.Pods) {
			from.Bound[name] = oracle.Unlimited
		}
	}
	if len(c.Nodes) == 4 && len(c.Queues)%2 == 0 { // some of these keep guarantees of all resources
		from.Available = total
	}
	from.OpenRoot = len(c.Jobs)%2 == 1   // some clusters have the rules of Volcano v1.14.2
	from.ZeroLeaf = len(c.Jobs) == 0     // these clusters show bounds alone
	from.ByWeight = len(c.Queues)%3 == 0 // some clusters have deservedFrom: weight
	for _, q := range c.Queues {
		most := 0
		if len(c.Nodes)%2 == 1 { // some clusters have max-jobs
			most = int(q.Weight)
		}
		factor := 0.0
		if len(c.Jobs)%3 == 1 && q.Weight%2 == 0 { // some clusters have overcommit factors
			factor = 500 * float64(q.Weight)
		}
		from.Queues = append(from.Queues, oracle.Queue{Counts: oracle.Counts{MaxJobs: most}, Overcommit: factor, Name: q.Name, Parent: q.Parent, Closed: q.Closed,
			Capability: amounts(q.Capability), Deserved: amounts(q.Deserved), Guarantee: amounts(q.Guarantee), Weight: float64(q.Weight)})
	}
	for _, j := range c.Jobs {
		from.Jobs = append(from.Jobs, w.job(j))
	}
	w.byWeight = from.ByWeight
	w.setGroups()
	w.oracle = oracle.New(from)
	w.buildIndex(from)
	w.victims.Reset(w.ix, w.ix, w.names)
}

// beginVictims starts a call in which no task is a victim yet.
func (w *world) beginVictims() {
	w.left.Begin(w.ix)
	w.victims.Begin(&w.left)
}

// amounts converts resources, and keeps the units of the workload. A nil map is nil.
func amounts(r workload.Resources) oracle.Amounts {
	if r == nil {
		return nil
	}
	a := oracle.Amounts{}
	for name, amount := range r {
		a[name] = float64(amount)
	}
	return a
}

// intern gives every name of the resources a dimension, and returns the names.
func (w *world) intern(named []workload.Resources, shuffle func(int, func(i, j int))) (names []string) {
	for _, r := range named {
		names = slices.AppendSeq(names, maps.Keys(r))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		if w.isCard(name) {
			w.names.InternCard(name)
		} else {
			w.names.Intern(name)
		}
	}
	return names
}

// isCard reports whether a dimension is a card or a group of cards.
func (w *world) isCard(name string) bool {
	return w.groups != nil && name != oracle.CPU && name != oracle.Memory && name != oracle.Pods
}

// dim returns the dimension of a name.
func (w *world) dim(name string) (fastres.Dim, bool) {
	if w.isCard(name) {
		return w.names.LookupCard(name)
	}
	return w.names.Lookup(name)
}

// job records a job and its tasks, and returns the job for the oracle.
func (w *world) job(j workload.Job) oracle.Job {
	counted := oracle.Job{Queue: j.Queue, Min: w.groups.With(amounts(j.MinResources)), MinMember: int(j.MinMember),
		Inqueue: j.Phase == workload.Inqueue, Running: j.Phase == workload.Running, Unknown: j.Phase == workload.Unknown}
	recorded := &job{Job: j}
	for _, each := range j.Tasks {
		t := oracle.Task{Request: amounts(each.Request), Pending: each.Status == workload.TaskPending, Gated: each.Gated}
		t.Request["pods"]++
		t.Request = w.groups.With(t.Request)
		switch each.Status {
		case workload.TaskAllocated, workload.TaskBinding, workload.TaskBound, workload.TaskRunning:
			t.Placed = true
			recorded.placed = recorded.placed.Plus(t.Request)
		}
		if t.Gated {
			recorded.gated = recorded.gated.Plus(t.Request)
		}
		counted.Tasks = append(counted.Tasks, t)
		if t.Placed || t.Pending {
			w.tasks = append(w.tasks, &task{j.Queue, t.Request, t.Placed})
		}
	}
	w.jobs = append(w.jobs, recorded)
	return counted
}

// vector converts amounts to a vector.
func (w *world) vector(a oracle.Amounts) fastres.Vector {
	x := fastres.NewVector(w.names.Len())
	for name, quantity := range a {
		d, ok := w.dim(name)
		if !ok {
			w.t.Fatalf("%s has no dimension", name)
		}
		x.Set(d, quantity)
	}
	return x
}

// buildIndex fills the index as package plugin does when a session opens.
func (w *world) buildIndex(c oracle.Cluster) {
	var nodes []index.Node
	for _, q := range c.Queues {
		nodes = append(nodes, index.Node{Name: q.Name, Parent: q.Parent})
	}
	w.scratch = fastres.NewVector(w.names.Len())
	w.ix.Reset(index.BuildTree(nodes, c.Root), w.names.Len())
	set, closed, weights := map[index.Queue]bool{}, map[index.Queue]bool{}, map[index.Queue]float64{}
	for _, queue := range c.Queues {
		q := w.ix.Lookup(queue.Name)
		w.ix.Capability.Row(q).Add(w.vector(queue.Capability))
		if !c.ByWeight {
			w.ix.Deserved.Row(q).Add(w.vector(queue.Deserved))
		}
		w.ix.Guarantee.Row(q).Add(w.vector(queue.Guarantee))
		set[q], closed[q], weights[q] = len(queue.Capability) > 0, queue.Closed, queue.Weight
	}
	limits := quota.Limits{Total: w.vector(c.Total), Bound: w.vector(c.Bound), OpenRoot: c.OpenRoot, ZeroLeaf: c.ZeroLeaf}
	if c.Root != "" {
		quota.TreeBounds(w.ix, limits)
	} else {
		quota.FlatBounds(w.ix, limits, func(q index.Queue) bool { return set[q] })
	}
	if c.ByWeight {
		quota.DeservedByWeight(w.ix, limits.Total, func(q index.Queue, _ fastres.Dim) float64 { return weights[q] })
	}
	factors := make([]int64, w.ix.Len())
	for _, queue := range c.Queues {
		factors[w.ix.Lookup(queue.Name)] = int64(queue.Overcommit)
	}
	quota.BoundAdmission(w.ix, func(q index.Queue) int64 {
		for _, p := range w.ix.Path(q) {
			if factors[p] > 0 {
				return factors[p]
			}
		}
		return 0
	})
	jobs, most := make([]int, w.ix.Len()), map[index.Queue]int{}
	for _, j := range c.Jobs {
		if q := w.ix.Lookup(j.Queue); q != index.None {
			w.countJob(q, j)
			if j.Inqueue || j.Running || j.Unknown {
				jobs[q]++
			}
		}
	}
	for _, queue := range c.Queues {
		most[w.ix.Lookup(queue.Name)] = queue.MaxJobs
	}
	w.boundsJobs = w.bounded.Reset(w.ix.Tree, jobs, func(q index.Queue) int { return most[q] })
	w.ix.RollUp()
	available := fastres.NewVector(w.names.Len())
	available.Fill(fastres.MaxQuantity)
	for name, quantity := range c.Available {
		d, _ := w.dim(name)
		available.Set(d, quantity)
	}
	w.kept.Reset(w.ix, w.ix, available)
	quota.RollUpInqueue(w.ix, func(q index.Queue) bool { return !closed[q] })
	for q := range index.Queue(w.ix.Len()) {
		w.ix.SetShare(q, quota.Share(w.ix.Allocated(q), w.ix.Deserved.Row(q)))
	}
}

func (w *world) countJob(q index.Queue, j oracle.Job) {
	var placed, pending, gated oracle.Amounts
	members := 0
	for _, t := range j.Tasks {
		switch {
		case t.Placed:
			placed, members = placed.Plus(t.Request), members+1
		case t.Pending:
			pending = pending.Plus(t.Request)
		}
		if t.Gated {
			gated = gated.Plus(t.Request)
		}
	}
	w.ix.NoteOwnJobs(q)
	w.ix.Mutable(q).Add(w.vector(placed))
	w.ix.Request.Row(q).Add(w.vector(placed.Plus(pending)))
	w.scratch.SetExceeded(w.vector(placed), w.vector(j.Min))
	w.ix.Elastic.Row(q).Add(w.scratch)
	if j.Min != nil && (j.Inqueue || j.Running && members >= j.MinMember) {
		quota.Reservation(w.scratch, w.vector(j.Min), w.vector(placed), w.vector(gated))
		w.ix.Inqueue.Row(q).Add(w.scratch)
	}
}

// number returns the number of a queue in the index.
func (w *world) number(name string) index.Queue { return w.ix.Lookup(name) }

// pick draws one of all, or the zero value if there is none.
func pick[T any](r *rand.Rand, all []T) (one T) {
	if len(all) > 0 {
		one = all[r.IntN(len(all))]
	}
	return one
}

// known returns the tasks with a queue that exists.
func (w *world) known() []*task {
	return slices.DeleteFunc(slices.Clone(w.tasks), func(t *task) bool { return w.number(t.queue) == index.None })
}

// place charges or refunds a task in the engine and in the oracle.
func (w *world) place(t *task, placed bool) {
	t.placed = placed
	w.charge(t, placed)
	if placed {
		w.oracle.Charge(t.queue, t.request)
	} else {
		w.oracle.Refund(t.queue, t.request)
	}
}

// charge charges or refunds a task in the engine alone.
func (w *world) charge(t *task, placed bool) {
	q, request := w.number(t.queue), w.vector(t.request)
	w.ix.NoteOwnJobs(q)
	if placed {
		quota.Charge(w.ix, q, request)
		w.kept.Update(q, request, 1)
	} else {
		refund := quota.Refund(w.ix, q, request, w.scratch)
		w.kept.Update(q, refund, -1)
	}
	quota.RefreshShare(w.ix, q, quota.Share)
	w.ix.Check()
}

// enqueue reserves the minimum of a job in the engine and in the oracle.
func (w *world) enqueue(j *job) {
	w.reserve(j)
	w.oracle.AdmitJob(j.Queue)
	w.oracle.Promise(j.Queue, w.groups.With(amounts(j.MinResources)), j.placed, j.gated)
}

// reserve reserves the minimum of a job in the engine alone.
func (w *world) reserve(j *job) {
	reservation := fastres.NewVector(w.names.Len())
	quota.Reservation(reservation, w.vector(w.groups.With(amounts(j.MinResources))), w.vector(j.placed), w.vector(j.gated))
	w.ix.NoteOwnJobs(w.number(j.Queue))
	quota.ChangeInqueue(w.ix, w.number(j.Queue), reservation, 1)
	w.bounded.Count(w.number(j.Queue), 1)
}

// same expects a vector to equal the amounts of the oracle. It compares presence where rules
// depend on it.
func (w *world) same(want oracle.Amounts, got fastres.Vector, presence bool, what ...any) {
	for d := range fastres.Dim(w.names.Len()) {
		name := w.names.Name(d)
		if want[name] != got.Get(d) {
			w.t.Fatalf("%s: %s is %v in the oracle, and %v in the engine", fmt.Sprint(what...), name, want[name], got.Get(d))
		}
		if _, named := want[name]; presence && d > fastres.Memory && named != got.Has(d) {
			w.t.Fatalf("%s: %s is present in the oracle: %t, in the engine: %t", fmt.Sprint(what...), name, named, got.Has(d))
		}
	}
}
