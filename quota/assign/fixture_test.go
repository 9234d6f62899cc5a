package assign_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

const (
	gpu     = fastres.FirstFree
	far     = fastres.Dim(66) // in the second presence word
	dims    = 70
	noBound = fastres.MaxQuantity
)

// res is a vector as tests write it. The dimensions that it names are present.
type res map[fastres.Dim]float64

func (r res) addTo(x fastres.Vector) {
	for d, quantity := range r {
		x.Increase(d, quantity)
	}
}

// queue is a queue as tests write it: its name, or "name<parent", and its own accounts without the accounts of its
// children. bound is realCapability.
type queue struct {
	name                               string
	bound, allocated, inqueue, elastic res
}

// session returns an index of the queues, rolled up.
func session(root string, queues ...queue) *index.Index {
	var nodes []index.Node
	for _, q := range queues {
		name, parent, _ := strings.Cut(q.name, "<")
		nodes = append(nodes, index.Node{Name: name, Parent: parent})
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dims)
	for i, node := range nodes {
		q := ix.Lookup(node.Name)
		queues[i].bound.addTo(ix.RealCapability.Row(q))
		queues[i].inqueue.addTo(ix.Inqueue.Row(q))
		queues[i].elastic.addTo(ix.Elastic.Row(q))
		queues[i].allocated.addTo(ix.Mutable(q))
		ix.NoteOwnJobs(q)
	}
	ix.RollUp()
	quota.RollUpInqueue(ix, func(index.Queue) bool { return true })
	return ix
}

// The cards of the tests in this file.
const (
	cardA = gpu
	cardB = far
	cardC = fastres.Dim(10)
	cardD = fastres.Dim(11)
)

var allCards = []fastres.Dim{cardA, cardB, cardC, cardD}

// demand is a Demand as tests write it.
type demand struct {
	queue string
	size  float64
	count int
	cards []fastres.Dim
}

func (a demand) of(ix *index.Index) assign.Demand {
	return assign.Demand{Queue: ix.Lookup(a.queue), Cards: a.cards, Size: a.size, Count: a.count}
}

// plenty returns a budget that one question can use.
func plenty() *assign.Budget {
	budget := assign.Budget(1 << 22)
	return &budget
}

// decide asks a question that the search decides within its budget.
func decide(t *testing.T, a *assign.Assigner, ix *index.Index, given, asked []assign.Demand) bool {
	t.Helper()
	answer := a.Feasible(ix, given, asked, plenty())
	require.NotEqual(t, assign.Unknown, answer)
	return answer == assign.Yes
}

func of(cards ...fastres.Dim) []fastres.Dim { return cards }

func repeat[T any](n int, of func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

// randomCards returns an index of up to 7 queues, a tree or flat, with random rooms: up to
// about most cards, negative, or without bound.
func randomCards(r *rand.Rand, most int) *index.Index {
	nodes := []index.Node{{Name: "root"}}
	for i := range r.IntN(7) {
		nodes = append(nodes, index.Node{Name: fmt.Sprint(i), Parent: nodes[r.IntN(len(nodes))].Name})
	}
	root := "root"
	if r.IntN(4) == 0 {
		root = ""
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dims)
	for q := range index.Queue(ix.Len()) {
		for _, card := range allCards {
			if r.IntN(4) == 0 {
				ix.RealCapability.Row(q).Set(card, noBound)
				continue
			}
			ix.RealCapability.Row(q).Set(card, float64(500*r.IntN(2*most+1)))
			if r.IntN(3) == 0 {
				ix.Mutable(q).Set(card, float64(500*r.IntN(5)))
				ix.Inqueue.Row(q).Set(card, float64(500*r.IntN(3)))
				ix.Elastic.Row(q).Set(card, float64(500*r.IntN(4)))
			}
		}
	}
	return ix
}

// randomDemands returns random demands of the given number of pods in total.
func randomDemands(r *rand.Rand, ix *index.Index, pods int) []assign.Demand {
	var demands []assign.Demand
	largest, choice := 1+r.IntN(4), 1+r.IntN(len(allCards))
	for pods > 0 {
		n := assign.Demand{Queue: index.Queue(r.IntN(ix.Len())), Size: float64(1000 * (1 + r.IntN(largest))), Count: 1}
		if r.IntN(2) == 0 {
			n.Count += r.IntN(pods)
		}
		for _, i := range r.Perm(choice)[:1+r.IntN(choice)] {
			n.Cards = append(n.Cards, allCards[i])
		}
		pods -= n.Count
		demands = append(demands, n)
	}
	return demands
}

// plant sets all rooms to the amounts that one assignment of the demands takes.
func plant(r *rand.Rand, ix *index.Index, demands []assign.Demand) {
	ix.Reset(ix.Tree, ix.Dims())
	for _, n := range demands {
		for range n.Count {
			card := n.Cards[r.IntN(len(n.Cards))]
			for _, p := range ix.Path(n.Queue) {
				ix.RealCapability.Row(p).Increase(card, n.Size)
			}
		}
	}
}

// shake changes some random rooms by one card.
func shake(r *rand.Rand, ix *index.Index) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range allCards {
			if r.IntN(4) == 0 {
				ix.RealCapability.Row(q).Increase(card, float64(1000*(r.IntN(3)-1)))
			}
		}
	}
}

// shape is the size of a cluster: leaves below inner queues below a root.
type shape struct{ inner, leaves, demands int }

var stress = shape{30, 1000, 3000}

// planted returns a cluster of a shape. The rooms at every level are exactly the amounts that one assignment of its
// demands takes.
func planted(r *rand.Rand, of shape, sizes ...float64) (*index.Index, []assign.Demand) {
	var nodes []index.Node
	for i := range of.inner {
		nodes = append(nodes, index.Node{Name: fmt.Sprint("inner", i)})
	}
	for i := range of.leaves {
		nodes = append(nodes, index.Node{Name: fmt.Sprint("leaf", i), Parent: fmt.Sprint("inner", i%of.inner)})
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, "root"), dims)
	demands := repeat(of.demands, func(int) assign.Demand {
		n := assign.Demand{Queue: ix.Lookup(fmt.Sprint("leaf", r.IntN(of.leaves))), Size: sizes[r.IntN(len(sizes))], Count: 1 + r.IntN(4)}
		for _, i := range r.Perm(len(allCards))[:1+r.IntN(len(allCards))] {
			n.Cards = append(n.Cards, allCards[i])
		}
		return n
	})
	plant(r, ix, demands)
	return ix, demands
}

// widen increases the room of every queue for every card.
func widen(ix *index.Index, amount float64) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range allCards {
			ix.RealCapability.Row(q).Increase(card, amount)
		}
	}
}
