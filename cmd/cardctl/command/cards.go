package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

const cardsLong = `Lists cards: what the nodes have, what queues are charged for, what is free, and
the quotas of the queues. USED counts all pods on the nodes, CHARGED the pods of
queues. A card is oversubscribed if the quotas of the leaf queues add up to more
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
		nodes := table{columns: columns("NODE", "CARD", "(RESOURCE)", "ALLOCATABLE", "CHARGED", "(USED)", "FREE")}
		for _, n := range all.Nodes {
			nodes.add(n.Node, n.Card, n.Resource, number(n.Allocatable), number(n.Charged), number(n.Used), number(n.Free))
		}
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
		s.note("node %s has %s but lacks the label %s, which names the card", n.Node, n.Resource, n.Label)
	}
	return nil
}

func cardTable(all *stock.Stock) *table {
	cards := &table{columns: columns("CARD", "NODES", "ALLOCATABLE", "CHARGED", "(USED)", "FREE", "QUOTAS", "OVERSUBSCRIBED")}
	for _, c := range all.Cards {
		cards.add(c.Card, c.Nodes, number(c.Allocatable), number(c.Charged), number(c.Used), number(c.Free), number(c.Quota),
			number(c.Oversubscribed))
	}
	return cards
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
