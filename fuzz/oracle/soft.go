package oracle

import "slices"

// Soft are the soft quotas of one card (docs/policies.md, soft-quota), and the pods that wait in leaf queues.
type Soft struct {
	Card      string
	Quota     map[string]float64 // of the queues that have one
	Waiting   map[string][]float64
	Available float64 // what the nodes have
}

// softMost is the soft quota of a queue as it counts, Unlimited for none.
func (o *Oracle) softMost(s Soft, name string) float64 {
	quota, set := s.Quota[name]
	if !set {
		return Unlimited
	}
	return max(quota, o.Deserved(name)[s.Card], o.Guarantee(name)[s.Card])
}

// wanted is what a queue and those below it want within their soft quotas.
func (o *Oracle) wanted(s Soft, name string) (sum float64) {
	room := max(0, min(o.softMost(s, name), o.Bound(name)[s.Card])-o.Allocated(name)[s.Card])
	for _, request := range s.Waiting[name] {
		if request <= room {
			sum += request
		}
	}
	for _, child := range o.Children(name) {
		sum += o.wanted(s, child)
	}
	return min(sum, room)
}

// SoftRefuses returns the lowest queue that a quantity takes above its soft quota, while others want what is left; "" for none.
func (o *Oracle) SoftRefuses(s Soft, name string, quantity float64) string {
	for i, p := range o.Path(name) {
		if o.Allocated(p)[s.Card]+quantity > o.softMost(s, p) && o.othersWant(s, o.Path(name)[i:], quantity) {
			return p
		}
	}
	return ""
}

// othersWant reports whether, somewhere above the first queue of a path, others want more than what is left beside a quantity.
func (o *Oracle) othersWant(s Soft, path []string, quantity float64) bool {
	if o.cluster.Root == "" {
		others, all := 0.0, 0.0
		for _, name := range o.names {
			all += o.Allocated(name)[s.Card]
			if name != path[0] {
				others += o.wanted(s, name)
			}
		}
		return others > 0 && all+others+quantity > s.Available
	}
	others := 0.0
	for i := 1; i < len(path); i++ {
		for _, sibling := range o.Children(path[i]) {
			if sibling != path[i-1] {
				others += o.wanted(s, sibling)
			}
		}
		bound := o.Bound(path[i])[s.Card]
		if path[i] == o.cluster.Root {
			bound = min(bound, s.Available)
		}
		if others > 0 && o.Allocated(path[i])[s.Card]+others+quantity > bound {
			return true
		}
	}
	return false
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
