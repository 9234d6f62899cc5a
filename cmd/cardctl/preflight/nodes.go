package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// checkNodes finds nodes with cards that no label names, labels that are misspelt, two labels that name one resource in
// different ways, and names of cards that differ only in case and separators.
func (s *Subject) checkNodes(next *engine.Configuration) Check {
	const name = "nodes"
	if s.NodesLack != "" {
		return unknown(name, s.NodesLack)
	}

	var labels card.Labels
	if next != nil {
		labels = next.Settings().Cards.Labels
	}
	n := nodes{labels: labels, cards: map[string]bool{}, lacking: map[string][]string{}}
	for _, node := range s.Nodes {
		n.read(node)
	}
	n.compareNames()

	c := Check{Name: name, Result: OK, Details: n.details}
	c.Message = fmt.Sprintf("%d nodes, cards: %s", len(s.Nodes), strings.Join(limited(sorted(n.cards)), ", "))
	if len(n.cards) == 0 {
		c.Message = fmt.Sprintf("none of %d nodes has a card", len(s.Nodes))
		c.Result = Note
	}

	if len(n.details) > 0 {
		c.Result = Note
		c.Message += fmt.Sprintf("; %d problems of labels", len(n.details))
	}
	for _, label := range slices.Sorted(maps.Keys(n.lacking)) {
		names := n.lacking[label]
		shown := names[:min(Most, len(names))]
		do := fmt.Sprintf("kubectl label node %s %s=CARD", strings.Join(shown, " "), label)
		if more := len(names) - len(shown); more > 0 {
			do += fmt.Sprintf("    # and %d more: cardctl cards", more)
		}
		c.Do = append(c.Do, do)
	}
	return c
}

// nodes collects the cards of nodes and the problems of their labels.
type nodes struct {
	labels  card.Labels
	cards   map[string]bool
	lacking map[string][]string // nodes, by the label that they lack
	details []fmt.Stringer
}

func (n *nodes) report(format string, arguments ...any) {
	n.details = append(n.details, Line(fmt.Sprintf(format, arguments...)))
}

// read reads the labels of a node.
func (n *nodes) read(node *v1.Node) {
	inventory := card.OnNode(node, n.labels)
	for _, c := range inventory.Cards {
		n.cards[c.Name] = true
	}

	for _, u := range inventory.Unlabeled {
		if card.IsRegistration(u.Label) {
			n.report("%s: %s has no cards: the node does not register them in its annotation %s",
				node.Name, u.Resource, u.Label)
			continue
		}
		n.lacking[u.Label] = append(n.lacking[u.Label], node.Name)
		n.report("%s: %s has no card name: the label %s is missing or bad%s", node.Name, u.Resource, u.Label,
			index.DidYouMean(u.Label, slices.Sorted(maps.Keys(node.Labels))))
	}
	for _, p := range inventory.Problems {
		n.report("%s: annotation %s: %s", node.Name, p.Key, p.Reason)
	}

	for _, resource := range slices.Sorted(maps.Keys(node.Status.Allocatable)) {
		if !card.NamesWhole(resource) { // a slice has the label of the whole card as well
			continue
		}
		other := string(resource) + ".product"
		label := n.labels.Of(resource)
		if node.Labels[other] != "" && node.Labels[label] != "" && node.Labels[other] != node.Labels[label] {
			n.report("%s: %s has two names: %s=%s and %s=%s",
				node.Name, resource, other, node.Labels[other], label, node.Labels[label])
		}
	}
}

// compareNames reports names of cards that are one name for a reader.
func (n *nodes) compareNames() {
	separators := strings.NewReplacer("-", "", "_", "", " ", "", ".", "")
	same := map[string][]string{}
	for _, name := range sorted(n.cards) {
		plain := separators.Replace(strings.ToLower(name))
		same[plain] = append(same[plain], name)
	}

	for _, plain := range slices.Sorted(maps.Keys(same)) {
		if names := same[plain]; len(names) > 1 {
			n.report("%s are different cards: their names differ in case or separators", strings.Join(names, " and "))
		}
	}
}

func sorted(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }

// limited returns the first names.
func limited(names []string) []string {
	if len(names) <= Most {
		return names
	}
	return append(slices.Clone(names[:Most]), fmt.Sprintf("… (%d more)", len(names)-Most))
}
