//go:build invariants

package index

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
)

// Check panics if an invariant of package index is violated, in builds with the tag
// "invariants". Other builds do nothing.
func (ix *Index) Check() {
	ix.checkTree()
	ix.checkLedger()
	ix.checkSums("allocated", ix.Allocated)
	ix.checkSums("request", func(q Queue) fastres.Vector { return ix.Request.Row(q) })
	ix.checkSums("elastic", func(q Queue) fastres.Vector { return ix.Elastic.Row(q) })
	ix.checkSums("terminating", func(q Queue) fastres.Vector { return ix.Terminating.Row(q) })
	if ix.Reserved.Len() > 0 {
		ix.checkSums("reserved", func(q Queue) fastres.Vector { return ix.Reserved.Row(q) })
	}
}

// NoteOwnJobs records that jobs of q itself changed its accounts, in builds with the tag
// "invariants". Only such a queue may have more than its children. Other builds do
// nothing.
func (ix *Index) NoteOwnJobs(q Queue) { ix.own[q] = true }

// ownJobs holds, for each queue, whether jobs of the queue itself changed its accounts.
type ownJobs []bool

func (o *ownJobs) reset(n int) { *o = make([]bool, n) }

// checkSums expects the account of an inner queue to be the sum of its children's, or more
// if jobs of the queue itself changed it.
func (ix *Index) checkSums(name string, account func(Queue) fastres.Vector) {
	var below Rows
	below.Reset(ix.Len(), ix.dims)
	for q := Queue(ix.Len()) - 1; q >= 0; q-- {
		if p := ix.Parent(q); p != None {
			below.Row(p).Add(account(q))
		}
		if ix.IsLeaf(q) {
			continue
		}
		for d := range fastres.Dim(ix.dims) {
			children, own := below.Row(q).Get(d), account(q).Get(d)
			if own < children || own > children && !ix.own[q] {
				panic(fmt.Sprintf("index: %s of %q in dimension %d is %v, its children's %v",
					name, ix.Name(q), d, own, children))
			}
		}
	}
}

func (ix *Index) checkTree() {
	for q := range Queue(ix.Len()) {
		path := ix.Path(q)
		top := path[len(path)-1]
		if path[0] != q || len(path) > 1 && path[1] != ix.Parent(q) || ix.Parent(q) >= q {
			panic(fmt.Sprintf("index: path of %q is %v", ix.Name(q), path))
		}
		if ix.Rooted() && (top == ix.Root()) != (ix.Broken(q) == nil) {
			panic(fmt.Sprintf("index: %q ends at %q, broken: %v", ix.Name(q), ix.Name(top), ix.Broken(q)))
		}
	}
}

func (ix *Index) checkLedger() {
	l := &ix.allocated
	for q := range Queue(ix.Len()) {
		for row := l.newest[q]; l.previous[row] >= 0; row = l.previous[row] {
			if l.version[row] <= l.version[l.previous[row]] || l.version[row] > l.current {
				panic(fmt.Sprintf("index: rows of %q are out of order", ix.Name(q)))
			}
		}
	}
	for q := range Queue(ix.Len()) {
		for d := range fastres.Dim(ix.dims) {
			if x := ix.Allocated(q); x.Get(d) < 0 || !x.Has(d) && x.Get(d) != 0 {
				panic(fmt.Sprintf("index: allocated of %q in dimension %d is %v", ix.Name(q), d, x.Get(d)))
			}
		}
	}
}
