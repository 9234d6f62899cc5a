package plan

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/capacity-card/capacity-card/quota"
)

const (
	// usualChecks is Problem.Checks where it is 0.
	usualChecks = 256
	// fewUnits is the number of units up to which all sets of them are tried.
	fewUnits = 16
)

// search makes a plan.
type search struct {
	*state
	all    []*unit         // the cheapest first
	onNode map[int][]*unit // those with a pod on a node, the cheapest first
	checks int             // sets of victims that may still be tried

	runs    map[at]bool      // whether a node suits a kind of pods
	options map[int]*options // what nodes cost, by kind
	stamps  []int            // by node: how often victims have left it
	version int              // of the state, by which an option is known to be up to date
	// byCharge has the options of nodes with room, by kind and charge.
	byCharge map[at]*option
	spared   map[Victim]Spared
}

// at is a kind of pods on a node.
type at struct{ kind, node int }

// option is what the room for a pod on a node costs. An option of an older version is a lower bound: what was taken
// since then makes room elsewhere dearer, except on the nodes that victims have left.
type option struct {
	node       int
	cost       cost
	preference int
	version    int
	stamp      int // an option with an older stamp than its node is void
	possible   bool
}

// options is a heap of the options of one kind.
type options []*option

func (o options) Len() int      { return len(o) }
func (o options) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *options) Push(x any)   { *o = append(*o, x.(*option)) }

func (o options) Less(i, j int) bool {
	by := o[i].cost.compare(&o[j].cost)
	return cmp.Or(by, cmp.Compare(o[i].preference, o[j].preference), cmp.Compare(o[i].node, o[j].node)) < 0
}

// Pop removes the last option, as container/heap asks.
func (o *options) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}

// Make returns the plan for a problem. It has no victims if the pods fit on idle resources. The accounts are as before
// then.
//
// DIVERGES: upstream skips nodes without candidates, takes the first node where victims make room, and does not leave
// out victims that the others suffice without.
func Make(p *Problem) Plan {
	s := newSearch(p)
	failure := s.greedy()
	if failure == nil {
		s.leaveOut()
	}
	best := s.tryOthers(failure == nil)

	defer s.undo(0)
	if slices.Contains(s.nodes, None) {
		return Plan{Failure: failure, Best: best}
	}
	sum := s.costOf(s.units(0))
	return Plan{Nodes: slices.Clone(s.nodes), Victims: s.victims(), Broken: sum.broken, Best: best || sum.pods == 0}
}

func newSearch(p *Problem) *search {
	s := &search{state: newState(p), checks: cmp.Or(p.Checks, usualChecks), onNode: map[int][]*unit{}, runs: map[at]bool{},
		options: map[int]*options{}, stamps: make([]int, len(p.Nodes)), byCharge: map[at]*option{}, spared: map[Victim]Spared{}}
	s.all = s.allUnits()
	for _, u := range s.all {
		for _, node := range s.nodesOf(u) {
			s.onNode[node] = append(s.onNode[node], u)
		}
	}
	return s
}

