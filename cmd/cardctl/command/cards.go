package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
)

const cardsLong = `Lists cards: what the nodes have, what queues are charged for, what is free, and
the quotas of the queues. USED counts all pods on the nodes, CHARGED the pods of
queues. FREE is on nodes that take pods; UNUSABLE is on nodes that are cordoned,
not ready or tainted. A card is oversubscribed if the quotas of the leaf queues add up to more
than the nodes have, which is allowed.`

func newCards(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cards", Short: "Cards in the cluster, on nodes and in queues", Long: cardsLong,
		Example: "  cardctl cards\n  cardctl cards -o wide -f dump.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			world, configuration, err := s.load(cmd.Context())
			if err != nil {
				return err
			}
			session, err := engine.Open(cmd.Context(), world, configuration)
			if err != nil {
				return err
			}
			defer session.Close()
			return s.printStock(stock.Count(world, session))
		},
	}
	s.bind(cmd, formats...)
	return cmd
}

func (s *source) printStock(all *stock.Stock) error {
	out := s.streams.Out
	if s.output == asJSON || s.output == asYAML {
		return printData(out, s.output, all)
	}
	if len(all.Cards) == 0 {
		fmt.Fprintln(out, "No node has cards, and no queue has a quota of any.")
	} else if err := cardTable(all).print(out, s.output, !s.noHeaders); err != nil {
		return err
	}
	if len(all.Nodes) > 0 {
		fmt.Fprintln(out)
		nodes := nodeTable(all)
		if err := nodes.print(out, s.output, !s.noHeaders); err != nil {
			return err
		}
	}
	if len(all.Queues) > 0 {
		fmt.Fprintln(out)
		if err := queueTable(all).print(out, s.output, !s.noHeaders); err != nil {
			return err
		}
	}
	for _, n := range all.Unlabeled {
		if card.IsRegistration(n.Label) {
			s.note("node %s has %s but lacks a valid annotation %s, which registers the cards", n.Node, n.Resource, n.Label)
			continue
		}
		s.note("node %s has %s but lacks the label %s, which names the card", n.Node, n.Resource, n.Label)
	}
	return nil
}

// cardTable and nodeTable have columns of what is unusable only where something is.
func cardTable(all *stock.Stock) *table {
	some := slices.ContainsFunc(all.Cards, func(c stock.Card) bool { return c.Unusable > 0 })
	cards := &table{columns: columns(when(some, "CARD", "NODES", "ALLOCATABLE", "CHARGED", "(USED)", "FREE", "UNUSABLE?", "QUOTAS", "OVERSUBSCRIBED")...)}
	for _, c := range all.Cards {
		cells := []any{c.Card, c.Nodes, number(c.Allocatable), number(c.Charged), number(c.Used), number(c.Free)}
		if some {
			cells = append(cells, number(c.Unusable))
		}
		cards.add(append(cells, number(c.Quota), number(c.Oversubscribed))...)
	}
	return cards
}

func nodeTable(all *stock.Stock) *table {
	some := slices.ContainsFunc(all.Nodes, func(n stock.OnNode) bool { return n.Why != "" })
	nodes := &table{columns: columns(when(some, "NODE", "CARD", "(RESOURCE)", "ALLOCATABLE", "CHARGED", "(USED)", "FREE", "UNUSABLE?", "STATE?")...)}
	for _, n := range all.Nodes {
		cells := []any{n.Node, n.Card, n.Resource, number(n.Allocatable), number(n.Charged), number(n.Used), number(n.Free)}
		if some {
			cells = append(cells, number(n.Unusable), n.Why)
		}
		nodes.add(cells...)
	}
	return nodes
}

// when returns names of columns, with those that end in ? only if some is true.
func when(some bool, names ...string) (all []string) {
	for _, name := range names {
		if plain, optional := strings.CutSuffix(name, "?"); some || !optional {
			all = append(all, plain)
		}
	}
	return all
}

func queueTable(all *stock.Stock) *table {
	queues := &table{columns: columns("QUEUE", "CARD", "ALLOCATED", "INQUEUE", "(DESERVED)", "(GUARANTEE)", "QUOTA", "(CAPABILITY)")}
	for _, q := range all.Queues {
		queues.add(strings.Repeat("  ", q.Depth)+q.Queue, q.Card, number(q.Allocated), number(q.Inqueue), number(q.Deserved), number(q.Guarantee),
			bound(q.Quota), bound(q.Capability))
	}
	return queues
}

func number(x float64) string { return explain.Amount("", x) }

func bound(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}
