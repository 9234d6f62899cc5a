package serve

import "github.com/capacity-card/capacity-card/cmd/cardctl/stock"

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
	visible.Nodes = changed(all.Nodes, func(n *stock.OnNode) { n.Node = s.node(n.Node) })
	visible.Lost = changed(all.Lost, func(c *stock.LostCards) { c.Node = s.node(c.Node) })
	visible.Unlabeled = changed(all.Unlabeled, func(n *stock.UnlabeledNode) { n.Node = s.node(n.Node) })
	return &visible
}
