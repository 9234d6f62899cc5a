package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Future is allocated as it will be once all evictions are over: the pods that are being deleted
// are gone, and the pods that others were evicted for have their nodes:
//
//	future = allocated − terminating + earmarked
//
// for each queue, rolled up as allocated is. earmarked is the sum of the charges of pods that wait for
// their victims to end. Quantities have the units of package fastres.
//
// A rule about the present reads allocated: a pod gets a node if it fits next to all other pods,
// terminating or not. A rule about the end of evictions reads future: which pods have to be
// evicted, and whether a pod leaves the room of victims to the pods that they were evicted for.
// The rules themselves do not distinguish the two.
//
// # Example
//
// A queue has a quota of 5 cards and 3 pods of one card. Two of them are evicted for a gang of
// two pods with two cards each. Their controller makes pods in their place.
//
//	                         allocated  terminating  earmarked  future  one more card
//	the victims terminate    3          2            4          5       refused by future
//	one victim is gone       2          1            4          5       refused by future
//	both are gone            1          0            4          5       refused by future
//	the gang has its nodes   5          0            0          5       refused by allocated
//
// A Future is used in one session, from Reset on, and its memory is kept for the next. It has
// rows only for the queues in which it differs from allocated.
//
// Upstream: none. There, pods that are being deleted are not part of allocated, and a pod that
// waits for its victims is charged in each session in which allocate reaches it first.
type Future struct {
	*index.Index
	at   []int32 // queue → its row, or −1; empty if no queue has a row
	rows fastres.Rows
}

var _ Accounts = &Future{}

// Reset prepares f for a session with the accounts ix, rolled up. Nothing is earmarked.
func (f *Future) Reset(ix *index.Index) {
	f.Index = ix
	f.at = f.at[:0]
	for q := range index.Queue(ix.Len()) {
		if terminating := ix.Terminating.Row(q); !terminating.IsEmpty() {
			f.Mutable(q).Sub(terminating)
		}
	}
}

// Differs reports whether future differs from allocated in some queue.
func (f *Future) Differs() bool { return len(f.at) > 0 }

// Allocated returns future of q. It is for reading, and invalid after the next change.
func (f *Future) Allocated(q index.Queue) fastres.Vector {
	if len(f.at) == 0 || f.at[q] < 0 {
		return f.Index.Allocated(q)
	}
	return f.rows.Row(int(f.at[q]))
}

// AllocatedAt returns the quantity of d in future of q.
func (f *Future) AllocatedAt(q index.Queue, d fastres.Dim) float64 {
	if len(f.at) == 0 || f.at[q] < 0 {
		return f.Index.AllocatedAt(q, d)
	}
	return f.rows.At(int(f.at[q]), d)
}

// Mutable returns future of q for writing. It is invalid after the next call. To earmark a
// request is to charge it to f alone (Charge).
func (f *Future) Mutable(q index.Queue) fastres.Vector {
	if len(f.at) == 0 {
		f.rows.Reset(0, f.Dims())
		for range f.Len() {
			f.at = append(f.at, -1)
		}
	}
	if f.at[q] < 0 {
		f.at[q] = int32(f.rows.Append(f.Index.Allocated(q)))
	}

	return f.rows.Row(int(f.at[q]))
}

// CopyTo copies future to other accounts, such as a snapshot in which a simulation begins.
func (f *Future) CopyTo(a Accounts) {
	for q, row := range f.at {
		if row >= 0 {
			a.Mutable(index.Queue(q)).CopyFrom(f.rows.Row(int(row)))
		}
	}
}

// Charged follows a charge of a request to q and its ancestors in allocated.
func (f *Future) Charged(q index.Queue, request fastres.Vector) {
	f.follow(q, func(_ index.Queue, row fastres.Vector) { row.Add(request) })
}

// Refunded follows a refund.
func (f *Future) Refunded(q index.Queue, refund fastres.Vector) {
	f.follow(q, func(_ index.Queue, row fastres.Vector) { row.Sub(refund) })
}

// CopyDevices follows a change of the resource claims that q and its ancestors hold.
func (f *Future) CopyDevices(q index.Queue, claims []index.DeviceClaim) {
	f.follow(q, func(p index.Queue, row fastres.Vector) {
		for _, claim := range claims {
			for _, device := range claim.Devices {
				row.Set(device.Dim, f.Index.AllocatedAt(p, device.Dim))
			}
		}
	})
}

// Change follows a change of q alone in one dimension of allocated.
func (f *Future) Change(q index.Queue, d fastres.Dim, more float64) {
	if len(f.at) > 0 && f.at[q] >= 0 {
		row := f.rows.Row(int(f.at[q]))
		row.Set(d, max(0, row.Get(d)+more))
	}
}

func (f *Future) follow(q index.Queue, change func(p index.Queue, row fastres.Vector)) {
	if len(f.at) == 0 {
		return
	}

	for _, p := range f.Path(q) {
		if f.at[p] >= 0 {
			change(p, f.rows.Row(int(f.at[p])))
		}
	}
}

// Books are the accounts that the rules of allocation read.
type Books struct {
	Queues     Accounts
	Holders    Accounts // nil if no queue limits the holders of jobs
	Guarantees *Guarantees

	// Then are books that are read as well, nil for none: a task has to fit now, and once evictions
	// are over.
	Then *Books
}
