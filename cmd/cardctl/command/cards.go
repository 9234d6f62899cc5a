package command

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
)

const cardsLong = `Lists cards: what the nodes have, what queues are charged for, what is free, and
the quotas of the queues. USED counts all pods on the nodes, CHARGED the pods of
queues. FREE is on nodes that take pods; UNUSABLE is on nodes that are cordoned,
not ready or tainted. Quotas may add up to more than the nodes have. OVERSUBSCRIBED is
the number of cards that queues deserve together, and no ready node has. A queue counts with
at most what the queue above it has. Queues are charged for pods on nodes that are gone
until the pods are deleted.`

func newCards(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cards", Short: "Cards in the cluster, on nodes and in queues", Long: cardsLong,
		Example: "  cardctl cards\n  cardctl cards -o wide -f dump.json\n  cardctl cards --contexts a,b,c",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.cards(cmd.Context())
		},
	}

	s.bind(cmd, formats...)
	s.bindContexts(cmd)
	return cmd
}

// total stands for all clusters in the column CLUSTER.
const total = "(total)"

func (s *source) cards(ctx context.Context) error {
	all, err := inClusters(ctx, s, (*source).countCards)
	if err != nil {
		return err
	}
	if isData(s.output) {
		return printEach(s, all, (*source).stockResults)
	}

	// The last rows are about all clusters.
	var stocks []*stock.Stock
	for _, f := range all {
		if f.err == nil {
			stocks = append(stocks, f.value)
		}
	}
	shown := all
	sum := stock.Sum(stocks)
	if len(stocks) > 1 && len(sum.Cards) > 0 {
		shown = append(shown, found[*stock.Stock]{from: &source{name: total}, value: sum})
	}
	err = printEach(s, shown, (*source).stockResults)
	if err != nil {
		return err
	}

	for _, f := range all {
		if f.err == nil {
			f.from.noteUnlabeled(f.value)
		}
	}
	return nil
}

func (s *source) countCards(ctx context.Context) (*stock.Stock, error) {
	o, err := s.openBelow(ctx, "")
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return stock.Count(o.world, o.Session), nil
}

func (s *source) stockResults(all *stock.Stock) []*result {
	if isData(s.output) {
		return []*result{{data: all}}
	}

	tables := []*result{orText(cardTable(all), "No node has cards, and no queue has a quota of any.")}
	if len(all.Nodes)+len(all.Lost) > 0 {
		tables = append(tables, &result{rows: nodeTable(all)})
	}
	if len(all.Queues) > 0 {
		tables = append(tables, &result{rows: queueTable(all)})
	}

	return tables
}

// noteUnlabeled writes to stderr which nodes do not name their cards.
func (s *source) noteUnlabeled(all *stock.Stock) {
	for _, n := range all.Unlabeled {
		if card.IsRegistration(n.Label) {
			s.note("node %s has %s but lacks a valid annotation %s, which registers the cards",
				n.Node, n.Resource, n.Label)
		} else {
			s.note("node %s has %s but lacks the label %s, which names the card", n.Node, n.Resource, n.Label)
		}
	}
}

// cardTable has a row for each card. It has the column UNUSABLE only if there are unusable cards.
func cardTable(all *stock.Stock) *table {
	t := tableOf("CARD", "NODES", "ALLOCATABLE", "CHARGED", "(USED)", "FREE", "UNUSABLE", "QUOTAS", "DESERVED",
		"(GUARANTEES)", "OVERSUBSCRIBED")
	for _, c := range all.Cards {
		t.add(c.Card, c.Nodes, number(c.Allocatable), number(c.Charged), number(c.Used), number(c.Free),
			number(c.Unusable), number(c.Quota), number(c.Deserved),
			number(c.Guarantee), number(c.Oversubscribed))
	}

	if !slices.ContainsFunc(all.Cards, func(c stock.Card) bool { return c.Unusable > 0 }) {
		t.remove("UNUSABLE")
	}
	return t
}

// nodeTable has a row for each card of a node. It has the columns UNUSABLE and STATE only if a node is unusable.
func nodeTable(all *stock.Stock) *table {
	t := tableOf("NODE", "CARD", "(RESOURCE)", "ALLOCATABLE", "CHARGED", "(USED)", "FREE", "UNUSABLE", "STATE")
	for _, n := range all.Nodes {
		t.add(n.Node, n.Card, n.Resource, number(n.Allocatable), number(n.Charged), number(n.Used), number(n.Free),
			number(n.Unusable), n.Why)
	}
	for _, l := range all.Lost {
		if !all.Has(l.Node, l.Card) {
			t.add(l.Node, l.Card, "", number(0), number(l.Cards), number(0), number(0), number(0), "lost, of "+l.Queue)
		}
	}

	if len(all.Lost) == 0 && !slices.ContainsFunc(all.Nodes, func(n stock.OnNode) bool { return n.Why != "" }) {
		t.remove("UNUSABLE", "STATE")
	}
	return t
}

func queueTable(all *stock.Stock) *table {
	t := tableOf("QUEUE", "CARD", "ALLOCATED", "INQUEUE", "DESERVED", "(GUARANTEE)", "QUOTA", "(CAPABILITY)")
	for _, q := range all.Queues {
		t.add(strings.Repeat("  ", q.Depth)+q.Queue, q.Card, number(q.Allocated), number(q.Inqueue),
			number(q.Deserved), number(q.Guarantee), bound(q.Quota), bound(q.Capability))
	}
	return t
}

func number(x float64) string { return explain.Amount("", x) }

func bound(x *float64) string {
	if x == nil {
		return "-"
	}
	return number(*x)
}
