package workload

import (
	"fmt"
	"slices"
	"strings"
)

// Reclaiming returns a cluster of 200 nodes without a free GPU. Every other leaf runs jobs above deserved. The leaves
// between run nothing, and pods wait in them for one GPU each. Equal arguments give equal clusters.
func Reclaiming(queues, claims int) Cluster {
	c := contended(queues)
	var rich, poor []string
	for i, leaf := range c.Leaves() {
		if i%2 == 0 {
			rich = append(rich, leaf)
		} else {
			poor = append(poor, leaf)
		}
	}

	c.occupy(rich)
	c.claim(poor, claims, 0)
	return c
}

// Preempting returns a similar cluster. One leaf has all GPUs, and pods of a higher priority wait in it. It must be
// one leaf: Volcano's preempt takes the tasks of jobs of other queues off its list while it looks at a queue, and does
// not find them again.
func Preempting(queues, claims int) Cluster {
	c := contended(queues)
	one := c.Leaves()[:1]
	c.occupy(one)
	c.claim(one, claims, 10)
	return c
}

// Lent returns a cluster of 5,000 nodes without an idle GPU. Every other leaf runs jobs above deserved, 20,000 pods of
// two GPUs in all. In one leaf between, a gang waits for whole nodes. All pods name their card.
func Lent(queues, gang int) Cluster {
	const nodes, podsPerNode = 5000, 4
	c := Shape{Nodes: nodes, Fanout: TwoLevels(queues), Models: 1}.Make(1)
	leaves := c.Leaves()
	twoGPUs := Resources{"cpu": 8000, "memory": 64 << 30, gpu: 2}
	allGPUs := Resources{"cpu": 8000, "memory": 64 << 30, gpu: 8}

	for i := range nodes * podsPerNode / perJob {
		c.run(fmt.Sprintf("runs-%04d", i), leaves[2*(i%(len(leaves)/2))], twoGPUs, i*perJob)
	}

	claim := Job{Name: "claims", Queue: leaves[1], Phase: Inqueue, MinMember: int32(gang), MinResources: allGPUs}
	for t := range gang {
		name := fmt.Sprintf("claims-%02d", t)
		claim.Tasks = append(claim.Tasks, Task{Name: name, Request: allGPUs, Status: TaskPending})
	}
	c.Jobs = append(c.Jobs, claim)

	c = c.WithCards(1)
	for i := range c.Queues {
		if c.Queues[i].Name == leaves[1] {
			c.Queues[i].Annotations[cardAccounts[1]] = cardsOf(c.products(), int64(8*gang))
			c.Queues[i].Deserved = Resources{"cpu": 1 << 40, "memory": 1 << 60, gpu: int64(8 * gang)}
		}
	}
	return c
}

// WithCards makes the pods of a cluster that request a GPU name a number of models of cards. Leaves have quotas of all
// models that admit everything, and deserve one card of each model.
func (c Cluster) WithCards(names int) Cluster {
	products := c.products()
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.Deserved != nil {
			q.Annotations = map[string]string{
				cardAccounts[0]: cardsOf(products, 100000),
				cardAccounts[1]: cardsOf(products, 1),
				cardAccounts[2]: cardsOf(products, 0),
			}
		}
	}

	for i := range c.Jobs {
		for t := range c.Jobs[i].Tasks {
			task := &c.Jobs[i].Tasks[t]
			list := make([]string, names)
			for n := range list {
				list[n] = products[(i+n)%len(products)]
			}

			if task.Node != "" && names > 0 {
				list = []string{c.productOf(task.Node)}
			}

			if len(list) > 0 && task.Request[gpu] > 0 {
				task.Annotations = map[string]string{cardName: strings.Join(list, "|")}
			}
		}
	}
	return c
}

// WithAffinity restricts the pods that name cards to the nodes that have them, as users do
// without quotas of cards.
func (c Cluster) WithAffinity() Cluster {
	for i := range c.Jobs {
		for t := range c.Jobs[i].Tasks {
			if task := &c.Jobs[i].Tasks[t]; task.Annotations[cardName] != "" {
				task.Products = strings.Split(task.Annotations[cardName], "|")
			}
		}
	}
	return c
}

// products returns the models of the nodes, in their order.
func (c Cluster) products() []string {
	var products []string
	for _, n := range c.Nodes {
		if !slices.Contains(products, n.Labels[ProductLabel]) {
			products = append(products, n.Labels[ProductLabel])
		}
	}
	return products
}

func (c Cluster) productOf(node string) string {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == node })
	return c.Nodes[i].Labels[ProductLabel]
}

// cardsOf returns an annotation with the same number of each card.
func cardsOf(names []string, n int64) string {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = fmt.Sprintf("%q:%d", name, n)
	}
	return "{" + strings.Join(entries, ",") + "}"
}

// All pods of a contended cluster are alike, so the choice of victims does not matter.
const (
	contendedNodes = 200
	perNode        = 8 // GPUs of a node
	perJob         = 16
)

var oneGPU = Resources{"cpu": 4000, "memory": 32 << 30, gpu: 1}

func contended(queues int) Cluster {
	return Shape{Nodes: contendedNodes, Fanout: TwoLevels(queues)}.Make(1)
}

// run adds a job of pods that run on the nodes in turn, from the first node on.
func (c *Cluster) run(name, queue string, request Resources, first int) {
	j := Job{Name: name, Queue: queue, Phase: Running, MinMember: 1, MinResources: request}

	for t := range perJob {
		j.Tasks = append(j.Tasks, Task{
			Name:    fmt.Sprintf("%s-%02d", name, t),
			Request: request,
			Status:  TaskRunning,
			Node:    c.Nodes[(first+t)%len(c.Nodes)].Name,
		})
	}
	c.Jobs = append(c.Jobs, j)
}

// occupy runs jobs of leaves on all GPUs.
func (c *Cluster) occupy(leaves []string) {
	for i := range contendedNodes * perNode / perJob {
		c.run(fmt.Sprintf("runs-%03d", i), leaves[i%len(leaves)], oneGPU, i*perJob)
	}
}

// claim adds pods that wait in leaves.
func (c *Cluster) claim(leaves []string, pods int, priority int32) {
	for i := range pods {
		name := fmt.Sprintf("claims-%03d", i)
		c.Jobs = append(c.Jobs, Job{
			Name:         name,
			Queue:        leaves[i%len(leaves)],
			Phase:        Inqueue,
			MinMember:    1,
			MinResources: oneGPU,
			Priority:     priority,
			Tasks:        []Task{{Name: name + "-0", Request: oneGPU, Status: TaskPending}},
		})
	}
}
