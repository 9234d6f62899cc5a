package plan

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// leaveOut leaves out the units that are not needed, the dearest first.
func (s *search) leaveOut() {
	units := s.units(0)
	if len(units) == 0 {
		return
	}

	best := slices.Clone(s.steps)
	slices.SortStableFunc(units, func(x, y *unit) int { return x.cost.compare(&y.cost) })
	for _, u := range slices.Backward(slices.Clone(units)) {
		at := slices.Index(units, u)
		if at < 0 {
			continue // left out together with a dearer one
		}

		others, ok := s.enough(without(units, at))
		if ok {
			units = others
			best = slices.Clone(s.steps)
		}
	}

	s.replay(best)
}

// enough seats the pods with some units evicted, and leaves out units that do not help on the nodes which the pods get.
// It returns the others. ok reports whether all pods have room.
func (s *search) enough(units []*unit) (needed []*unit, ok bool) {
	for s.seat(units) {
		unneeded := s.unneeded(units)
		if unneeded < 0 {
			return units, true
		}
		units = without(units, unneeded)
	}
	return nil, false
}

// replay makes a plan again, step by step: in another order, a bound may refuse a step.
func (s *search) replay(steps []step) {
	s.undo(0)
	for _, st := range steps {
		if st.pod == None {
			s.evict(st.unit)
		} else {
			s.place(st.pod, st.node)
		}
	}
}

// seat undoes all steps, evicts some units, and reports whether all pods have room then.
func (s *search) seat(units []*unit) bool {
	s.undo(0)
	if s.checks <= 0 {
		return false
	}
	s.checks--

	if !s.evictAll(units) {
		return false
	}

	ordered := s.orderedNodes()
	if !s.roomForAll(ordered) {
		return false
	}

	attempts := 4*len(s.Pods) + 1024
	return s.seatFrom(0, &attempts, ordered) && (len(units) == 0 || s.Accounts.Settled().OK())
}

// unneeded returns the first unit that the claimant does not need on the nodes of its pods, -1 for none. It needs a
// unit if a pod lacks a resource otherwise that the unit may be evicted for, or is refused by a bound that the unit
// relieves. If unneeded returns a unit, the steps are undefined.
func (s *search) unneeded(units []*unit) int {
	steps := slices.Clone(s.steps)
	nodes := slices.Clone(s.nodes)
	for i, u := range units {
		s.undo(0)
		s.evictAll(without(units, i))
		if !s.missing(u, nodes) {
			return i
		}
	}

	s.replay(steps)
	return -1
}

// missing reports whether the pods of the claimant need a unit on their nodes.
func (s *search) missing(u *unit, nodes []int) bool {
	pods := s.remaining(u)
	for pod, node := range nodes {
		helps := func(victim int) bool { return s.helps(pod, node, Victim{u.job, victim}) }
		if slices.ContainsFunc(pods, helps) {
			return true
		}

		if s.place(pod, node).OK() {
			continue
		}

		relieves := func(victim int) bool { return s.Accounts.Relieves(pod, node, u.job, victim) }
		if slices.ContainsFunc(pods, relieves) {
			return true
		}
	}

	return false
}

// orderedNodes returns the nodes with room for each kind of pods, the preferred first. No pod has a node yet, so the
// other nodes have no room for any order of places.
func (s *search) orderedNodes() map[int][]int {
	ordered := map[int][]int{}
	for pod := range s.Pods {
		kind := s.Pods[pod].Kind
		if _, known := ordered[kind]; !known {
			ordered[kind] = s.orderNodes(pod)
		}
	}

	return ordered
}

// roomForAll reports whether the nodes of each kind have room for as many pods as there are of the kind. It spares a
// gang the attempts to place it on too few nodes (BenchmarkReclaimGang).
func (s *search) roomForAll(ordered map[int][]int) bool {
	lacking := map[int]int{}
	for pod := range s.Pods {
		lacking[s.Pods[pod].Kind]++
	}

	for pod := range s.Pods {
		kind := s.Pods[pod].Kind
		for _, node := range ordered[kind] {
			if lacking[kind] <= 0 {
				break
			}
			lacking[kind] -= s.places(pod, node, lacking[kind])
		}
		if lacking[kind] > 0 {
			return false
		}
	}

	return true
}

// places returns how many pods of a kind a node has room for, at most a number.
func (s *search) places(pod, node, most int) int {
	for r, requested := range s.Pods[pod].Requests {
		if requested > 0 {
			fits := (s.free[node][r] + fastres.MinResource) / requested
			most = int(min(float64(most), fits))
		}
	}

	return most
}

// seatFrom places the pods from one on. It gives up after a number of attempts. ordered has the nodes of each kind.
func (s *search) seatFrom(pod int, attempts *int, ordered map[int][]int) bool {
	if pod == len(s.Pods) {
		return true
	}

	// The places of two pods of a kind can be exchanged, so their nodes follow the order.
	kind := s.Pods[pod].Kind
	nodes := ordered[kind]
	if pod > 0 && s.Pods[pod-1].Kind == kind {
		nodes = nodes[slices.Index(nodes, s.nodes[pod-1]):]
	}

	before := len(s.steps)
	for _, node := range nodes {
		if !s.hasRoom(pod, node) {
			continue
		}

		*attempts--
		if *attempts < 0 {
			return false
		}

		if s.place(pod, node).OK() {
			if s.seatFrom(pod+1, attempts, ordered) {
				return true
			}
			s.undo(before)
		}
	}

	return false
}

// orderNodes returns the nodes with room for a pod that suit it, the preferred first.
func (s *search) orderNodes(pod int) (nodes []int) {
	for _, node := range s.idleNodes(pod) {
		if s.canRun(pod, node) {
			nodes = append(nodes, node)
		}
	}

	s.sortNodes(pod, nodes)
	return nodes
}

// tryOthers tries other sets of units if there are few units, and keeps the cheapest set that suffices. found says that
// the present steps are a plan. It reports whether no other set is better.
func (s *search) tryOthers(found bool) bool {
	few := len(s.all) <= fewUnits
	t := trial{search: s, best: slices.Clone(s.steps), cost: s.costOf(s.units(0)), found: found}
	if few {
		t.extend(nil, 0)
	}

	if t.found {
		s.replay(t.best)
	} else {
		s.undo(0)
	}

	return few && s.checks > 0
}

// trial is the best set of units so far.
type trial struct {
	*search
	best  []step
	cost  cost
	found bool
}

// extend tries a set of units. If the set does not suffice, extend adds each later unit in turn, the first of them at
// position from.
func (t *trial) extend(units []*unit, from int) {
	sum := t.costOf(units)
	if t.checks <= 0 || t.found && sum.compare(&t.cost) >= 0 {
		return
	}

	if t.seat(units) && t.unneeded(units) < 0 {
		t.best = slices.Clone(t.steps)
		t.cost = sum
		t.found = true
		return
	}

	for i := from; i < len(t.all); i++ {
		if !t.repeats(units, t.all[i]) {
			t.extend(append(slices.Clip(units), t.all[i]), i+1)
		}
	}
}

// repeats reports whether units already have a unit: as a part of a whole job, or as a pod of it.
func (t *trial) repeats(units []*unit, u *unit) bool {
	return slices.ContainsFunc(units, func(other *unit) bool {
		return other.job == u.job && (other.whole() || u.whole())
	})
}
