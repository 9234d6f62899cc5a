package plan

import (
	"cmp"
	"container/heap"
)

// option is a node for a kind of pods, with the cost of the victims that make room there. The cost of an older version
// is a lower bound: victims of later steps make room elsewhere dearer. Nodes that victims have left are the exception,
// see stamp.
type option struct {
	node       int
	cost       cost
	preference int
	version    int
	stamp      int // an option with an older stamp than its node is void
	possible   bool
}

// options is a heap of the options of one kind.
type options []*option

func (o options) Len() int      { return len(o) }
func (o options) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *options) Push(x any)   { *o = append(*o, x.(*option)) }

func (o options) Less(i, j int) bool {
	by := o[i].cost.compare(&o[j].cost)
	return cmp.Or(by, cmp.Compare(o[i].preference, o[j].preference), cmp.Compare(o[i].node, o[j].node)) < 0
}

// Pop removes the last option, as container/heap asks.
func (o *options) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}

// optionsOf returns the options of the kind of a pod, the cheapest first. An option costs nothing before it is
// evaluated.
func (s *search) optionsOf(pod int) *options {
	kind := s.Pods[pod].Kind
	if known := s.options[kind]; known != nil {
		return known
	}

	all := &options{}
	for node := range s.Nodes {
		if s.Accounts.Charged(pod, node) != None {
			*all = append(*all, s.unknown(pod, node))
		}
	}
	heap.Init(all)

	s.options[kind] = all
	return all
}

// unknown returns the option of a node that is not evaluated.
func (s *search) unknown(pod, node int) *option {
	return &option{node: node, preference: s.Accounts.Preference(pod, node), version: -1, stamp: s.stamps[node]}
}

// forget voids the options of a node that victims have left: it may be cheaper now, for all kinds.
func (s *search) forget(node int) {
	s.stamps[node]++

	seen := map[int]bool{}
	for pod := range s.Pods {
		kind := s.Pods[pod].Kind
		all := s.options[kind]
		if all == nil || seen[kind] || s.Accounts.Charged(pod, node) == None {
			continue
		}

		seen[kind] = true
		heap.Push(all, s.unknown(pod, node))
	}
}

// evaluate returns the option of a node for a pod at the present version.
func (s *search) evaluate(pod, node int) *option {
	o := s.unknown(pod, node)
	o.version = s.version

	// If nodes have room, the bounds alone decide, and all nodes with the same charge cost the same.
	key := charging{s.Pods[pod].Kind, s.Accounts.Charged(pod, node)}
	hasRoom := s.hasRoom(pod, node)
	if known := s.byCharge[key]; hasRoom && known != nil && known.version == s.version {
		o.possible = known.possible
		o.cost = known.cost
		return o
	}

	before := len(s.steps)
	o.possible = s.makeRoom(pod, node)
	if o.possible {
		o.cost = s.costOf(s.units(before))
	}
	s.undo(before)

	if hasRoom {
		s.byCharge[key] = o
	}

	return o
}
