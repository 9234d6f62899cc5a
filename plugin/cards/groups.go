package cards

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// groups are the groups of cards in force. A group is a dimension of every account, which each charge
// of a card changes too (index.Names.AddCard). So all rules about quantities hold for it.
//
// Guarantee and deserved of a group count only where it shares no card with another one: what is taken
// for the sake of one group would otherwise be lost to the other.
type groups struct {
	given   card.Groups
	inForce card.Groups
	// disjoint are the dimensions of those that share no card with another one.
	disjoint map[fastres.Dim]bool
}

// set makes other groups those in force, and reports whether they changed.
func (g *groups) set(given card.Groups) (changed bool) {
	if maps.EqualFunc(g.given, given, slices.Equal) {
		return false
	}
	before := g.inForce
	g.given, g.inForce = given, card.Groups{}
	for name, group := range given {
		if group == nil {
			group = before[name]
		}
		if group != nil {
			g.inForce[name] = group
		}
	}
	return true
}

// resolve tells the names which cards are in which groups.
func (g *groups) resolve(names *index.Names) {
	overlapping := g.inForce.Overlapping()
	g.disjoint = map[fastres.Dim]bool{}
	var dims []fastres.Dim
	of := map[fastres.Dim]card.Group{}
	for _, name := range slices.Sorted(maps.Keys(g.inForce)) {
		d := names.InternCard(card.GroupPrefix + name)
		dims, of[d] = append(dims, d), g.inForce[name]
		if !slices.Contains(overlapping, name) {
			g.disjoint[d] = true
		}
	}
	names.SetGroups(dims, func(d fastres.Dim) (shares []index.Share) {
		for _, group := range dims {
			if weight, has := of[group].Of(names.Name(d)); has {
				shares = append(shares, index.Share{Group: group, Weight: weight})
			}
		}
		return shares
	})
}

// byGroups returns the most that the groups which a queue names let it have, or deserve, of a card that
// some node gives or some queue names. It is rounded up: the group bounds it exactly.
func (s *Session) byGroups(own *queue, a annotation, d fastres.Dim) (most float64, ok bool) {
	most = math.Inf(1)
	if !s.registry.present[d] {
		return most, false // no node gives it, whatever a scheduler that runs for long knows
	}
	for _, share := range s.names.Groups(d) {
		counts := a
		if !s.registry.groups.disjoint[share.Group] {
			counts = quotaAnnotation
		}
		if _, bounded := own.amounts[quotaAnnotation][share.Group]; bounded {
			amount, _ := own.amount(counts, share.Group)
			most, ok = min(most, math.Ceil(float64(amount)/share.Weight)), true
		}
	}
	return most, ok
}

// GroupCards returns the cards of the session that a group has, as messages name them, "" for another
// dimension.
func (s *Session) GroupCards(group fastres.Dim) string {
	if s == nil || !s.names.IsGroup(group) {
		return ""
	}
	var names []string
	for d := range fastres.Dim(s.names.Len()) {
		if s.names.Weight(d, group) > 0 && s.registry.present[d] {
			names = append(names, s.names.Name(d))
		}
	}
	slices.Sort(names)
	return Shown(strings.Join(names, ", "))
}

// groupProblems returns what is wrong with the groups that the annotations of a queue name.
func (s *Session) groupProblems(own *queue) (problems []string) {
	for a, stated := range own.stated {
		for _, d := range slices.Sorted(maps.Keys(stated)) {
			name := s.names.Name(d)
			switch {
			case !strings.HasPrefix(name, card.GroupPrefix):
			case !s.names.IsGroup(d):
				problems = append(problems, fmt.Sprintf("annotation %s: %q is not a group of cards: %s", annotationKeys[a], Shown(name),
					s.registry.groups.known()))
			case annotation(a) != quotaAnnotation && !s.registry.groups.disjoint[d]:
				problems = append(problems, fmt.Sprintf("annotation %s: %q has no effect: the group shares cards with another one, "+
					"so it can only bound", annotationKeys[a], name))
			}
		}
	}
	return problems
}

// known names the groups in force, for a message.
func (g *groups) known() string {
	if len(g.inForce) == 0 {
		return "there are none; see the argument cardGroups"
	}
	return "there are " + Shown(card.GroupPrefix+strings.Join(slices.Sorted(maps.Keys(g.inForce)), ", "+card.GroupPrefix))
}

// EachGroupOn visits the groups of which a pod has several cards on a node, with what it has of each there, until visit
// returns false. Each card by itself may fit where their sum does not.
func (s *Session) EachGroupOn(p *PodRequest, node string, visit func(group fastres.Dim, has Request) bool) {
	if !s.names.HasGroups() || s.cardsOn(p, node) < 2 {
		return
	}
	own := s.OwnOn(p, node)
	for i, of := range own {
		same := func(other index.Devices) bool { return other.Dim == of.Dim }
		if !s.names.IsGroup(of.Dim) || slices.ContainsFunc(own[:i], same) || !slices.ContainsFunc(own[i+1:], same) {
			continue
		}
		sum := 0.0
		for _, other := range own {
			if same(other) {
				sum += other.Quantity
			}
		}
		if !visit(of.Dim, s.single(of.Dim, Request{Amount: card.Milli(sum)})) {
			return
		}
	}
}

// cardsOn returns how many times a pod is charged for a card on a node.
func (s *Session) cardsOn(p *PodRequest, node string) (n int) {
	has := s.Node(node)
	for r := range s.RequestsOn(p, node) {
		for range r.On(has) {
			n++
		}
	}
	return n
}
