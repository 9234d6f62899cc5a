package serve

import (
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// node returns the name of a node, if the viewer may see it. It is "" for no node.
func (s *seen) node(name string) string {
	if name == "" || s.viewer.Nodes(s.ctx) {
		return name
	}
	return hiddenName
}

// nodes returns the names of nodes, none if they may not be seen.
func (s *seen) nodes(names []string) []string {
	if s.viewer.Nodes(s.ctx) {
		return names
	}
	return []string{}
}

// stock returns a stock without the names of nodes that may not be seen.
func (s *seen) stock(all *stock.Stock) *stock.Stock {
	if s.viewer.Nodes(s.ctx) {
		return all
	}

	visible := *all
	visible.Nodes = slices.Clone(all.Nodes)
	visible.Lost = slices.Clone(all.Lost)
	visible.Unlabeled = slices.Clone(all.Unlabeled)

	for i := range visible.Nodes {
		visible.Nodes[i].Node = s.node(visible.Nodes[i].Node)
	}
	for i := range visible.Lost {
		visible.Lost[i].Node = s.node(visible.Lost[i].Node)
	}
	for i := range visible.Unlabeled {
		visible.Unlabeled[i].Node = s.node(visible.Unlabeled[i].Node)
	}

	return &visible
}
