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
	ix.checkVersions()
	ix.checkDeviceClaims()

	ix.checkSums("allocated", ix.withoutDeviceClaims)
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
func (ix *Index) NoteOwnJobs(q Queue) {
	ix.own[q] = true
	for _, head := range ix.Heads(q) {
		ix.own[head] = true
	}
}

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
			children := below.At(q, d)
			own := account(q).Get(d)
			if own < children || own > children && !ix.own[q] {
				panic(fmt.Sprintf("index: %s of %q in dimension %d is %v, its children's %v",
					name, ix.Name(q), d, own, children))
			}
		}
	}
}

// withoutDeviceClaims returns allocated of q without its device claims. A claim that several queues
// share is charged to each of them, and once to their common ancestors.
func (ix *Index) withoutDeviceClaims(q Queue) fastres.Vector {
	rest := fastres.NewVector(ix.dims)
	rest.CopyFrom(ix.Allocated(q))

	for k, entry := range ix.claims.newest {
		if k.queue != q {
			continue
		}
		for _, devices := range ix.claims.entries[entry].held.Devices {
			rest.Set(devices.Dim, rest.Get(devices.Dim)-devices.Quantity)
		}
	}

	return rest
}

// checkDeviceClaims expects that allocated of every queue covers its device claims, and that an ancestor
// has at least as many references as each queue below.
func (ix *Index) checkDeviceClaims() {
	var sums Rows
	sums.Reset(ix.Len(), ix.dims)

	for k, entry := range ix.claims.newest {
		held := ix.claims.entries[entry].held
		if held.References < 0 || held.References == 0 && held.Devices != nil {
			panic(fmt.Sprintf("index: %q holds %q: %v", ix.Name(k.queue), k.claim, held))
		}

		for _, devices := range held.Devices {
			sums.Row(k.queue).Increase(devices.Dim, devices.Quantity)
		}

		if p := ix.Parent(k.queue); p != None && ix.DeviceClaim(p, k.claim).References < held.References {
			panic(fmt.Sprintf("index: %q refers to %q more often than its parent", ix.Name(k.queue), k.claim))
		}
	}

	for q := range Queue(ix.Len()) {
		for d := range sums.Row(q).Scalars() {
			got := ix.AllocatedAt(q, d)
			want := sums.At(q, d)
			if got < want {
				panic(fmt.Sprintf("index: allocated of %q in dimension %d is %v, its claims' %v",
					ix.Name(q), d, got, want))
			}
		}
	}
}

func (ix *Index) checkTree() {
	for q := range Queue(ix.Len()) {
		path := ix.Path(q)
		top := path[len(path)-1]
		if path[0] != q || len(path) > 1 && !ix.IsJoint(q) && path[1] != ix.Parent(q) || ix.Parent(q) >= q {
			panic(fmt.Sprintf("index: path of %q is %v", ix.Name(q), path))
		}

		if ix.Rooted() && (top == ix.Root()) != (ix.Broken(q) == nil) {
			panic(fmt.Sprintf("index: %q ends at %q, broken: %v", ix.Name(q), ix.Name(top), ix.Broken(q)))
		}
	}
}

func (ix *Index) checkVersions() {
	v := &ix.allocated

	for q := range Queue(ix.Len()) {
		for row := v.newest[q]; v.previous[row] >= 0; row = v.previous[row] {
			if v.version[row] <= v.version[v.previous[row]] || v.version[row] > v.current {
				panic(fmt.Sprintf("index: rows of %q are out of order", ix.Name(q)))
			}
		}
	}

	for q := range Queue(ix.Len()) {
		for d := range fastres.Dim(ix.dims) {
			x := ix.Allocated(q)
			if x.Get(d) < 0 || !x.Has(d) && x.Get(d) != 0 {
				panic(fmt.Sprintf("index: allocated of %q in dimension %d is %v", ix.Name(q), d, x.Get(d)))
			}
		}
	}
}
