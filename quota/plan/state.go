package plan

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/quota"
)

// unit is a set of pods that are evicted together: one pod that its job can spare, or a whole job.
type unit struct {
	job   int
	pod   int // of the job; None for the whole job
	cost  cost
	order int
}

func (u *unit) whole() bool { return u.pod == None }

// state is a plan in the making: the evicted units, and the pods that have a node.
type state struct {
	*Problem
	free  [][]float64 // by node and resource
	jobs  []jobState
	nodes []int // by pod of the claimant
	steps []step
}

// jobState counts the pods that a job has lost.
type jobState struct {
	gone  []bool // by pod
	count int
	roles map[string]int // the count of each role with a minimum
}

// step is a change that can be undone: the eviction of pods, or the place of a pod.
type step struct {
	accounts int // the mark before the step
	unit     *unit
	evicted  []int // pods of the job
	pod      int   // of the claimant; None for an eviction
	node     int   // of the pod
}

func newState(p *Problem) *state {
	s := &state{
		Problem: p,
		jobs:    make([]jobState, len(p.Jobs)),
		nodes:   slices.Repeat([]int{None}, len(p.Pods)),
	}
	for _, n := range p.Nodes {
		s.free = append(s.free, slices.Clone(n.Free))
	}
	for j := range p.Jobs {
		s.jobs[j].gone = make([]bool, len(p.Jobs[j].Pods))
	}

	return s
}

// undo undoes all steps but the first n.
func (s *state) undo(n int) {
	if len(s.steps) == n {
		return
	}

	s.Accounts.Undo(s.steps[n].accounts)
	for _, st := range slices.Backward(s.steps[n:]) {
		if st.pod != None {
			s.change(st.node, s.Pods[st.pod].Requests, 1)
			s.nodes[st.pod] = None
			continue
		}

		for _, pod := range st.evicted {
			s.count(st.unit.job, pod, false)
		}
	}

	s.steps = s.steps[:n]
}

// change adds quantities to the free resources of a node, or subtracts them if sign is -1.
func (s *state) change(node int, quantities []float64, sign float64) {
	if node == None {
		return
	}

	for r, quantity := range quantities {
		s.free[node][r] += sign * quantity
	}
}

// count counts a pod of a job as gone, or as running again.
func (s *state) count(job, pod int, gone bool) {
	j := &s.jobs[job]
	candidate := &s.Jobs[job].Pods[pod]
	more := -1
	if gone {
		more = 1
	}

	j.gone[pod] = gone
	j.count += more
	s.change(candidate.Node, candidate.Frees, float64(more))

	if _, bounded := s.Jobs[job].Roles[candidate.Role]; bounded {
		if j.roles == nil {
			j.roles = map[string]int{}
		}
		j.roles[candidate.Role] += more
	}
}

// remaining returns the pods of a unit that are not gone.
func (s *state) remaining(u *unit) (pods []int) {
	if !u.whole() {
		if s.jobs[u.job].gone[u.pod] {
			return nil
		}
		return []int{u.pod}
	}

	for pod, gone := range s.jobs[u.job].gone {
		if !gone {
			pods = append(pods, pod)
		}
	}

	return pods
}

// evict evicts a unit. If it is spared, nothing changes.
func (s *state) evict(u *unit) Spared {
	pods := s.remaining(u)
	if !u.whole() && !s.canSpare(u.job, u.pod) {
		return ByMinimum
	}

	mark := s.Accounts.Mark()
	by := s.Accounts.Evict(u.job, pods)
	if by != Taken {
		return by
	}

	for _, pod := range pods {
		s.count(u.job, pod, true)
	}
	s.steps = append(s.steps, step{accounts: mark, unit: u, evicted: pods, pod: None})

	return Taken
}

// canSpare reports whether a job still has its minimum if it loses one more pod.
func (s *state) canSpare(job, pod int) bool {
	// A broken job can spare all its pods if whole jobs may be taken.
	j := &s.Jobs[job]
	if j.Spare < 0 {
		return s.Whole
	}

	if s.jobs[job].count >= j.Spare {
		return false
	}

	role := j.Pods[pod].Role
	spare, bounded := j.Roles[role]
	return !bounded || s.jobs[job].roles[role] < spare
}

