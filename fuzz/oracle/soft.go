package oracle

import "slices"

// Soft are the soft quotas of one card (docs/policies.md, soft-quota), and the jobs that wait in leaf queues.
type Soft struct {
	Card      string
	Quota     map[string]float64 // of the queues that have one
	Waiting   map[string][]SoftJob
	Available float64 // what the nodes have
}

// SoftJob is an admitted job that waits: what each of its pods requests, and how many it lacks of its minimum.
type SoftJob struct {
	Requests []float64
	Lacks    int
}

// starts reports whether a job can start with what is left for it.
func (j SoftJob) starts(room float64) bool {
	if j.Lacks > len(j.Requests) {
		return false
	}
	for _, request := range slices.Sorted(slices.Values(j.Requests))[:max(0, j.Lacks)] {
		room -= request
	}
	return room >= 0
}

// softMost is the soft quota of a queue as it counts, Unlimited for none.
func (o *Oracle) softMost(s Soft, name string) float64 {
	quota, set := s.Quota[name]
	if !set {
		return Unlimited
	}
	return max(quota, o.Deserved(name)[s.Card], o.Guarantee(name)[s.Card])
}

// SoftRoom returns how much more a queue may get within its soft quota.
func (o *Oracle) SoftRoom(s Soft, name string) float64 {
	return max(0, min(o.softMost(s, name), o.Bound(name)[s.Card])-o.Allocated(name)[s.Card])
}

// wanted sums the requests of the jobs that wait in a queue and below it, each queue within its soft quota.
func (o *Oracle) wanted(s Soft, name string) (sum float64) {
	room := o.SoftRoom(s, name)
	for _, job := range s.Waiting[name] {
		for _, request := range job.Requests {
			if request <= room && job.starts(room) {
				sum += request
			}
		}
	}
	for _, child := range o.Children(name) {
		sum += o.wanted(s, child)
	}
	return min(sum, room)
}

// SoftRefuses returns the lowest queue that a quantity takes above its soft quota, while others want what is left; ""
// for none.
func (o *Oracle) SoftRefuses(s Soft, name string, quantity float64) string {
	for i, p := range o.Path(name) {
		if o.Allocated(p)[s.Card]+quantity > o.softMost(s, p) && o.othersWant(s, o.Path(name)[i:], quantity) {
			return p
		}
	}
	return ""
}

// othersWant reports whether, somewhere above the first queue of a path or in the whole cluster, others want more than
// what is left beside a quantity.
func (o *Oracle) othersWant(s Soft, path []string, quantity float64) bool {
	others := 0.0
	for i, name := range path {
		siblings := o.tops()
		allocated := 0.0
		bound := s.Available
		if i+1 < len(path) {
			siblings = o.Children(path[i+1])
			allocated = o.Allocated(path[i+1])[s.Card]
			bound = o.Bound(path[i+1])[s.Card]
		} else {
			for _, top := range siblings {
				allocated += o.Allocated(top)[s.Card]
			}
		}
		for _, sibling := range siblings {
			if sibling != name {
				others += o.wanted(s, sibling)
			}
		}
		if others > 0 && allocated+others+quantity > bound {
			return true
		}
	}
	return false
}

// tops are the queues that no other is above.
func (o *Oracle) tops() (tops []string) {
	for _, name := range o.names {
		if len(o.Path(name)) == 1 {
			tops = append(tops, name)
		}
	}
	return tops
}

// apart returns a queue and those above it that another one is not below.
func (o *Oracle) apart(name, other string) (some []string) {
	for _, p := range o.Path(name) {
		if !slices.Contains(o.Path(other), p) {
			some = append(some, p)
		}
	}
	return some
}

// AboveSoft reports whether a queue, or one above it that the other is not below, is above its soft quota.
func (o *Oracle) AboveSoft(s Soft, name, other string) bool {
	return slices.ContainsFunc(o.apart(name, other), func(p string) bool { return o.Allocated(p)[s.Card] > o.softMost(s, p) })
}

// TakesBack reports whether a queue that deserves no more may have a pod of another one evicted.
func (o *Oracle) TakesBack(s Soft, to, from string, gained, lost float64) bool {
	within := !slices.ContainsFunc(o.apart(to, from), func(p string) bool { return o.Allocated(p)[s.Card]+gained > o.softMost(s, p) })
	keeps := !slices.ContainsFunc(o.apart(from, to), func(p string) bool {
		return o.Allocated(p)[s.Card]-lost < max(o.Deserved(p)[s.Card], o.Guarantee(p)[s.Card])
	})
	return within && keeps && o.AboveSoft(s, from, to)
}