// nodesOf returns the nodes where a unit has pods, each once.
func (s *search) nodesOf(u *unit) (nodes []int) {
	for pod := range s.Jobs[u.job].Pods {
		node := s.Jobs[u.job].Pods[pod].Node
		if node != None && (u.whole() || u.pod == pod) && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// canRun reports whether a node suits a pod, and remembers it for its kind.
func (s *search) canRun(pod, node int) bool {
	key := at{s.Pods[pod].Kind, node}
	runs, known := s.runs[key]
	if !known {
		runs = s.Accounts.CanRun(pod, node)
		s.runs[key] = runs
	}
	return runs
}

// greedy places one pod after the other where it costs least. It returns why one gets no node, nil if all have one.
func (s *search) greedy() *Failure {
	for pod := range s.Pods {
		if s.placeIdle(pod) || s.placeCheapest(pod) {
			continue
		}
		failure := s.explain(pod)
		s.undo(0)
		return failure
	}
	if v := s.Accounts.Settled(); !v.OK() && len(s.units(0)) > 0 {
		failure := &Failure{Pod: 0, Node: s.nodes[0], Verdict: v, Spared: s.spared}
		s.undo(0)
		return failure
	}
	return nil
}

// placeIdle places a pod on the preferred node that has room for it, of these on the one that it fills most.
func (s *search) placeIdle(pod int) bool {
	nodes := s.idleNodes(pod)
	slices.SortFunc(nodes, func(x, y int) int {
		return cmp.Or(cmp.Compare(s.Accounts.Preference(pod, x), s.Accounts.Preference(pod, y)),
			cmp.Compare(s.fills(pod, y), s.fills(pod, x)), cmp.Compare(x, y))
	})

	refused := map[int]bool{}
	for _, node := range nodes {
		charged := s.Accounts.Charged(pod, node)
		if refused[charged] || !s.canRun(pod, node) {
			continue
		}
		if s.place(pod, node).OK() {
			s.version++
			return true
		}
		refused[charged] = true
	}
	return false
}

// idleNodes returns the nodes with room for a pod.
func (s *search) idleNodes(pod int) (nodes []int) {
	for node := range s.Nodes {
		if s.hasRoom(pod, node) && s.Accounts.Charged(pod, node) != None {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// fills returns how much of a node a pod takes: the largest part of what is left of a resource.
func (s *search) fills(pod, node int) (most float64) {
	for r, requested := range s.Pods[pod].Requests {
		if requested > 0 {
			most = max(most, requested/max(requested, s.free[node][r]))
		}
	}
	return most
}

// placeCheapest evicts the cheapest victims that make room for a pod, and places it.
func (s *search) placeCheapest(pod int) bool {
	options := s.optionsOf(pod)
	for options.Len() > 0 {
		o := heap.Pop(options).(*option)
		if o.stamp != s.stamps[o.node] || !s.canRun(pod, o.node) {
			continue
		}
		if o.version != s.version {
			fresh := s.evaluate(pod, o.node)
			if fresh.possible {
				heap.Push(options, fresh)
			}
			continue
		}

		before := len(s.steps)
		s.makeRoom(pod, o.node)
		s.version++
		heap.Push(options, o)
		for _, u := range s.units(before) {
			for _, touched := range s.nodesOf(u) {
				s.forget(touched)
			}
		}
		return true
	}
	return false
}

// optionsOf returns the options of the kind of a pod, the cheapest first. What is not known yet costs nothing.
func (s *search) optionsOf(pod int) *options {
	kind := s.Pods[pod].Kind
	all := s.options[kind]
	if all == nil {
		all = &options{}
		s.options[kind] = all
		for node := range s.Nodes {
			if s.Accounts.Charged(pod, node) != None {
				*all = append(*all, s.unknown(pod, node))
			}
		}
		heap.Init(all)
	}
	return all
}

// unknown returns the option of a node that is not evaluated.
func (s *search) unknown(pod, node int) *option {
	return &option{node: node, preference: s.Accounts.Preference(pod, node), version: -1, stamp: s.stamps[node]}
}

// forget drops what is known of a node that victims have left: it may be cheaper now, for all kinds.
func (s *search) forget(node int) {
	s.stamps[node]++
	seen := map[int]bool{}
	for pod := range s.Pods {
		kind := s.Pods[pod].Kind
		all := s.options[kind]
		if all == nil || seen[kind] || s.Accounts.Charged(pod, node) == None {
			continue
		}
		seen[kind] = true
		heap.Push(all, s.unknown(pod, node))
	}
}

// evaluate returns what a node costs for a pod. Where nodes have room, the bounds alone decide, and all nodes with the
// same charge cost the same.
func (s *search) evaluate(pod, node int) *option {
	key := at{s.Pods[pod].Kind, s.Accounts.Charged(pod, node)}
	hasRoom := s.hasRoom(pod, node)
	o := s.unknown(pod, node)
	o.version = s.version
	if known := s.byCharge[key]; hasRoom && known != nil && known.version == s.version {
		o.possible, o.cost = known.possible, known.cost
		return o
	}

	before := len(s.steps)
	o.possible = s.makeRoom(pod, node)
	if o.possible {
		o.cost = s.costOf(s.units(before))
	}
	s.undo(before)

	if hasRoom {
		s.byCharge[key] = o
	}
	return o
}

// makeRoom evicts units until a pod fits on a node, leaves out those that are not needed, and places it. If that is not
// possible, the units are evicted all the same.
func (s *search) makeRoom(pod, node int) bool {
	if !s.Accounts.MayTake(pod, node) {
		return s.hasRoom(pod, node) && s.place(pod, node).OK()
	}

	before := len(s.steps)
	if !s.evictWhile(s.onNode[node], func(victim Victim) bool { return s.helps(pod, node, victim) },
		func() bool { return !s.hasRoom(pod, node) }) {
		return false
	}
	placed := false
	s.evictWhile(s.all, func(victim Victim) bool { return s.Accounts.Relieves(pod, node, victim.Job, victim.Pod) },
		func() bool { placed = placed || s.place(pod, node).OK(); return !placed })
	if !placed {
		return false
	}

	units := s.units(before)
	for i := len(units) - 1; i >= 0; i-- {
		others := slices.Delete(slices.Clone(units), i, i+1)
		s.undo(before)
		if s.evictAll(others) && s.hasRoom(pod, node) && s.place(pod, node).OK() {
			units = others
		}
	}
	s.undo(before)
	return s.evictAll(units) && s.place(pod, node).OK()
}

// helps reports whether a candidate frees something on a node that a pod lacks there.
func (s *search) helps(pod, node int, victim Victim) bool {
	c := &s.Jobs[victim.Job].Pods[victim.Pod]
	if c.Node != node {
		return false
	}
	for r, frees := range c.Frees {
		if frees > 0 && c.For[r] && s.lacksOn(pod, node, r) {
			return true
		}
	}
	return false
}

// evictWhile evicts the units with a pod that is of use, as long as something is lacking. It reports whether nothing
// is.
func (s *search) evictWhile(units []*unit, useful func(Victim) bool, lacking func() bool) bool {
	if !lacking() {
		return true
	}
	for _, u := range units {
		pods := s.remaining(u)
		if !slices.ContainsFunc(pods, func(pod int) bool { return useful(Victim{u.job, pod}) }) {
			continue
		}
		if by := s.evict(u); by != Taken {
			for _, pod := range pods {
				s.spared[Victim{u.job, pod}] = by
			}
			continue
		}
		if !lacking() {
			return true
		}
	}
	return false
}

// evictAll evicts some units. Those with fewer pods go first: a queue may end below what it deserves by less than its
// last victim, so the largest one has to be the last one.
func (s *search) evictAll(units []*unit) bool {
	ordered := slices.Clone(units)
	slices.SortStableFunc(ordered, func(x, y *unit) int { return cmp.Compare(x.cost.pods, y.cost.pods) })

	for _, u := range ordered {
		if len(s.remaining(u)) == 0 || s.evict(u) != Taken {
			return false
		}
	}
	return true
}

// explain returns why a pod gets no node: what it lacks on the node where it lacks least.
func (s *search) explain(pod int) *Failure {
	failure := &Failure{Pod: pod, Node: None, Verdict: quota.Verdict{Reason: quota.Admitted}}
	least := 0.0
	before := len(s.steps)
	for node := range s.Nodes {
		if s.Accounts.Charged(pod, node) == None || !s.canRun(pod, node) {
			continue
		}
		s.makeRoom(pod, node)
		missing, lacks := 0.0, make([]float64, len(s.Pods[pod].Requests))
		for r, requested := range s.Pods[pod].Requests {
			if s.lacksOn(pod, node, r) {
				lacks[r] = requested - s.free[node][r]
				missing += lacks[r] / requested
			}
		}
		if failure.Node == None || missing < least {
			least = missing
			failure.Node, failure.Lacks = node, lacks
			mark := s.Accounts.Mark()
			failure.Verdict = s.Accounts.Place(pod, node)
			s.Accounts.Undo(mark)
		}
		s.undo(before)
	}
	failure.Spared = s.spared
	if failure.Node != None {
		s.addMinimums(pod, failure)
	}
	return failure
}

// addMinimums adds the pods on the node of a failure that would help, and that their jobs need.
func (s *search) addMinimums(pod int, failure *Failure) {
	for j := range s.Jobs {
		for victim := range s.Jobs[j].Pods {
			v := Victim{j, victim}
			_, known := failure.Spared[v]
			if !known && !s.Jobs[j].Pods[victim].Fixed && s.helps(pod, failure.Node, v) {
				failure.Spared[v] = ByMinimum
			}
		}
	}
}
