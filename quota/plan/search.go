package plan

import (
	"cmp"
	"container/heap"
	"slices"
)

const (
	// usualChecks takes the place of Problem.Checks if it is 0.
	usualChecks = 256

	// fewUnits is the largest number of units for which all sets are tried.
	fewUnits = 16
)

// search makes a plan.
type search struct {
	*state
	all    []*unit         // the cheapest first
	onNode map[int][]*unit // units with a pod on a node, the cheapest first
	checks int             // sets of victims that may still be tried

	runs     map[placement]bool   // whether a node suits a kind of pods
	options  map[int]*options     // the options of a kind of pods
	stamps   []int                // by node: how often victims have left it
	version  int                  // of the state; an option of an older version is out of date
	byCharge map[charging]*option // options of nodes with room, at the present version
	spared   map[Victim]Spared    // candidates that were not evicted, and why
}

// placement is a kind of pods on a node.
type placement struct{ kind, node int }

// charging is a kind of pods and the number of its charge, see Accounts.Charged.
type charging struct{ kind, charged int }

// Make returns the plan for a problem. It has no victims if the pods fit on idle resources. Make leaves the accounts
// unchanged.
//
// DIVERGES: upstream skips nodes without candidates, takes the first node where victims make room, and keeps victims
// that are not needed.
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
	s := &search{
		state:    newState(p),
		onNode:   map[int][]*unit{},
		checks:   cmp.Or(p.Checks, usualChecks),
		runs:     map[placement]bool{},
		options:  map[int]*options{},
		stamps:   make([]int, len(p.Nodes)),
		byCharge: map[charging]*option{},
		spared:   map[Victim]Spared{},
	}

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

// canRun reports whether a node suits a pod. It remembers the answer for the kind of the pod.
func (s *search) canRun(pod, node int) bool {
	key := placement{s.Pods[pod].Kind, node}
	runs, known := s.runs[key]
	if !known {
		runs = s.Accounts.CanRun(pod, node)
		s.runs[key] = runs
	}

	return runs
}

// greedy places the pods one after the other, each where it costs least. It returns nil if all pods have a node.
// Otherwise it undoes all steps.
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

// placeIdle places a pod on the preferred node with room for it. Among equally preferred nodes, it takes the node that
// the pod fills most.
func (s *search) placeIdle(pod int) bool {
	nodes := s.idleNodes(pod)
	s.sortNodes(pod, nodes)

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

// sortNodes sorts nodes by the preference of a pod, then by the part that the pod fills, the fullest first.
func (s *search) sortNodes(pod int, nodes []int) {
	slices.SortStableFunc(nodes, func(x, y int) int {
		return cmp.Or(cmp.Compare(s.Accounts.Preference(pod, x), s.Accounts.Preference(pod, y)),
			cmp.Compare(s.fills(pod, y), s.fills(pod, x)))
	})
}

// fills returns the part of a node that a pod fills: the largest fraction of a free resource.
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

		// An old cost is a lower bound, so the option goes back with its present cost.
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
			for _, node := range s.nodesOf(u) {
				s.forget(node)
			}
		}
		return true
	}

	return false
}

// makeRoom evicts units until a pod fits on a node, places the pod, and leaves out units that are not needed. If the
// pod does not fit, the units stay evicted.
func (s *search) makeRoom(pod, node int) bool {
	if !s.Accounts.MayTake(pod, node) {
		return s.hasRoom(pod, node) && s.place(pod, node).OK()
	}

	// First the node needs room, then the bounds.
	before := len(s.steps)
	helps := func(victim Victim) bool { return s.helps(pod, node, victim) }
	if !s.evictWhile(s.onNode[node], helps, func() bool { return !s.hasRoom(pod, node) }) {
		return false
	}

	relieves := func(victim Victim) bool { return s.Accounts.Relieves(pod, node, victim.Job, victim.Pod) }
	if !s.evictWhile(s.all, relieves, func() bool { return !s.place(pod, node).OK() }) {
		return false
	}

	units := s.units(before)
	for i := len(units) - 1; i >= 0; i-- {
		others := without(units, i)
		s.undo(before)
		if s.evictAll(others) && s.hasRoom(pod, node) && s.place(pod, node).OK() {
			units = others
		}
	}

	s.undo(before)
	return s.evictAll(units) && s.place(pod, node).OK()
}

// helps reports whether a candidate runs on a node and frees a resource that a pod lacks there.
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

// evictWhile evicts units with a useful pod, one after the other, until lacking returns false. It reports whether that
// happens. It does not call lacking again after the first false.
func (s *search) evictWhile(units []*unit, useful func(Victim) bool, lacking func() bool) bool {
	if !lacking() {
		return true
	}

	for _, u := range units {
		pods := s.remaining(u)
		if !slices.ContainsFunc(pods, func(pod int) bool { return useful(Victim{u.job, pod}) }) {
			continue
		}

		by := s.evict(u)
		if by != Taken {
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

// evictAll evicts some units.
func (s *search) evictAll(units []*unit) bool {
	// The last victim may take a queue below its deserved quota, so the largest unit has to be the last one.
	ordered := slices.Clone(units)
	slices.SortStableFunc(ordered, func(x, y *unit) int { return cmp.Compare(x.cost.pods, y.cost.pods) })

	for _, u := range ordered {
		if len(s.remaining(u)) == 0 || s.evict(u) != Taken {
			return false
		}
	}

	return true
}

// without returns the units without the unit i.
func without(units []*unit, i int) []*unit {
	return slices.Delete(slices.Clone(units), i, i+1)
}
