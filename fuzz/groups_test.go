package fuzz

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// FuzzGroups compares accounts of groups of cards, and assignments within their bounds, with the oracle.
func FuzzGroups(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newGroupedWorld(t, workload.Bytes(data))
		w.compareBounds()
		w.compareGroups()
		var assigner assign.Assigner
		for range 3 + w.rand.IntN(6) {
			w.event()
			w.compareGroups()
			for range 2 {
				w.compareFeasible(&assigner)
			}
			w.compareFeasibleReturned(&assigner)
		}
	})
}

// newGroupedWorld draws a cluster in which all scalars are cards, with groups of cards that some queues bound.
func newGroupedWorld(t *testing.T, r *rand.Rand) *world {
	w := &world{t: t, rand: r, ix: &index.Index{}, names: &index.Names{}, groups: oracle.Groups{}}
	c := draw(r)
	for i := range 1 + r.IntN(3) {
		name, weights := fmt.Sprintf("@g%d", i), map[string]float64{}
		for _, card := range scalarsOf(c) {
			// Some groups do not have the card. A third is rounded down to a multiple of 2^-20.
			if weight := pick(r, []float64{0, 1, 2, 0.5, math.Floor((1<<20)/3.0) / (1 << 20)}); weight > 0 {
				weights[card] = weight
			}
		}
		w.groups[name] = weights
		for q := range c.Queues {
			if r.IntN(2) == 0 {
				continue
			}
			for _, list := range []*workload.Resources{&c.Queues[q].Capability, &c.Queues[q].Guarantee} {
				own := workload.Resources{name: int64(r.IntN(8))}
				if list == &c.Queues[q].Guarantee {
					own[name] /= 4
				}
				for other, n := range *list {
					own[other] = n
				}
				*list = own
			}
		}
		for n := range c.Nodes { // the groups are a part of the total
			own := workload.Resources{name: 4}
			for other, n := range c.Nodes[n].Allocatable {
				own[other] = n
			}
			c.Nodes[n].Allocatable = own
		}
	}
	w.build(c, inOrder)
	return w
}

// scalarsOf returns the names of resources that are neither cpu, memory nor pods, in order.
func scalarsOf(c workload.Cluster) (names []string) {
	add := func(r workload.Resources) {
		for name := range r {
			if name != oracle.CPU && name != oracle.Memory && name != oracle.Pods {
				names = append(names, name)
			}
		}
	}
	for _, n := range c.Nodes {
		add(n.Allocatable)
	}
	for _, j := range c.Jobs {
		for _, t := range j.Tasks {
			add(t.Request)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name[0] == '@' })
}

// setGroups tells the engine which cards are in which groups.
func (w *world) setGroups() {
	var dims []fastres.Dim
	for name := range w.groups {
		if d, known := w.names.LookupCard(name); known {
			dims = append(dims, d)
		}
	}
	slices.Sort(dims)
	w.ix.SetNames(w.names)
	w.names.SetGroups(dims, func(card fastres.Dim) (shares []index.Share) {
		for _, d := range dims {
			if weight := w.groups[w.names.Name(d)][w.names.Name(card)]; weight > 0 {
				shares = append(shares, index.Share{Group: d, Weight: weight})
			}
		}
		return shares
	})
}

// compareGroups checks that the account of each group is the weighted sum of the accounts of its cards.
func (w *world) compareGroups() {
	for _, name := range w.oracle.Names() {
		q, want := w.number(name), w.oracle.Allocated(name)
		for group, weights := range w.groups {
			d, known := w.names.LookupCard(group)
			if !known {
				continue
			}
			sum := 0.0
			for card, weight := range weights {
				sum += weight * want[card]
			}
			require.InDelta(w.t, sum, w.ix.Allocated(q).Get(d), 1e-9, "%s in %s", group, name)
			require.Equal(w.t, want[group], w.ix.Allocated(q).Get(d), "%s in %s", group, name)
		}
	}
}
