package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
)

// Topic groups issues that say the same of queues, for package audit.
type Topic string

// The topics. Most issues have none.
const (
	Sums     Topic = "sums"      // queues are given more together than the queue above them, or the nodes, have
	Groups   Topic = "groups"    // groups of cards that do not exist, or that overlap
	NoEffect Topic = "no effect" // a value that decides nothing
)

// Result has the findings of a check.
type Result struct {
	Issues   []Issue
	Overlaps []Overlap
}

// Overlap is two groups of cards that can have a card in common. Cards are the cards of the nodes that are in both.
type Overlap struct {
	One, Other string
	Cards      []string
}

// checkTotals finds cards for which deserved or guarantees of all queues add up to more than the nodes have.
func (ck *checker) checkTotals() {
	if len(ck.objects.Nodes) == 0 {
		return
	}

	sums := engine.SumsOf(ck.tree, ck.amounts)
	overlapping := ck.groups.Overlapping()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		p := sums[name]
		n := ck.ready[name]

		// Other issues name groups that can only bound, and cards that no node has.
		_, known := ck.stock[name]
		if !known || slices.Contains(overlapping, strings.TrimPrefix(name, card.GroupPrefix)) {
			continue
		}

		switch {
		case p.Guarantee > n:
			ck.reportCluster("queues are guaranteed %v %s together, and the nodes have %v", p.Guarantee, name, n)
		case p.Deserved > n:
			ck.reportCluster("queues deserve %v %s together, and the nodes have %v", p.Deserved, name, n)
		}
	}
}

// reportCluster adds a warning about the sums of all queues.
func (ck *checker) reportCluster(format string, arguments ...any) {
	ck.issues = append(ck.issues,
		Issue{Severity: Warning, Message: fmt.Sprintf(format, arguments...), Topic: Sums})
}

// checkLost finds nodes that are gone or not ready, with pods of queues.
func (ck *checker) checkLost(world *engine.World) {
	if len(ck.objects.Nodes) == 0 {
		return
	}

	nodes := map[string]*v1.Node{}
	for _, node := range ck.objects.Nodes {
		nodes[node.Name] = node
	}

	pods := map[string]int{}
	for _, g := range world.Groups {
		for _, pod := range g.Pods {
			on := pod.Spec.NodeName
			if on != "" && (nodes[on] == nil || !engine.IsReady(nodes[on])) {
				pods[on]++
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if node := nodes[name]; node != nil {
			ck.report(Warning, node, "Node", "", unreadyText, pods[name])
			continue
		}
		ck.issues = append(ck.issues, Issue{
			Severity: Warning,
			Object:   "Node/" + name,
			Message:  fmt.Sprintf(goneText, pods[name]),
		})
	}
}

// The texts about lost nodes have the number of their pods.
const (
	goneText    = "does not exist, and has pods: %d; queues are charged for them until they are deleted"
	unreadyText = "is not ready, and has pods: %d; queues are charged for them until they are deleted"
)

// overlaps returns the groups of cards that overlap.
func (ck *checker) overlaps() (all []Overlap) {
	for _, pair := range ck.groups.Overlaps() {
		o := Overlap{One: pair[0], Other: pair[1]}

		for _, name := range slices.Sorted(maps.Keys(ck.stock)) {
			_, inOne := ck.groups[o.One].Of(name)
			_, inOther := ck.groups[o.Other].Of(name)
			if inOne && inOther {
				o.Cards = append(o.Cards, name)
			}
		}
		all = append(all, o)
	}
	return all
}
