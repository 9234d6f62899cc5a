package oracle

import "slices"

// Soft are the soft quotas of one card (docs/spec/policies.md, soft-quota), and the jobs that wait in leaf queues.
type Soft struct {
	Card      string
	Quota     map[string]float64 // of the queues that have one
	Waiting   map[string][]SoftJob
	Available float64 // the cards of the nodes
}

// SoftJob is an admitted job that waits.
type SoftJob struct {
	Requests []float64 // by pod
	Lacks    int       // the number of pods that it lacks of its minimum
}

// starts reports whether a job can start in some room.
func (j SoftJob) starts(room float64) bool {
	if j.Lacks > len(j.Requests) {
		return false
	}

	for _, request := range slices.Sorted(slices.Values(j.Requests))[:max(0, j.Lacks)] {
		room -= request
	}

	return room >= 0
}

// softMost returns the effective soft quota of a queue, Unlimited for none.
func (o *Oracle) softMost(s Soft, name string) float64 {
	quota, set := s.Quota[name]
	if !set {
		return Unlimited
	}
	return max(quota, o.Deserved(name)[s.Card], o.Guarantee(name)[s.Card])
}

// SoftRoom returns the amount that a queue may still get within its soft quota.
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

// SoftRefuses returns the lowest queue that a quantity takes above its soft quota, while others want the rest. It
// returns "" for none.
func (o *Oracle) SoftRefuses(s Soft, name string, quantity float64) string {
	for i, p := range o.Path(name) {
		if o.Allocated(p)[s.Card]+quantity > o.softMost(s, p) && o.othersWant(s, o.Path(name)[i:], quantity) {
			return p
		}
	}

	return ""
}

// othersWant reports whether others want more than a quantity leaves, at some queue above the first queue of a path, or
// in the whole cluster.
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

// tops returns the queues without a parent.
func (o *Oracle) tops() (tops []string) {
	for _, name := range o.names {
		if len(o.Path(name)) == 1 {
			tops = append(tops, name)
		}
	}

	return tops
}

// AboveSoft reports whether a queue, or an ancestor that it does not share with the other queue, is above its soft
// quota.
func (o *Oracle) AboveSoft(s Soft, name, other string) bool {
	return slices.ContainsFunc(o.alone(name, other), func(p string) bool {
		return o.Allocated(p)[s.Card] > o.softMost(s, p)
	})
}

// TakesBack reports whether a queue that deserves nothing more may have a pod of another queue evicted.
func (o *Oracle) TakesBack(s Soft, to, from string, gained, lost float64) bool {
	within := !slices.ContainsFunc(o.alone(to, from), func(p string) bool {
		return o.Allocated(p)[s.Card]+gained > o.softMost(s, p)
	})
	keeps := !slices.ContainsFunc(o.alone(from, to), func(p string) bool {
		return o.Allocated(p)[s.Card]-lost < max(o.Deserved(p)[s.Card], o.Guarantee(p)[s.Card])
	})
	return within && keeps && o.AboveSoft(s, from, to)
}
