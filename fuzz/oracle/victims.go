package oracle

import (
	"cmp"
	"maps"
	"slices"
)

// Victims are the tasks that are taken for one reclaimer. They count as gone.
type Victims struct {
	oracle *Oracle
	left   map[string]Amounts
}

// Victims starts a new set of victims.
func (o *Oracle) Victims() *Victims { return &Victims{o, map[string]Amounts{}} }

// Left returns the future of a queue without the victims.
func (v *Victims) Left(name string) Amounts {
	if v.left[name] == nil {
		v.left[name] = v.oracle.Future(name)
	}
	return v.left[name]
}

// Take decides whether a task of a queue may be taken. If it may, Take takes it.
func (v *Victims) Take(name string, victim Amounts, to string, reclaimer Amounts) bool {
	return common(victim, reclaimer, false) && v.above(name, victim) && v.take(name, victim, to)
}

// take takes a task if the queues that lose it keep their guarantees.
func (v *Victims) take(name string, victim Amounts, to string) bool {
	for _, q := range v.oracle.Path(name) {
		loses := q == name || v.oracle.queues[to] == nil || !v.oracle.within(to, q)

		// A guarantee of a card protects only the pods that have the card.
		kept := maps.Clone(v.oracle.Guarantee(q))
		for _, card := range v.oracle.cluster.Cards {
			if victim[card] == 0 {
				delete(kept, card)
			}
		}
		if loses && !v.Left(q).Minus(victim).covers(kept) {
			return false
		}
	}

	v.Remove(name, victim)
	return true
}

// Remove takes a task, whatever the rules say.
func (v *Victims) Remove(name string, victim Amounts) {
	for _, q := range v.oracle.Path(name) {
		v.left[q] = v.Left(q).Minus(victim)
	}
}

// above reports whether a queue is above deserved in a dimension of the task, or deserves
// none of them.
func (v *Victims) above(name string, victim Amounts) bool {
	left := v.Left(name)
	deserved := v.oracle.Deserved(name)
	return !common(victim, deserved, true) || slices.ContainsFunc(victim.requested(), func(d string) bool {
		return deserved.relevant(d) && left[d] > deserved[d]
	})
}

// Suffice reports whether a request fits at every level without the victims, and leaves the
// guarantees of others free.
func (v *Victims) Suffice(name string, request Amounts) bool {
	full := v.oracle.first(name, func(q string) bool {
		return !fits(v.Left(q), request, v.oracle.boundFor(name, q, v.oracle.Bound(q)))
	})
	guaranteed := func(d string) bool { return v.oracle.LendsThen(name, d, request[d], v.Left) != "" }
	return full == "" && !slices.ContainsFunc(request.requested(), guaranteed)
}

// relevant reports whether deserved sets a dimension. A scalar of 0 is set, but cpu and
// memory of 0 are not.
func (a Amounts) relevant(d string) bool {
	return a.has(d) && (d != CPU && d != Memory || a[d] >= tolerance)
}

// TakeDamped decides as Take does, also for a number of ancestors of the victim's queue. The
// reclaimer's queue, and as many ancestors of it, must stay within deserved. Common
// ancestors do not count.
func (v *Victims) TakeDamped(name string, victim Amounts, to string, reclaimer Amounts, levels int) bool {
	loses := v.oracle.alone(name, to)
	gains := v.oracle.alone(to, name)
	if len(loses) == 0 {
		return v.Take(name, victim, to, reclaimer)
	}
	if !common(victim, reclaimer, false) {
		return false
	}
	if v.oracle.surpassAny(gains, reclaimer, levels, v.oracle.Future) {
		return false
	}

	for i, q := range loses {
		if i <= levels && !v.above(q, victim) {
			return false
		}
	}

	return v.take(name, victim, to)
}

// TakeContended decides as Take does, also for ancestors of the victim's queue, up to levels above
// it. An ancestor that is as near to the reclaimer's queue does not count. If a queue deserves
// nothing of the victim, it does not lose to a queue with the same ancestors that deserves nothing of
// its request.
func (v *Victims) TakeContended(name string, victim Amounts, to string, reclaimer Amounts, deserves bool,
	levels int) bool {
	o := v.oracle
	loses := o.above(name, levels)
	gains := o.above(to, levels)
	related := slices.ContainsFunc(loses, func(q string) bool { return slices.Contains(gains, q) })
	if !common(victim, o.Deserved(name), true) && related && !deserves {
		return false
	}

	for i, q := range loses {
		if (i >= len(gains) || gains[i] != q) && !v.above(q, victim) {
			return false
		}
	}

	return v.Take(name, victim, to, reclaimer)
}

// Deserves reports whether a queue deserves a resource that is requested.
func (o *Oracle) Deserves(name string, request Amounts) bool {
	return common(request, o.Deserved(name), true)
}

// TakeForGang decides as Take does, for any request of the reclaimers. With byGuarantee, deserved
// does not protect the task.
func (v *Victims) TakeForGang(name string, victim Amounts, to string, byGuarantee bool) bool {
	return (byGuarantee || v.above(name, victim)) && v.take(name, victim, to)
}

// TakeByGuarantee decides as Take does, but deserved does not protect the task. With levels above
// 0, the reclaimer's queues stay within deserved, as in TakeDamped.
func (v *Victims) TakeByGuarantee(name string, victim Amounts, to string, reclaimer Amounts, levels int) bool {
	within := levels == 0 || !v.oracle.surpassAny(v.oracle.alone(to, name), reclaimer, levels, v.oracle.Future)
	return common(victim, reclaimer, false) && within && v.take(name, victim, to)
}

// The protections of a running task from a reclaimer of another queue.
const (
	Spared      = "spared"
	ByDeserved  = "by deserved"
	ByGuarantee = "by guarantee"
)

// ProtectionOf returns the protection of a task, by the service classes of reclaimer and victim. Any other text is no
// class.
func ProtectionOf(reclaimer, victim string) string {
	protection := map[string]map[string]string{
		"inference": {"inference": Spared, "training": ByGuarantee},
		"training":  {"inference": Spared, "training": Spared, "": Spared},
		"":          {"inference": Spared},
	}

	class := func(text string) string {
		if text == "inference" || text == "training" {
			return text
		}
		return ""
	}

	return cmp.Or(protection[class(reclaimer)][class(victim)], ByDeserved)
}

// alone returns a queue and its ancestors, without the path of another queue.
func (o *Oracle) alone(name, other string) []string {
	return slices.DeleteFunc(slices.Clone(o.Path(name)), func(q string) bool { return o.within(other, q) })
}

// surpassAny reports whether a request exceeds deserved of a queue or some ancestors. has returns
// the account of a queue.
func (o *Oracle) surpassAny(path []string, request Amounts, levels int, has func(string) Amounts) bool {
	return slices.ContainsFunc(path[:min(len(path), levels+1)], func(q string) bool {
		return surpasses(has(q), request, o.Deserved(q))
	})
}

// surpasses reports whether a request exceeds deserved in a dimension that deserved sets.
func surpasses(allocated, request, deserved Amounts) bool {
	return slices.ContainsFunc(request.requested(), func(d string) bool {
		return deserved.relevant(d) && !atMost(allocated[d]+request[d], deserved[d])
	})
}

// KeepsCard reports whether a queue, without the victims, has at most its deserved of a card.
func (v *Victims) KeepsCard(name, card string) bool {
	return v.Left(name)[card] <= v.oracle.Deserved(name)[card]
}
