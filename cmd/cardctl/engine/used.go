package engine

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
)

// Used returns the number of cards that the pods of a node use, whether queues are charged for them or not. Pods use
// fractions of shared cards.
func Used(node *api.NodeInfo, inventory card.Inventory, c card.Card, by card.FractionsBy) (used float64) {
	if !c.Shared() {
		return node.Used.Get(c.Resource) / 1000
	}

	for _, task := range node.Tasks {
		for _, taken := range inventory.Taken(task.Pod, by) {
			if taken.Card == c.Name {
				used += taken.Milli.Cards()
			}
		}
	}

	return used
}

// Shared are the shared cards of nodes, by resource and name.
type Shared struct {
	models map[sharedCard]card.Model
	by     card.FractionsBy
}

type sharedCard struct {
	resource v1.ResourceName
	name     string
}

// SharedCards finds the shared cards of nodes.
func SharedCards(nodes []*v1.Node, labels card.Labels, by card.FractionsBy) Shared {
	s := Shared{map[sharedCard]card.Model{}, by}
	for _, node := range nodes {
		for _, c := range card.OnNode(node, labels).Cards {
			key := sharedCard{c.Resource, c.Name}
			if known, has := s.models[key]; has {
				c.Model = c.Least(known)
			}
			s.models[key] = c.Model
		}
	}

	return s
}

// Requests returns the extended resources that a pod requests, sorted by name. The request for a fraction depends on
// the card. Requests returns the largest one over the cards that the pod accepts.
func (s Shared) Requests(pod *v1.Pod) []card.Request {
	all := slices.DeleteFunc(card.Requests(pod), func(r card.Request) bool { return card.IsPart(r.Resource) })

	names := card.NameOf(pod.Annotations)
	for _, f := range card.Fractions(pod) {
		most := card.Milli(0)
		for key, m := range s.models {
			if key.resource == f.Number && (names == nil || slices.Contains(names, key.name)) {
				most = max(most, f.On(m, s.by))
			}
		}

		all = slices.DeleteFunc(all, func(r card.Request) bool { return r.Resource == f.Number })
		all = append(all, card.Request{Resource: f.Number, Milli: cmp.Or(most, f.Whole())})
	}

	slices.SortFunc(all, func(x, y card.Request) int { return cmp.Compare(x.Resource, y.Resource) })
	return all
}
