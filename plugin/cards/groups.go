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

// groups are the groups of cards in force. A group is a dimension of every account. Each charge of a card
// changes it too (index.Names.AddCard), so all rules about quantities hold for it.
//
// Guarantee and deserved of a group count only if it shares no card with another group. Otherwise a card
// that is reclaimed for one group would be lost to the other.
type groups struct {
	given    card.Groups
	inForce  card.Groups
	disjoint map[fastres.Dim]bool // groups that share no card with another group
}

// set replaces the groups in force, and reports whether they changed. A group that is nil is wrong; its last
// good value stays in force.
func (g *groups) set(given card.Groups) (changed bool) {
	if maps.EqualFunc(g.given, given, slices.Equal) {
		return false
	}

	before := g.inForce
	g.given = given
	g.inForce = card.Groups{}
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
	byDim := map[fastres.Dim]card.Group{}
	for _, name := range slices.Sorted(maps.Keys(g.inForce)) {
		d := names.InternCard(card.GroupPrefix + name)
		dims = append(dims, d)
		byDim[d] = g.inForce[name]

		if !slices.Contains(overlapping, name) {
			g.disjoint[d] = true
		}
	}

	names.SetGroups(dims, func(d fastres.Dim) (shares []index.Share) {
		for _, group := range dims {
			if weight, has := byDim[group].Of(names.Name(d)); has {
				shares = append(shares, index.Share{Group: group, Weight: weight})
			}
		}
		return shares
	})
}

// byGroups returns the quota, or another annotation, of a card that follows from the groups in a queue's
// quota. It is rounded up, since the group itself bounds the queue exactly. ok is false if no such group bounds
// the card. It is also false if no node gives the card and no queue names it.
func (s *Snapshot) byGroups(own *queue, a annotation, d fastres.Dim) (most float64, ok bool) {
	most = math.Inf(1)
	if !s.registry.present[d] {
		return most, false // the name stems from an earlier session
	}

	for _, share := range s.names.Groups(d) {
		counts := a
		if !s.registry.groups.disjoint[share.Group] {
			counts = quotaAnnotation
		}

		if _, bounded := own.amounts[quotaAnnotation][share.Group]; bounded {
			amount, _ := own.amount(counts, share.Group)
			most = min(most, math.Ceil(float64(amount)/share.Weight))
			ok = true
		}
	}
	return most, ok
}

// GroupCards returns the cards of the session in a group, as messages name them. It is "" for a dimension
// that is no group.
func (s *Snapshot) GroupCards(group fastres.Dim) string {
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

// groupProblems returns the problems of the groups that the annotations of a queue name.
func (s *Snapshot) groupProblems(own *queue) (problems []string) {
	for a, stated := range own.stated {
		for _, d := range slices.Sorted(maps.Keys(stated)) {
			name := s.names.Name(d)

			switch {
			case !strings.HasPrefix(name, card.GroupPrefix):
			case !s.names.IsGroup(d):
				problems = append(problems, fmt.Sprintf("annotation %s: %q is not a group of cards: %s",
					annotationKeys[a], Shown(name), s.registry.groups.known()))
			case annotation(a) != quotaAnnotation && !s.registry.groups.disjoint[d]:
				problems = append(problems, fmt.Sprintf("annotation %s: %q has no effect: "+
					"the group shares cards with another one, so it can only bound", annotationKeys[a], name))
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

	names := slices.Sorted(maps.Keys(g.inForce))
	return "there are " + Shown(card.GroupPrefix+strings.Join(names, ", "+card.GroupPrefix))
}

// EachGroupOn visits the groups in which a pod has several cards on a node, with their sum, until visit
// returns false. Each card by itself may fit while the sum does not.
func (s *Snapshot) EachGroupOn(p *PodRequest, node string, visit func(group fastres.Dim, has Request) bool) {
	if !s.names.HasGroups() || s.cardsOn(p, node) < 2 {
		return
	}

	own := s.OwnOn(p, node)
	for i, part := range own {
		same := func(other index.Devices) bool { return other.Dim == part.Dim }
		if !s.names.IsGroup(part.Dim) || slices.ContainsFunc(own[:i], same) || !slices.ContainsFunc(own[i+1:], same) {
			continue
		}

		sum := 0.0
		for _, other := range own {
			if same(other) {
				sum += other.Quantity
			}
		}
		if !visit(part.Dim, s.single(part.Dim, podRequest(p, nil, 0, 0), card.Milli(sum))) {
			return
		}
	}
}

// cardsOn returns the number of charges of a pod on a node.
func (s *Snapshot) cardsOn(p *PodRequest, node string) (n int) {
	has := s.Node(node)

	for r := range s.RequestsOn(p, node) {
		for range r.On(has) {
			n++
		}
	}
	return n
}
