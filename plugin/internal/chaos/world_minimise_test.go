package chaos

import (
	"maps"
	"slices"
)

// minimiser looks for the smallest scenario that is broken in the way of a given one.
type minimiser struct {
	broken func(*Scenario) bool
	// tries is the number of runs after which a scenario counts as not broken. Volcano's actions visit maps in Go's
	// random order, and some worlds depend on it.
	tries int
	runs  int // left
}

// fails reports whether a scenario is broken.
func (m *minimiser) fails(s *Scenario) bool {
	for range m.tries {
		m.runs--
		if m.runs < 0 {
			return false
		}
		if m.broken(s) {
			return true
		}
	}

	return false
}

// Minimise returns a scenario that is smaller than s, and broken as well. A change is kept if the scenario is still
// broken. broken plays at most runs scenarios.
func Minimise(s *Scenario, runs int, broken func(*Scenario) bool) *Scenario {
	m := &minimiser{broken: broken, tries: 1, runs: runs}
	for !m.fails(s) {
		m.tries *= 2
		if m.tries > 64 {
			return s
		}
	}

	m.tries++
	for {
		before := s.String()
		s = m.dropActs(s)
		s = m.first(s, candidatesOfCycles)
		s = m.first(s, candidatesOfSettings)
		s = m.first(s, candidatesOfDeeds)
		if s.String() == before || m.runs < 0 {
			return s
		}
	}
}

// dropActs drops acts, first in large parts (delta debugging).
func (m *minimiser) dropActs(s *Scenario) *Scenario {
	s = s.with(func(own *Scenario) { own.Acts = own.Sorted() })
	for size := len(s.Acts) / 2; size > 0; size /= 2 {
		for from := len(s.Acts) - size; from > -size; {
			from = max(0, from)
			to := min(from+size, len(s.Acts))
			smaller := s.with(func(own *Scenario) { own.Acts = slices.Delete(own.Acts, from, to) })
			if from < to && m.fails(smaller) {
				s = smaller
			}
			if from == 0 {
				break
			}
			from -= size
		}
	}

	return s
}

// first replaces a scenario by the first candidate that fails, as long as there is one.
func (m *minimiser) first(s *Scenario, candidates func(*Scenario) []*Scenario) *Scenario {
	for skip := 0; ; {
		all := candidates(s)
		i := skip
		for ; i < len(all) && !m.fails(all[i]); i++ {
		}
		if i >= len(all) {
			if skip == 0 {
				return s
			}
			skip = 0
			continue
		}

		s = all[i]
		skip = i // candidates before i were not broken, but may be now
	}
}

// with returns a changed copy.
func (s *Scenario) with(change func(*Scenario)) *Scenario {
	own := *s
	own.Config = s.Config.clone()
	own.Acts = slices.Clone(s.Acts)
	change(&own)
	return &own
}

// candidatesOfCycles returns scenarios with less time between acts, and after them.
func candidatesOfCycles(s *Scenario) (all []*Scenario) {
	cycles := map[int]bool{}
	for _, a := range s.Acts {
		cycles[a.Cycle] = true
	}
	order := slices.Sorted(maps.Keys(cycles))
	if len(order) == 0 {
		return nil
	}

	if last := order[len(order)-1]; last < s.Cycles {
		all = append(all, s.with(func(own *Scenario) { own.Cycles = last }))
	}

	for i, cycle := range order {
		before := 0
		if i > 0 {
			before = order[i-1]
		}
		for _, gap := range []int{1, 2, 3} {
			if cycle-before > gap {
				all = append(all, s.hasten(cycle, cycle-before-gap))
			}
		}
		if i > 0 { // together with the acts before
			all = append(all, s.hasten(cycle, cycle-before))
		}
	}

	return all
}

// hasten returns the scenario with all acts from a cycle on some cycles earlier.
func (s *Scenario) hasten(cycle, by int) *Scenario {
	return s.with(func(own *Scenario) {
		own.Cycles -= by
		for k := range own.Acts {
			if own.Acts[k].Cycle >= cycle {
				own.Acts[k].Cycle -= by
			}
		}
	})
}

// candidatesOfSettings returns scenarios with a simpler configuration of the scheduler.
func candidatesOfSettings(s *Scenario) (all []*Scenario) {
	add := func(change func(*Scenario)) { all = append(all, s.with(change)) }
	for key := range s.Arguments {
		add(func(own *Scenario) { delete(own.Arguments, key) })
	}
	for i := range s.Actions {
		add(func(own *Scenario) { own.Actions = slices.Delete(own.Actions, i, i+1) })
	}
	if s.Grace > 0 {
		add(func(own *Scenario) { own.Grace = 0 })
	}
	if s.Topology {
		add(func(own *Scenario) { own.Topology = false })
	}
	if s.Eager {
		add(func(own *Scenario) { own.Eager = false })
	}
	if s.Tree {
		add(func(own *Scenario) { own.Tree = false })
	}
	if s.GangSpares {
		add(func(own *Scenario) { own.GangSpares = false })
	}

	return all
}
