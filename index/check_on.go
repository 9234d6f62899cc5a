//go:build invariants

package index

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
)

// Check panics if an invariant is broken, in builds with the tag "invariants".
func (ix *Index) Check() {
	ix.checkTree()
	ix.checkLedger()
	ix.checkSums("allocated", ix.Allocated)
	ix.checkSums("request", func(q Queue) fastres.Vector { return ix.Request.Row(q) })
	ix.checkSums("inqueue", func(q Queue) fastres.Vector { return ix.Inqueue.Row(q) })
	ix.checkSums("elastic", func(q Queue) fastres.Vector { return ix.Elastic.Row(q) })
}

// NoteOwnJobs records that jobs of q itself changed its accounts, in builds with
// the tag "invariants": only such a queue may have more than its children have.
func (ix *Index) NoteOwnJobs(q Queue) { ix.own[q] = true }

// ownJobs holds, by queue, whether jobs of the queue itself changed its accounts.
type ownJobs []bool

func (o *ownJobs) reset(n int) { *o = make([]bool, n) }

// checkSums expects an inner queue to have what its children have, and more only
// if it has jobs of its own, which should not be.
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
		for s := l.slot[q]; l.prev[s] >= 0; s = l.prev[s] {
			if l.born[s] <= l.born[l.prev[s]] || l.born[s] > l.now {
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
