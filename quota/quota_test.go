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

// res is a vector as it is written in tests; what it names is present.
type res map[fastres.Dim]float64

func (r res) vector() fastres.Vector {
	x := fastres.NewVector(dims)
	for d, quantity := range r {
		x.Set(d, quantity)
	}
	return x
}

// resOf writes x as a res; cpu and memory are left out where they are 0.
func resOf(x fastres.Vector) res {
	r := res{}
	for d := range fastres.Dim(x.Len()) {
		if d <= memory && x.Get(d) != 0 || d > memory && x.Has(d) {
			r[d] = x.Get(d)
		}
	}
	return r
}

// queue is a queue as it is written in tests: its name, or "name<parent", and
// what its rows hold before anything is rolled up.
type queue struct {
	name                                   string
	capability, bound, guarantee, deserved res // bound is realCapability
	allocated, request, inqueue, elastic   res
	share                                  float64
}

// session returns an index of the given queues, rolled up.
func session(root string, queues ...queue) *index.Index {
	var nodes []index.Node
	for _, q := range queues {
		name, parent, _ := strings.Cut(q.name, "<")
		nodes = append(nodes, index.Node{Name: name, Parent: parent})
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dims)
	for i, q := range queues {
		number := ix.Lookup(nodes[i].Name)
		row := number
		ix.Capability.Row(row).Add(q.capability.vector())
		ix.RealCapability.Row(row).Add(q.bound.vector())
		ix.Guarantee.Row(row).Add(q.guarantee.vector())
		ix.Deserved.Row(row).Add(q.deserved.vector())
		ix.Request.Row(row).Add(q.request.vector())
		ix.Inqueue.Row(row).Add(q.inqueue.vector())
		ix.Elastic.Row(row).Add(q.elastic.vector())
		ix.Mutable(number).Add(q.allocated.vector())
		ix.NoteOwnJobs(number)
		ix.SetShare(number, q.share)
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

// verdict is a Verdict with the name of its queue, easier to read in a failure.
func verdict(ix *index.Index, v quota.Verdict) string {
	reason := map[quota.Reason]string{
		quota.Admitted: "admitted", quota.UnknownQueue: "unknown", quota.BrokenQueue: "broken",
		quota.InnerQueue: "inner", quota.ClosedQueue: "closed", quota.OverQuota: "over quota",
		quota.OverDeserved: "over deserved",
	}[v.Reason]
	if v.Queue == index.None {
		return reason
	}
	return reason + " at " + ix.Name(v.Queue)
}

// randomTree is an index of n queues below "root" and, now and then, queues that
// do not reach it.
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
