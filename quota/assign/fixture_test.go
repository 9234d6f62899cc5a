package assign_test

import (
	"strings"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
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

// queue is a queue as tests write it: its name, or "name<parent", and its own accounts
// without those of its children. bound is realCapability.
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
	return ix
}
