package inspect

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
)

// Account is the account of a queue, including its children. A root without a Queue object has one, too.
type Account struct {
	Queue  string
	Parent string // "" for none
	Depth  int    // 0 at the top
	Leaf   bool
	Broken error // not nil if the queue does not reach the root, and so takes no jobs
	Share  float64
	// Holdings begins with cpu and memory. Every other resource that the queue has, may have or requests follows, in
	// the order of the names.
	Holdings []Holding
}

// Holding is the account of a queue in one resource. cpu is in cores, memory in bytes, cards and everything else in
// whole units. +Inf is no bound.
type Holding struct {
	Resource string
	Card     bool

	Allocated  float64
	Request    float64 // allocated + pending
	Inqueue    float64 // reserved for admitted jobs
	Elastic    float64 // allocated beyond the jobs' minimum
	Capability float64 // the bound of allocation
	Deserved   float64
	Guarantee  float64
}

// Accounts returns the accounts of all queues, parents first.
func (i Inspection) Accounts() []Account {
	ix := i.s.Index

	var accounts []Account
	for q := range index.Queue(ix.Len()) {
		a := Account{
			Queue:    ix.Name(q),
			Depth:    ix.Depth(q),
			Leaf:     ix.IsLeaf(q),
			Broken:   ix.Broken(q),
			Share:    ix.Share(q),
			Holdings: holdings(i.s, q),
		}

		if ix.Allocated(q).IsEmpty() {
			a.Share = 0 // not the 1 of a queue of best effort, which only serves the order of queues
		}
		if parent := ix.Parent(q); parent != index.None {
			a.Parent = ix.Name(parent)
		}

		accounts = append(accounts, a)
	}
	return accounts
}

// holdings returns the holdings of a queue. Those without any quantity are left out, except cpu and memory.
func holdings(s *Parts, q index.Queue) (all []Holding) {
	for d := range fastres.Dim(min(s.Index.Dims(), s.Names.Len())) {
		h := holding(s, q, d)

		empty := Holding{Resource: h.Resource, Card: h.Card}
		if _, device := s.Names.Class(d); device && math.IsInf(h.Capability, 1) {
			empty.Capability = h.Capability // a class that no quota bounds is not shown
		}
		if d <= fastres.Memory || h != empty {
			all = append(all, h)
		}
	}

	slices.SortFunc(all[2:], func(x, y Holding) int { return cmp.Compare(x.Resource, y.Resource) })
	return all
}

func holding(s *Parts, q index.Queue, d fastres.Dim) Holding {
	readable := func(quantity float64) float64 {
		if quantity < fastres.MaxQuantity {
			return format.Readable(d, quantity)
		}
		return math.Inf(1)
	}

	entry := func(row fastres.Vector) float64 { return readable(row.Get(d)) }

	ix := s.Index
	return Holding{
		Resource:   s.Names.Name(d),
		Card:       s.Names.IsCard(d),
		Allocated:  entry(ix.Allocated(q)),
		Request:    entry(ix.Request.Row(q)),
		Inqueue:    entry(ix.Inqueue.Row(q)),
		Elastic:    entry(ix.Elastic.Row(q)),
		Capability: readable(quota.Bound(s.LimitOf(q), s.Names, q, d)),
		Deserved:   entry(ix.Deserved.Row(q)),
		Guarantee:  entry(ix.Guarantee.Row(q)),
	}
}
