package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

const (
	cpu    = fastres.CPU
	memory = fastres.Memory
	gpu    = fastres.FirstFree
	far    = fastres.Dim(66) // in the second presence word
	dims   = 70
)

// nodes parses queues, written as "name" or "name<parent".
func nodes(queues ...string) []index.Node {
	all := make([]index.Node, 0, len(queues))
	for _, queue := range queues {
		name, parent, _ := strings.Cut(queue, "<")
		all = append(all, index.Node{Name: name, Parent: parent})
	}
	return all
}

// outline writes a tree as one line for each queue, in the order of their numbers: the
// names of its path, then whether it is a leaf and whether it is broken.
func outline(tree *index.Tree) []string {
	lines := make([]string, 0, tree.Len())
	for q := range index.Queue(tree.Len()) {
		var names []string
		for _, p := range tree.Path(q) {
			names = append(names, tree.Name(p))
		}
		line := strings.Join(names, "<")
		if tree.IsLeaf(q) {
			line += " leaf"
		}
		if tree.Broken(q) != nil {
			line += " broken"
		}
		lines = append(lines, line)
	}
	return lines
}

// accounts is an index or an overlay.
type accounts interface {
	Path(q index.Queue) []index.Queue
	Mutable(q index.Queue) fastres.Vector
	Allocated(q index.Queue) fastres.Vector
}

// charge adds x to q and all its ancestors.
func charge(a accounts, q index.Queue, x fastres.Vector) {
	for _, p := range a.Path(q) {
		a.Mutable(p).Add(x)
	}
}

// refund subtracts x from q and all its ancestors.
func refund(a accounts, q index.Queue, x fastres.Vector) {
	for _, p := range a.Path(q) {
		a.Mutable(p).Sub(x)
	}
}

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

func copyOf(x fastres.Vector) fastres.Vector {
	c := fastres.NewVector(x.Len())
	c.CopyFrom(x)
	return c
}

// randomCharge returns the request of a task: whole numbers, with some of the scalars.
func randomCharge(r *rand.Rand) fastres.Vector {
	x := fastres.NewVector(dims)
	x.Set(cpu, float64(r.IntN(64_000)))
	x.Set(memory, float64(r.Int64N(1<<40)))
	for _, d := range []fastres.Dim{gpu, far} {
		if r.IntN(2) == 0 {
			x.Set(d, float64(1000*r.IntN(9)))
		}
	}
	return x
}

// randomNodes returns a random tree of n queues below the root.
func randomNodes(r *rand.Rand, n int) []index.Node {
	all := nodes("root")
	for i := range n {
		parent := all[r.IntN(len(all))].Name
		all = append(all, index.Node{Name: fmt.Sprintf("q%d", i), Parent: parent})
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// newIndex returns an index of the given queues, with empty accounts.
func newIndex(root string, queues ...string) *index.Index {
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes(queues...), root), dims)
	return ix
}

func lookup(t *testing.T, tree *index.Tree, name string) index.Queue {
	t.Helper()
	q := tree.Lookup(name)
	require.NotEqual(t, index.None, q, "no queue %q", name)
	return q
}

// allAllocated returns copies of allocated of every queue.
func allAllocated(ix *index.Index) []fastres.Vector {
	rows := make([]fastres.Vector, ix.Len())
	for q := range rows {
		rows[q] = copyOf(ix.Allocated(index.Queue(q)))
	}
	return rows
}

func copyAll(rows []fastres.Vector) []fastres.Vector {
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = copyOf(row)
	}
	return rows
}
