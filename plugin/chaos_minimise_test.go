package plugin

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
)

// minimiser makes the smallest scenario that it can find which breaks the same invariant
// as a given one.
type minimiser struct {
	invariant string
	broken    sabotage
	// tries is the number of runs after which a scenario counts as one that breaks nothing.
	// Volcano's actions visit maps in Go's random order, and some worlds depend on it.
	tries int
	runs  int // left
}

// fails reports whether a scenario breaks the invariant.
func (m *minimiser) fails(s *scenario) bool {
	for range m.tries {
		if m.runs--; m.runs < 0 {
			return false
		}
		if _, found := play(s, m.broken); found != nil && found.invariant == m.invariant {
			return true
		}
	}
	return false
}

// minimise returns a scenario that breaks the invariant as s does, and that is smaller.
// A change is kept if the invariant is still broken. It runs at most runs scenarios.
func minimise(s *scenario, invariant string, broken sabotage, runs int) *scenario {
	m := &minimiser{invariant: invariant, broken: broken, tries: 1, runs: runs}
	for !m.fails(s) {
		if m.tries *= 2; m.tries > 64 {
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
func (m *minimiser) dropActs(s *scenario) *scenario {
	s = s.with(func(own *scenario) { own.acts = own.sorted() })
	for size := len(s.acts) / 2; size > 0; size /= 2 {
		for from := len(s.acts) - size; from > -size; {
			from = max(0, from)
			to := min(from+size, len(s.acts))
			smaller := s.with(func(own *scenario) { own.acts = slices.Delete(own.acts, from, to) })
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
func (m *minimiser) first(s *scenario, candidates func(*scenario) []*scenario) *scenario {
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
		s, skip = all[i], i // those before i failed to fail; they may do so now
	}
}

// with returns a changed copy.
func (s *scenario) with(change func(*scenario)) *scenario {
	own := *s
	own.arguments, own.actions, own.acts = maps.Clone(s.arguments), slices.Clone(s.actions), slices.Clone(s.acts)
	change(&own)
	return &own
}

// candidatesOfCycles are the scenario with less time between acts, and after them.
func candidatesOfCycles(s *scenario) (all []*scenario) {
	cycles := map[int]bool{}
	for _, a := range s.acts {
		cycles[a.cycle] = true
	}
	order := slices.Sorted(maps.Keys(cycles))
	if len(order) == 0 {
		return nil
	}
	add := func(change func(*scenario)) { all = append(all, s.with(change)) }
	if last := order[len(order)-1]; last < s.cycles {
		add(func(own *scenario) { own.cycles = last })
	}
	for i, cycle := range order {
		before := 0
		if i > 0 {
			before = order[i-1]
		}
		for _, gap := range []int{1, 2, 3} {
			if cycle-before > gap {
				earlier := cycle - before - gap
				add(func(own *scenario) {
					own.cycles -= earlier
					for k := range own.acts {
						if own.acts[k].cycle >= cycle {
							own.acts[k].cycle -= earlier
						}
					}
				})
			}
		}
		if i > 0 { // together with the acts before
			add(func(own *scenario) {
				own.cycles -= cycle - before
				for k := range own.acts {
					if own.acts[k].cycle >= cycle {
						own.acts[k].cycle -= cycle - before
					}
				}
			})
		}
	}
	return all
}

// candidatesOfSettings are the scenario with a simpler configuration of the scheduler.
func candidatesOfSettings(s *scenario) (all []*scenario) {
	add := func(change func(*scenario)) { all = append(all, s.with(change)) }
	for key := range s.arguments {
		add(func(own *scenario) { delete(own.arguments, key) })
	}
	for i := range s.actions {
		add(func(own *scenario) { own.actions = slices.Delete(own.actions, i, i+1) })
	}
	if s.grace > 0 {
		add(func(own *scenario) { own.grace = 0 })
	}
	if s.topology {
		add(func(own *scenario) { own.topology = false })
	}
	if s.eager {
		add(func(own *scenario) { own.eager = false })
	}
	if s.hierarchy {
		add(func(own *scenario) { own.hierarchy = false })
	}
	if s.gangSpares {
		add(func(own *scenario) { own.gangSpares = false })
	}
	return all
}

// candidatesOfDeeds are the scenario with one simpler deed.
func candidatesOfDeeds(s *scenario) (all []*scenario) {
	for i, a := range s.acts {
		for _, simple := range a.deed.simpler() {
			all = append(all, s.with(func(own *scenario) { own.acts[i].deed = simple }))
		}
	}
	return all
}

func (d submitJob) simpler() (all []deed) {
	add := func(change func(*jobSpec)) {
		own := d.spec
		own.pods = slices.Clone(own.pods)
		change(&own)
		all = append(all, submitJob{own})
	}
	if n := len(d.spec.pods); n > 1 {
		add(func(j *jobSpec) { j.pods = j.pods[:n/2] })
		add(func(j *jobSpec) { j.pods = j.pods[1:] })
		add(func(j *jobSpec) { j.pods = j.pods[:n-1] })
		add(func(j *jobSpec) { j.pods, j.minMember = j.pods[:n-1], j.minMember-1 })
	}
	if d.spec.minMember > 1 {
		add(func(j *jobSpec) { j.minMember = 1 })
		add(func(j *jobSpec) { j.minMember-- })
	}
	if d.spec.priority != 0 {
		add(func(j *jobSpec) { j.priority = 0 })
	}
	if d.spec.minResources != nil {
		add(func(j *jobSpec) { j.minResources = nil })
		for _, list := range without(d.spec.minResources) {
			add(func(j *jobSpec) { j.minResources = list })
		}
	}
	if d.spec.cardRequest != "" {
		add(func(j *jobSpec) { j.cardRequest = "" })
	}
	if d.spec.later {
		add(func(j *jobSpec) { j.later = false })
	}
	for i, p := range d.spec.pods {
		for _, simple := range p.simpler() {
			add(func(j *jobSpec) { j.pods[i] = simple })
			if i == 0 {
				add(func(j *jobSpec) {
					for k := range j.pods {
						j.pods[k] = simple
					}
				})
			}
		}
	}
	return all
}

func (p podSpec) simpler() (all []podSpec) {
	add := func(change func(*podSpec)) {
		own := p
		change(&own)
		all = append(all, own)
	}
	for _, list := range without(p.requests) {
		add(func(p *podSpec) { p.requests = list })
	}
	if names := strings.Split(p.cards, "|"); len(names) > 1 {
		for i := range names {
			add(func(p *podSpec) { p.cards = strings.Join(slices.Delete(slices.Clone(names), i, i+1), "|") })
		}
	}
	if p.kept {
		add(func(p *podSpec) { p.kept = false })
	}
	if p.gated {
		add(func(p *podSpec) { p.gated = false })
	}
	return all
}

// without returns the list without one of its resources, for each of them.
func without(list workload.Resources) (all []workload.Resources) {
	for _, name := range sortedKeys(list) {
		own := maps.Clone(list)
		delete(own, name)
		all = append(all, own)
	}
	return all
}

func (d setQueue) simpler() (all []deed) {
	add := func(change func(*queueSpec)) {
		own := d.spec
		own.queue.Annotations = maps.Clone(own.queue.Annotations)
		change(&own)
		all = append(all, setQueue{own})
	}
	for _, of := range []func(*workload.Queue) *workload.Resources{
		func(q *workload.Queue) *workload.Resources { return &q.Capability },
		func(q *workload.Queue) *workload.Resources { return &q.Deserved },
		func(q *workload.Queue) *workload.Resources { return &q.Guarantee },
	} {
		list := *of(&d.spec.queue)
		if list == nil {
			continue
		}
		add(func(q *queueSpec) { *of(&q.queue) = nil })
		for _, less := range without(list) {
			add(func(q *queueSpec) { *of(&q.queue) = less })
		}
	}
	if q := d.spec.queue; q.Priority != 0 {
		add(func(q *queueSpec) { q.queue.Priority = 0 })
	}
	if d.spec.queue.Weight != 1 {
		add(func(q *queueSpec) { q.queue.Weight = 1 })
	}
	if d.spec.queue.Closed {
		add(func(q *queueSpec) { q.queue.Closed = false })
	}
	if d.spec.unreclaimable {
		add(func(q *queueSpec) { q.unreclaimable = false })
	}
	if parent := d.spec.queue.Parent; parent != "" && parent != index.RootName {
		add(func(q *queueSpec) { q.queue.Parent = "" })
	}
	for _, key := range sortedKeys(d.spec.queue.Annotations) {
		add(func(q *queueSpec) { delete(q.queue.Annotations, key) })
		var entries map[string]json.RawMessage
		if json.Unmarshal([]byte(d.spec.queue.Annotations[key]), &entries) != nil {
			continue
		}
		for _, name := range sortedKeys(entries) {
			less := maps.Clone(entries)
			delete(less, name)
			text, _ := json.Marshal(less)
			add(func(q *queueSpec) { q.queue.Annotations[key] = string(text) })
		}
	}
	return all
}

func (d setNode) simpler() (all []deed) {
	for _, list := range without(d.node.Allocatable) {
		own := d.node
		own.Allocatable = list
		all = append(all, setNode{own})
	}
	for _, label := range sortedKeys(d.node.Labels) {
		own := d.node
		own.Labels = maps.Clone(own.Labels)
		delete(own.Labels, label)
		all = append(all, setNode{own})
	}
	return all
}

func (d finishPod) simpler() []deed {
	if d.failed {
		return []deed{finishPod{d.job, d.pod, false}}
	}
	return nil
}

func (d removeJob) simpler() []deed { return nil }
func (d scaleJob) simpler() []deed {
	if d.pods > 0 {
		return []deed{scaleJob{d.job, d.pods - 1}}
	}
	return nil
}
func (d editGroup) simpler() (all []deed) {
	for _, list := range without(d.minResources) {
		all = append(all, editGroup{d.job, d.minMember, list})
	}
	return all
}
func (d openGates) simpler() []deed   { return nil }
func (d deleteQueue) simpler() []deed { return nil }
func (d loseNode) simpler() []deed    { return nil }
func (d replacePods) simpler() []deed { return nil }
func (restart) simpler() []deed       { return nil }
func (d leave) simpler() []deed {
	if d.cycles > 1 {
		return []deed{leave{d.cycles - 1}}
	}
	return nil
}
func (renew) simpler() []deed { return nil }
