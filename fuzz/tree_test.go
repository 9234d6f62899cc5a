package fuzz

import (
	"fmt"
	"slices"
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
)

// FuzzTree builds trees of any parents, cycles and unknown ones included, and
// checks paths against the oracle, and that numbers hold what package index
// promises.
func FuzzTree(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		w := &world{t: t, ix: &index.Index{}}
		from := oracle.Cluster{Root: "q0"}
		var nodes []index.Node
		for i := range 1 + r.IntN(32) {
			q := oracle.Queue{Name: fmt.Sprintf("q%d", i), Parent: fmt.Sprintf("q%d", r.IntN(40))}
			if r.IntN(8) == 0 {
				q.Parent = ""
			}
			if r.IntN(16) == 0 {
				q.Name = fmt.Sprintf("q%d", r.IntN(4)) // again, or q0 comes late
			}
			from.Queues = append(from.Queues, q)
			nodes = append(nodes, index.Node{Name: q.Name, Parent: q.Parent})
		}
		w.oracle = oracle.New(from)
		w.ix.Reset(index.BuildTree(nodes, from.Root), 8)
		for _, name := range w.oracle.Names() {
			w.comparePath(name)
			q := w.number(name)
			if w.oracle.Broken(name) != (w.ix.Broken(q) != nil) || w.oracle.Leaf(name) != w.ix.IsLeaf(q) {
				t.Errorf("%s: broken %v, leaf %t", name, w.ix.Broken(q), w.ix.IsLeaf(q))
			}
			var children []string
			for _, child := range w.ix.Children(q) {
				children = append(children, w.ix.Name(child))
			}
			slices.Sort(children)
			if !slices.Equal(children, w.oracle.Children(name)) {
				t.Errorf("below %s are %v, by the oracle %v", name, children, w.oracle.Children(name))
			}
			if p := w.ix.Parent(q); p >= q {
				t.Errorf("%s has number %d, its parent %d", name, q, p)
			}
		}
		w.ix.RollUp()
	})
}