// sparesAll reports whether a job can lose all its pods and still has its minimum.
func (j *Job) sparesAll() bool {
	roles := map[string]int{}
	for i := range j.Pods {
		role := j.Pods[i].Role
		roles[role]++
		if spare, bounded := j.Roles[role]; bounded && roles[role] > spare {
			return false
		}
	}

	return j.Spare >= len(j.Pods)
}

// lacksOn reports whether a node has less of a resource than a pod requests.
func (s *state) lacksOn(pod, node, r int) bool {
	return s.Pods[pod].Requests[r]-s.free[node][r] >= fastres.MinResource && s.Pods[pod].Requests[r] > 0
}

// hasRoom reports whether a node has room for the requests of a pod.
func (s *state) hasRoom(pod, node int) bool {
	for r := range s.Pods[pod].Requests {
		if s.lacksOn(pod, node, r) {
			return false
		}
	}

	return true
}

// place gives a pod a node with room. If a bound refuses it, nothing changes.
func (s *state) place(pod, node int) quota.Verdict {
	mark := s.Accounts.Mark()
	v := s.Accounts.Place(pod, node)
	if !v.OK() {
		return v
	}

	s.change(node, s.Pods[pod].Requests, -1)
	s.nodes[pod] = node
	s.steps = append(s.steps, step{accounts: mark, pod: pod, node: node})

	return v
}

// units returns the units that were evicted after the first n steps. If a whole job was evicted, it stands for all its
// pods.
func (s *state) units(n int) (units []*unit) {
	whole := map[int]bool{}
	for _, st := range s.steps[n:] {
		if st.pod == None && st.unit.whole() {
			whole[st.unit.job] = true
		}
	}

	for _, st := range s.steps[n:] {
		if st.pod == None && (st.unit.whole() || !whole[st.unit.job]) {
			units = append(units, st.unit)
		}
	}

	return units
}

// victims returns the evicted pods, in the order of their eviction.
func (s *state) victims() (victims []Victim) {
	for _, st := range s.steps {
		for _, pod := range st.evicted {
			victims = append(victims, Victim{st.unit.job, pod})
		}
	}

	return victims
}

// costOf returns the cost of some units together.
func (s *state) costOf(units []*unit) (sum cost) {
	for _, u := range units {
		if u.whole() {
			s.addWhole(&sum, u.job)
			continue
		}

		job := &s.Jobs[u.job]
		c := &job.Pods[u.pod]
		lost := c.Lost
		if job.Spare < 0 {
			lost = 0 // a broken job does no work
		}
		sum.add(job.Class+c.Class, lost)
	}

	return sum
}

// addWhole adds the cost of a whole job.
func (s *state) addWhole(sum *cost, job int) {
	j := &s.Jobs[job]
	for i := range j.Pods {
		sum.add(j.Class+j.Pods[i].Class, j.Pods[i].Lost)
	}
	sum.broken++
}

// allUnits returns the units of a problem, the cheapest first.
func (s *state) allUnits() (units []*unit) {
	for j := range s.Jobs {
		job := &s.Jobs[j]
		whole := s.Whole && job.Spare >= 0
		last := 0

		for pod := range job.Pods {
			c := &job.Pods[pod]
			last = max(last, c.Order)
			if c.Fixed {
				whole = false
				continue
			}

			if job.Spare > 0 || job.Spare < 0 && s.Whole {
				u := &unit{job: j, pod: pod, order: c.Order}
				u.cost = s.costOf([]*unit{u})
				units = append(units, u)
			}
		}

		// A job that can spare all its pods loses them one by one.
		if whole && !job.sparesAll() {
			u := &unit{job: j, pod: None, order: last}
			u.cost = s.costOf([]*unit{u})
			units = append(units, u)
		}
	}

	slices.SortStableFunc(units, func(x, y *unit) int {
		return cmp.Or(x.cost.compare(&y.cost), cmp.Compare(x.order, y.order))
	})

	return units
}
