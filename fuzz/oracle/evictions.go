package oracle

import (
	"math"
	"slices"
	"sort"
	"time"
)

// Evictions are the times of the evictions that count for a budget (docs/policies.md, eviction-budget).
type Evictions []time.Time

// within returns those that count: at times in (now − length, now].
func (e Evictions) within(now time.Time, length time.Duration) (some []time.Time) {
	for _, at := range e {
		if at.After(now.Add(-length)) && !at.After(now) {
			some = append(some, at)
		}
	}
	slices.SortFunc(some, time.Time.Compare)
	return some
}

// Left returns how many more may be now by a budget of most in a length.
func (e Evictions) Left(now time.Time, most int, length time.Duration) int {
	return max(0, most-len(e.within(now, length)))
}

// Next returns when the next may be: when the oldest of the last ones is as old as the length, now if there is room.
func (e Evictions) Next(now time.Time, most int, length time.Duration) time.Time {
	some := e.within(now, length)
	if len(some) < most {
		return now
	}
	return some[len(some)-most].Add(length)
}

// CountsFor returns the queues whose budgets an eviction counts for. The paths begin with the queues of the pod that is
// evicted and of the one that it is evicted for, and end with the root; to is empty where it is for nobody.
func CountsFor(from, to []string) (lost, taken []string) {
	if len(to) > 0 && from[0] == to[0] {
		return nil, nil
	}
	for _, q := range to {
		if slices.Contains(from, q) {
			break
		}
		taken = append(taken, q)
	}
	return from, taken
}

// Bound is a bound that holds from a time on, until the next one.
type Bound struct {
	From  time.Time
	Bound float64
}

// Tolerated returns the most that enforce-quota leaves a queue that has been above all bounds since the first: the most
// of those in [now − after, now], anything if not all of that time is known.
func Tolerated(bounds []Bound, now time.Time, after time.Duration) (most float64) {
	begin := now.Add(-after)
	if len(bounds) == 0 || bounds[0].From.After(begin) {
		return math.Inf(1)
	}
	for i, b := range bounds {
		if last := i == len(bounds)-1; last || bounds[i+1].From.After(begin) {
			most = max(most, b.Bound)
		}
	}
	return most
}

// Gang is a job with pods on nodes. It needs as many of them as Minimum says, and of each role as Minimums says; a role
// that is not there has none. Larger: no budget has room for all of them.
type Gang struct {
	QueuePriority, Priority int32
	Minimum                 int
	Minimums                map[string]int
	Larger                  bool
	Members                 []Member
}

// Member is a pod of a gang.
type Member struct {
	Name, Role string
	Priority   int32
	Ran        int64
	Fixed      bool
	Has        map[string]float64 // of what is above
}

// package of pods that go together.
type parcel struct {
	gang  *Gang
	pods  []string
	whole bool
	rank  []int64 // smaller goes first
	name  string
}

// Enforced returns the pods that are evicted for what is above, by name (docs/policies.md, enforce-quota).
func Enforced(above map[string]float64, gangs []Gang) (evicted []string) {
	var all []parcel
	for i := range gangs {
		all = append(all, gangs[i].parcels()...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		x, y := all[i], all[j]
		if c := slices.Compare(x.rank, y.rank); c != 0 {
			return c < 0
		}
		if x.name != y.name {
			return x.name < y.name
		}
		return !x.whole && y.whole
	})
	var chosen []parcel
	for _, p := range all {
		left := rest(above, chosen)
		without := slices.DeleteFunc(slices.Clone(chosen), func(c parcel) bool { return c.gang == p.gang })
		useful := false
		for _, m := range p.gang.Members {
			gone := slices.ContainsFunc(chosen, func(c parcel) bool { return slices.Contains(c.pods, m.Name) })
			for what, amount := range m.Has {
				useful = useful || !gone && slices.Contains(p.pods, m.Name) && amount > 0 && left[what] > 0
			}
		}
		switch {
		case useful && p.whole:
			chosen = append(without, p)
		case useful:
			chosen = append(chosen, p)
		}
	}
	for i := len(chosen) - 2; i >= 0; i-- {
		with, others := rest(above, chosen), slices.Delete(slices.Clone(chosen), i, i+1)
		if left := rest(above, others); !slices.ContainsFunc(keys(above), func(what string) bool { return left[what] > 0 && left[what] > with[what] }) {
			chosen = others
		}
	}
	for _, p := range chosen {
		evicted = append(evicted, p.pods...)
	}
	slices.Sort(evicted)
	return evicted
}

func keys(of map[string]float64) (all []string) {
	for key := range of {
		all = append(all, key)
	}
	return all
}

// rest returns what is still above without some pods.
func rest(above map[string]float64, gone []parcel) map[string]float64 {
	left := map[string]float64{}
	for what, amount := range above {
		left[what] = amount
		for _, p := range gone {
			for _, m := range p.gang.Members {
				if slices.Contains(p.pods, m.Name) {
					left[what] -= m.Has[what]
				}
			}
		}
	}
	return left
}

// parcels returns the pods of a gang that can be spared, each by itself, and all of them together if it needs others
// that have something.
func (g *Gang) parcels() (all []parcel) {
	var useful []Member
	roles := map[string]int{}
	fixed := g.Larger
	loss := int64(0)
	highest := int32(math.MinInt32)
	whole := parcel{gang: g, whole: true}
	for _, m := range g.Members {
		roles[m.Role]++
		fixed, highest = fixed || m.Fixed, max(highest, m.Priority)
		whole.pods = append(whole.pods, m.Name)
		if len(g.Members) >= g.Minimum {
			loss += m.Ran
		}
		if m.Has != nil && !m.Fixed {
			useful = append(useful, m)
		}
	}
	whole.name, whole.rank = slices.Min(whole.pods), []int64{int64(g.QueuePriority), int64(g.Priority), int64(highest), loss}
	sort.Slice(useful, func(i, j int) bool {
		x, y := useful[i], useful[j]
		if x.Priority != y.Priority {
			return x.Priority < y.Priority
		}
		if x.Ran != y.Ran {
			return x.Ran < y.Ran
		}
		return x.Name < y.Name
	})
	n, needed := len(g.Members), false
	for _, m := range useful {
		least, bounded := g.Minimums[m.Role]
		if n-1 < g.Minimum || bounded && roles[m.Role]-1 < least {
			needed = true
			continue
		}
		n--
		roles[m.Role]--
		all = append(all, parcel{gang: g, pods: []string{m.Name}, name: m.Name,
			rank: []int64{int64(g.QueuePriority), int64(g.Priority), int64(m.Priority), m.Ran}})
	}
	if needed && !fixed {
		all = append(all, whole)
	}
	return all
}

// Grace returns how long a pod has notice before it is evicted (docs/policies.md, eviction-grace): pod and group are
// what it and its PodGroup ask for, and path what the queues on its path grant, "" for nothing.
func Grace(pod, group string, path []string) time.Duration {
	asked, err := time.ParseDuration(pod)
	if err != nil || asked < 0 {
		asked, err = time.ParseDuration(group)
		if err != nil || asked < 0 {
			return 0
		}
	}
	granted := false
	for _, text := range path {
		if text != "" {
			most, _ := time.ParseDuration(text)
			granted, asked = true, min(asked, most)
		}
	}
	if !granted {
		return 0
	}
	return asked
}
