package plugin

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// fewNames is how many names are never too many.
const fewNames = 256

// knownNames counts the names of resources and cards that were ever seen.
func (m *memory) knownNames() int { return m.names.Len() + len(m.cardMemory.resources) }

// renewNames starts the names anew when far more are known than the session used
// that they started in, and reports whether it did: vectors are as long as there
// are names, and anybody may make up some. What is known by a name is known by
// it after.
func (m *memory) renewNames() bool {
	if m.knownNames() <= m.mostNames {
		return false
	}
	old := m.names
	m.names, m.usual = index.Names{}, nil
	renew := func(d fastres.Dim) fastres.Dim {
		if old.IsCard(d) {
			return m.names.InternCard(old.Name(d))
		}
		return m.names.Intern(old.Name(d))
	}
	m.cardMemory.renewNames(renew)
	for _, t := range m.told {
		for i, d := range t.exceeds {
			t.exceeds[i] = renew(d)
		}
		slices.Sort(t.exceeds)
	}
	for _, g := range m.gauges {
		g.forgetScalars(&old)
	}
	m.forgetCluster(&old)
	m.bounds = bounds{}
	return true
}

// renewNames gives names their new dimensions, and resources new numbers.
func (m *cardMemory) renewNames(renew func(fastres.Dim) fastres.Dim) {
	old := m.resources
	m.resources, m.numbers = nil, map[v1.ResourceName]resourceID{}
	for _, n := range m.nodes {
		for i, nc := range n.cards {
			n.cards[i].dim, n.cards[i].resource = renew(nc.dim), m.number(old[nc.resource])
		}
		for i, u := range n.unnamed {
			n.unnamed[i].resource = m.number(old[u.resource])
		}
	}
	for _, q := range m.queues {
		for a, was := range q.amounts {
			q.amounts[a] = make(map[fastres.Dim]float64, len(was))
			for d, milli := range was {
				q.amounts[a][renew(d)] = milli
			}
		}
	}
	m.forgetPods()
	m.names = 0 // so that all is resolved anew
}

// forgetScalars drops the series of scalars that were handed out; those that the
// queue has are made again when they are set.
func (g *queueGauges) forgetScalars(names *index.Names) {
	for d := range g.known.Scalars() {
		if d < fastres.FirstFree || int(d) >= names.Len() {
			continue
		}
		for a := range vecs {
			vecs[a].scalar.DeleteLabelValues(g.name, names.Name(d))
		}
	}
	pods := g.known.Len() > 0 && g.known.Has(fastres.Pods)
	g.known = fastres.NewVector(int(fastres.FirstFree))
	if pods {
		g.known.Set(fastres.Pods, 0)
	}
	g.forgetInqueue()
	for a, gauges := range g.accounts {
		g.accounts[a] = slices.Clone(gauges[:min(len(gauges), int(fastres.FirstFree))])
	}
}
