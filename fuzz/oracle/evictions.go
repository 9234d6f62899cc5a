package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Evictions are the times of the evictions that count for a budget (docs/spec/policies.md, eviction-budget).
type Evictions []time.Time

// within returns the evictions that count: at times in (now − length, now].
func (e Evictions) within(now time.Time, length time.Duration) (some []time.Time) {
	for _, at := range e {
		if at.After(now.Add(-length)) && !at.After(now) {
			some = append(some, at)
		}
	}

	slices.SortFunc(some, time.Time.Compare)
	return some
}

// Left returns the number of evictions that a budget of most in a length still allows now.
func (e Evictions) Left(now time.Time, most int, length time.Duration) int {
	return max(0, most-len(e.within(now, length)))
}

// Next returns the time of the next eviction: now if there is room. Otherwise the oldest of the last evictions has to
// be as old as the length.
func (e Evictions) Next(now time.Time, most int, length time.Duration) time.Time {
	some := e.within(now, length)
	if len(some) < most {
		return now
	}
	return some[len(some)-most].Add(length)
}

// CountsFor returns the queues with budgets that an eviction counts for. The paths from and to end with the root. from
// begins with the queue of the evicted pod, and to with the queue of the pod that it is evicted for. to is empty if the
// eviction is for nobody.
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

// Tolerated returns the largest amount that enforce-quota leaves to a queue that has been above all bounds since the
// first bound. It is the largest bound in [now − after, now], or +Inf if not all of that time is known.
func Tolerated(bounds []Bound, now time.Time, after time.Duration) (most float64) {
	begin := now.Add(-after)
	if len(bounds) == 0 || bounds[0].From.After(begin) {
		return math.Inf(1)
	}

	for i, b := range bounds {
		last := i == len(bounds)-1
		if last || bounds[i+1].From.After(begin) {
			most = max(most, b.Bound)
		}
	}

	return most
}

// Gang is a job with pods on nodes.
type Gang struct {
	QueuePriority, Priority int32
	Minimum                 int            // of pods
	Minimums                map[string]int // of pods of a role; other roles have none
	Larger                  bool           // no budget has room for all pods
	Members                 []Member
}

// Member is a pod of a gang.
type Member struct {
	Name, Role string
	Priority   int32
	Ran        int64
	Fixed      bool
	Has        map[string]float64 // of the resources above bounds
}

// parcel is the pods that are evicted together.
type parcel struct {
	gang  *Gang
	pods  []string
	whole bool
	rank  []int64 // smaller goes first
	name  string
}

// Enforced returns the names of the pods that are evicted for the quantities above bounds (docs/spec/policies.md,
// enforce-quota).
func Enforced(above map[string]float64, gangs []Gang) (evicted []string) {
	var all []parcel
	for i := range gangs {
		all = append(all, gangs[i].parcels()...)
	}
	slices.SortStableFunc(all, parcel.compare)

	var chosen []parcel
	for _, p := range all {
		switch useful := p.isUseful(above, chosen); {
		case useful && p.whole:
			// A whole gang takes the place of its pods.
			ofGang := func(c parcel) bool { return c.gang == p.gang }
			chosen = append(slices.DeleteFunc(slices.Clone(chosen), ofGang), p)
		case useful:
			chosen = append(chosen, p)
		}
	}

	for _, p := range leaveOut(above, chosen) {
		evicted = append(evicted, p.pods...)
	}
	slices.Sort(evicted)

	return evicted
}

// compare returns a number below 0 if p is evicted before other.
func (p parcel) compare(other parcel) int {
	single := 0
	if p.whole != other.whole {
		single = -1
		if p.whole {
			single = 1
		}
	}
	return cmp.Or(slices.Compare(p.rank, other.rank), cmp.Compare(p.name, other.name), single)
}

// isUseful reports whether a parcel has a pod that frees some of the rest above bounds.
func (p parcel) isUseful(above map[string]float64, chosen []parcel) bool {
	left := rest(above, chosen)
	for _, m := range p.gang.Members {
		gone := slices.ContainsFunc(chosen, func(c parcel) bool { return slices.Contains(c.pods, m.Name) })
		if gone || !slices.Contains(p.pods, m.Name) {
			continue
		}

		for what, amount := range m.Has {
			if amount > 0 && left[what] >= tolerance {
				return true
			}
		}
	}

	return false
}

// leaveOut returns the parcels without parcels that are not needed, from the last but one to the first.
func leaveOut(above map[string]float64, chosen []parcel) []parcel {
	for i := len(chosen) - 2; i >= 0; i-- {
		others := slices.Delete(slices.Clone(chosen), i, i+1)
		with := rest(above, chosen)
		without := rest(above, others)

		needed := false
		for what := range above {
			needed = needed || without[what] >= tolerance && without[what] > with[what]
		}
		if !needed {
			chosen = others
		}
	}

	return chosen
}

// rest returns the quantities above bounds without some pods.
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

// parcels returns the pods that a gang can spare, each by itself. If other pods are useful too, it also returns all
// pods together.
func (g *Gang) parcels() (all []parcel) {
	var useful []Member
	roles := map[string]int{}
	fixed := g.Larger
	for _, m := range g.Members {
		roles[m.Role]++
		fixed = fixed || m.Fixed
		if m.Has != nil && !m.Fixed {
			useful = append(useful, m)
		}
	}
	slices.SortFunc(useful, func(x, y Member) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.Ran, y.Ran), cmp.Compare(x.Name, y.Name))
	})

	n := len(g.Members)
	needed := false // more than the gang can spare
	for _, m := range useful {
		least, bounded := g.Minimums[m.Role]
		if n-1 < g.Minimum || bounded && roles[m.Role]-1 < least {
			needed = true
			continue
		}

		n--
		roles[m.Role]--
		all = append(all, parcel{
			gang: g,
			pods: []string{m.Name},
			rank: g.rank(m.Priority, m.Ran),
			name: m.Name,
		})
	}

	if needed && !fixed {
		all = append(all, g.whole())
	}
	return all
}

// whole returns all pods of a gang. A gang without its minimum does no work, and loses none.
func (g *Gang) whole() parcel {
	whole := parcel{gang: g, whole: true}
	loss := int64(0)
	highest := int32(math.MinInt32)
	for _, m := range g.Members {
		whole.pods = append(whole.pods, m.Name)
		highest = max(highest, m.Priority)
		if len(g.Members) >= g.Minimum {
			loss += m.Ran
		}
	}
	whole.name = slices.Min(whole.pods)
	whole.rank = g.rank(highest, loss)

	return whole
}

func (g *Gang) rank(priority int32, loss int64) []int64 {
	return []int64{int64(g.QueuePriority), int64(g.Priority), int64(priority), loss}
}

// Grace returns the notice that a pod has before its eviction (docs/spec/policies.md, eviction-grace). pod and group
// are the requests of the pod and its PodGroup. path has the grants of the queues on its path. Each is "" for nothing.
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
			granted = true
			asked = min(asked, most)
		}
	}
	if !granted {
		return 0
	}

	return asked
}
