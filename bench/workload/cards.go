package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The annotations of cards.
const (
	cardName    = "volcano.sh/card.name"
	cardRequest = "volcano.sh/card.request"
)

var cardAccounts = []string{"volcano.sh/card.quota", "volcano.sh/card.deserved", "volcano.sh/card.guarantee"}

// kind is a card of random clusters: its name, and the resource that pods request for it.
type kind struct{ name, resource string }

// The cards of random clusters. Lists of cards can hold the first two. The next two are slices of a card. One is from
// another vendor, and no node has the last one.
var kinds = []kind{
	{"A", gpu},
	{"B", gpu},
	{"A/mig-1g.10gb-mixed", "nvidia.com/mig-1g.10gb"},
	{"A/mps-80g*1/4", "nvidia.com/gpu.shared"},
	{"N", "huawei.com/Ascend910"},
	{"Z", gpu},
}

// RandomCards returns the cluster that DrawCards draws from a seed.
func RandomCards(seed uint64) Cluster {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0xca4d))}
	return g.withCards(Random(seed))
}

// DrawCards returns a small cluster of nodes with cards of several kinds,
// queues with card annotations, some of them bad, and pods that name cards, list
// some, or name none.
func DrawCards(r *rand.Rand) Cluster {
	g := &generator{Rand: r}
	return g.withCards(Draw(r))
}

func (g *generator) withCards(c Cluster) Cluster {
	for i := range c.Nodes {
		g.equip(&c.Nodes[i])
	}

	lending := g.chance(50)
	for i := range c.Queues {
		g.annotate(&c.Queues[i], lending)
	}

	leaves := c.Leaves()
	c.Jobs = c.Jobs[:min(2, len(c.Jobs))]
	for i := range 4 + g.IntN(16) {
		c.Jobs = append(c.Jobs, g.cardJob(i, leaves[g.IntN(len(leaves))], c.Nodes))
	}

	return c
}

// equip gives a node cards.
func (g *generator) equip(n *Node) {
	delete(n.Allocatable, gpu)
	product := []string{"A", "A", "B"}[g.IntN(3)]
	n.Labels = map[string]string{"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "8"}

	if g.chance(90) {
		n.Labels["nvidia.com/gpu.memory"] = "81559"
		n.Labels["nvidia.com/gpu.replicas"] = "4"
	}

	// Some nodes have cards without labels, or no cards.
	switch {
	case g.chance(10):
		n.Labels = nil
		n.Allocatable[gpu] = 8
		return
	case g.chance(10):
		n.Labels = nil
		return
	}

	n.Allocatable[gpu] = int64(g.IntN(9))
	if g.chance(40) {
		n.Allocatable["nvidia.com/mig-1g.10gb"] = int64(g.IntN(8))
	}
	if g.chance(40) {
		n.Allocatable["nvidia.com/gpu.shared"] = int64(g.IntN(8))
	}
	if g.chance(30) {
		n.Labels["huawei.com/Ascend910.product"] = "N"
		n.Allocatable["huawei.com/Ascend910"] = int64(g.IntN(9))
	}
	if g.chance(30) {
		n.Allocatable["nvidia.com/gpumem"] = 100
	}
}

// annotate gives a queue card annotations, and mostly no other bounds: the tests are about
// cards. If queues lend, quotas are large and deserved amounts are small.
func (g *generator) annotate(q *Queue, lending bool) {
	if g.chance(90) {
		q.Capability = nil
		q.Deserved = nil
		q.Guarantee = nil
	}

	q.Closed = g.chance(3)
	if g.chance(10) {
		return
	}

	if lending {
		q.Annotations = map[string]string{
			cardAccounts[0]: `{"A":40,"B":40}`,
			cardAccounts[1]: g.quota(6),
			cardAccounts[2]: `{"A":0,"B":0}`,
		}
		return
	}

	q.Annotations = map[string]string{cardAccounts[0]: g.quota(15)}
	if g.chance(80) {
		q.Annotations[cardAccounts[1]] = g.quota(4)
	}
	if g.chance(80) {
		q.Annotations[cardAccounts[2]] = g.quota(g.IntN(2))
	}
}

func (g *generator) quota(most int) string {
	if g.chance(2) {
		return `{"A":3,`
	}

	var keys []string
	for _, k := range kinds {
		switch {
		case g.chance(3):
			bad := []string{"1.5", "-2", `"3"`, "null", "1e30"}[g.IntN(5)]
			keys = append(keys, fmt.Sprintf("%q:%s", k.name, bad))
		case g.chance(90):
			keys = append(keys, fmt.Sprintf("%q:%d", k.name, g.IntN(most+1)))
		}
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func (g *generator) cardJob(i int, queue string, nodes []Node) Job {
	j := Job{
		Name:         fmt.Sprintf("card-job-%d", i),
		Queue:        queue,
		Phase:        phases[g.IntN(len(phases))],
		MinMember:    int32(g.IntN(3)),
		MinResources: Resources{"cpu": 100},
	}

	// Some jobs state their cards in an annotation, and half of these have no pods yet.
	if g.chance(40) {
		j.Annotations = map[string]string{cardRequest: fmt.Sprintf(`{%q:%d}`, g.list(), 1+g.IntN(4))}
		if g.chance(50) {
			return j
		}
	}

	wants := g.wants()
	names := g.list()
	n := 1 + g.IntN(6)
	j.MinMember = int32(g.IntN(min(n, 3) + 1))

	for t := range n {
		if g.chance(20) {
			wants = g.wants()
			names = g.list()
		}

		task := g.task(fmt.Sprintf("%s-%d", j.Name, t), j.Phase, wants, nodes)
		if g.chance(80) {
			task.Annotations = map[string]string{cardName: names}
		}
		j.Tasks = append(j.Tasks, task)
	}
	return j
}

// wants draws the request of a pod: mostly one kind of card.
func (g *generator) wants() Resources {
	r := Resources{"cpu": 100, "memory": 1 << 20}
	if g.chance(95) {
		resource := gpu
		if g.chance(10) {
			resource = kinds[g.IntN(len(kinds))].resource
		}
		r[resource] = int64(1 + g.IntN(2))
	}

	if g.chance(3) {
		r[kinds[g.IntN(len(kinds))].resource] = 1
	}
	return r
}

// list draws the names of a pod: one card, or some to choose from.
func (g *generator) list() string {
	switch g.IntN(10) {
	case 0:
		return kinds[g.IntN(len(kinds))].name + "|" + kinds[g.IntN(len(kinds))].name
	case 1:
		return kinds[g.IntN(len(kinds))].name
	case 2, 3:
		return "A"
	case 4, 5:
		return "B|A"
	default:
		return "A|B"
	}
}

// CardsOf returns an annotation with the same number of each card.
func CardsOf(names []string, n int64) string {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = fmt.Sprintf("%q:%d", name, n)
	}
	return "{" + strings.Join(entries, ",") + "}"
}
