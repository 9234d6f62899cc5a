package quota_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

const (
	cpu     = fastres.CPU
	memory  = fastres.Memory
	pods    = fastres.Pods
	gpu     = fastres.FirstFree
	far     = fastres.Dim(66) // in the second presence word
	dims    = 70
	noBound = fastres.MaxQuantity
)

// res is a vector as tests write it. The dimensions that it names are present.
type res map[fastres.Dim]float64

func (r res) vector() fastres.Vector {
	x := fastres.NewVector(dims)
	for d, quantity := range r {
		x.Set(d, quantity)
	}
	return x
}

// resOf converts x to a res, without cpu and memory of 0.
func resOf(x fastres.Vector) res {
	r := res{}
	for d := range fastres.Dim(x.Len()) {
		if d <= memory && x.Get(d) != 0 || d > memory && x.Has(d) {
			r[d] = x.Get(d)
		}
	}
	return r
}

// queue is a queue as tests write it: its name, or "name<parent", and its own accounts without the accounts of its
// children.
type queue struct {
	name                                   string
	capability, bound, guarantee, deserved res // bound is realCapability
	allocated, request, inqueue, elastic   res
	share                                  float64
}

// session returns an index of the given queues, rolled up.
func session(root string, queues ...queue) *index.Index {
	ix := build(root, queues...)
	quota.RollUpInqueue(ix, func(index.Queue) bool { return true })
	return ix
}

// build returns an index of the given queues, rolled up except for inqueue.
func build(root string, queues ...queue) *index.Index {
	var nodes []index.Node
	for _, q := range queues {
		name, parent, _ := strings.Cut(q.name, "<")
		nodes = append(nodes, index.Node{Name: name, Parent: parent})
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dims)
	for i, each := range queues {
		q := ix.Lookup(nodes[i].Name)
		ix.Capability.Row(q).Add(each.capability.vector())
		ix.RealCapability.Row(q).Add(each.bound.vector())
		ix.Guarantee.Row(q).Add(each.guarantee.vector())
		ix.Deserved.Row(q).Add(each.deserved.vector())
		ix.Request.Row(q).Add(each.request.vector())
		ix.Inqueue.Row(q).Add(each.inqueue.vector())
		ix.Elastic.Row(q).Add(each.elastic.vector())
		ix.Mutable(q).Add(each.allocated.vector())
		ix.NoteOwnJobs(q)
		ix.SetShare(q, each.share)
	}
	ix.RollUp()
	return ix
}

func lookup(t *testing.T, ix *index.Index, name string) index.Queue {
	t.Helper()
	q := ix.Lookup(name)
	require.NotEqual(t, index.None, q, "no queue %q", name)
	return q
}

// verdict writes a verdict as its reason and the name of its queue.
func verdict(ix *index.Index, v quota.Verdict) string {
	if v.Queue == index.None {
		return v.Reason.String()
	}
	return v.Reason.String() + " at " + ix.Name(v.Queue)
}

// randomTree returns an index of n queues. Most are below the root, and some are broken.
func randomTree(r *rand.Rand, n int) *index.Index {
	queues := []queue{{name: "root"}}
	names := []string{"root"}
	for i := range n {
		name, parent := fmt.Sprintf("q%d", i), names[r.IntN(len(names))]
		if r.IntN(12) == 0 {
			parent = "nobody"
		}
		names = append(names, name)
		queues = append(queues, queue{name: name + "<" + parent})
	}
	return session("root", queues...)
}

func randomRequest(r *rand.Rand, most int) fastres.Vector {
	x := fastres.NewVector(dims)
	x.Set(cpu, float64(r.IntN(most)))
	x.Set(memory, float64(r.IntN(most)))
	for _, d := range []fastres.Dim{pods, gpu, far} {
		if r.IntN(2) == 0 {
			x.Set(d, float64(r.IntN(most)))
		}
	}
	return x
}
